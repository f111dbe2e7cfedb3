import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { stringify } from 'yaml';
import { parseConfig } from '../../../src/config/load.ts';
import type { PluginContext } from '../../../src/plugins/plugins.ts';
import type { TrustedIssuer } from '../../cluster/authentication-config.ts';
import { apiServer, type OwnApiServer } from '../../support/api-server.ts';
import { type ClusterAdmin, eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { connectionWith, install } from '../../support/installed-cluster.ts';
import type { KubectlTarget } from '../../support/kubectl.ts';
import { patient } from '../../support/server.ts';
import { aPage } from '../../support/static-directory.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { TestApp } from '../../support/test-app.ts';
import type { TestProvider } from './provider/provider.ts';

type Section = Record<string, unknown>;

export interface ServiceOptions {
  provider: TestProvider;
  /** Settings that differ from the baseline, by section. */
  config?: Partial<Record<'server' | 'kubernetes' | 'login' | 'users' | 'identity' | 'features' | 'console' | 'tracing', Section>>;
  /** Addresses of the Services of plugins. */
  pluginContext?: PluginContext;
  /** Starts a proxy between this replica and the cluster, beside the relay. */
  between?: (cluster: OwnApiServer) => Promise<{ url: string; stop(): Promise<void> }>;
}

/** A replica of the service. */
export interface Service {
  url: string;
  port: number;
  metricsURL: string;
  logLines: string[];
  /** Lines of the audit trail. */
  auditLines: string[];
  /** Relay in front of the API server, whose address this replica gets: a test can cut it. */
  relay: TcpProxy;
  stop(): Promise<void>;
}

/** Clock of services, provider and embedded cluster: the real time, plus an offset. */
export class Clock {
  #aheadMs = 0;
  /** Values of both clocks of the process when the clock was frozen. */
  #frozen: { now: number; clock: number } | undefined;

  readonly now = () => new Date((this.#frozen?.now ?? Date.now()) + this.#aheadMs);
  /** Returns monotonic milliseconds. */
  readonly clock = () => (this.#frozen?.clock ?? performance.now()) + this.#aheadMs;

  /** Stops the clock, which then moves by `advance` alone, also on a slow machine. */
  freeze(): void {
    this.#frozen ??= { now: Date.now(), clock: performance.now() };
  }

  /** Continues with the time of the machine, including the time that has passed meanwhile. */
  thaw(): void {
    this.#frozen = undefined;
  }

  advance(seconds: number): void {
    this.#aheadMs += seconds * 1000;
  }

  /** Removes the offset. */
  reset(): void {
    this.#aheadMs = 0;
  }
}

export const publicURL = 'http://console.test';

interface Parts {
  clock: Clock;
  kubernetes: ClusterAdmin;
  cluster: OwnApiServer;
  serviceToken: string;
  directory: string;
  trusts: TestProvider | undefined;
}

interface ClusterOptions {
  clock?: Clock;
  /**
   * A running https provider that the cluster trusts. The cluster also trusts the provider of a service with passthrough, but then
   * kube-apiserver restarts.
   */
  trusts?: TestProvider;
}

/** A cluster for one suite with the objects of an installation, and any number of services on it. */
export class LoginCluster {
  readonly clock: Clock;
  readonly kubernetes: ClusterAdmin;
  readonly #cluster: OwnApiServer;
  readonly #serviceToken: string;
  readonly #directory: string;
  readonly #services = new Set<Service>();
  /** URLs of the trusted issuers. */
  readonly #trusted = new Set<string>();
  #files = 0;

  private constructor({ clock, kubernetes, cluster, serviceToken, directory, trusts }: Parts) {
    this.clock = clock;
    this.kubernetes = kubernetes;
    this.#cluster = cluster;
    this.#serviceToken = serviceToken;
    this.#directory = directory;
    if (trusts) this.#trusted.add(trusts.issuer);
  }

  static async start({ clock = new Clock(), trusts }: ClusterOptions = {}): Promise<LoginCluster> {
    const cluster = await apiServer({ now: clock.now, issuers: trusts ? [asIssuer(trusts)] : [], isReused: true });
    const kubernetes = await install(cluster);
    await kubernetes.applyFile('impersonation.yaml');
    const directory = await mkdtemp(join(tmpdir(), 'atrium-login-'));
    return new LoginCluster({ clock, kubernetes, cluster, serviceToken: await kubernetes.serviceToken(), directory, trusts });
  }

  /**
   * Starts a replica with login at that provider, and waits until its watches are synchronized. The replica impersonates users unless
   * `kubernetes.credentials` has another value; then the cluster trusts the provider.
   */
  async service({ provider, config = {}, pluginContext, between }: ServiceOptions): Promise<Service> {
    if (config.kubernetes?.credentials === 'passthrough') await this.#trust(provider);
    const middle = await between?.(this.#cluster);
    const relay = new TcpProxy(middle?.url ?? this.#cluster.url);
    await relay.start();
    const logLines: string[] = [];
    const auditLines: string[] = [];
    const { clientSecret, certificateAuthority } = provider;
    const app = new TestApp({
      config: parseConfig({
        yaml: stringify({
          console: { static: { directory: aPage } },
          // The OpenAPI document, which is off by default, takes a good part of a start, and these suites start many services.
          ...config,
          features: { openapi: false, ...config.features },
          server: { ...patient.server, host: '127.0.0.1', port: 0, metricsPort: 0, publicURL, ...config.server },
          kubernetes: {
            ...patient.kubernetes,
            namespace: serviceNamespace,
            accessCache: '0s',
            credentials: 'impersonate',
            ...config.kubernetes,
          },
          login: {
            issuer: provider.issuer,
            clientID: provider.clientID,
            ...(clientSecret !== undefined && { clientSecretFile: await this.file(clientSecret) }),
            ...(certificateAuthority !== undefined && { caFile: await this.file(certificateAuthority) }),
            ...config.login,
          },
        }),
      }),
      connection: connectionWith(this.#serviceToken, { url: relay.url, certificateAuthority: this.#cluster.certificateAuthority }),
      environment: {},
      ...(pluginContext && { pluginContext }),
      now: this.clock.now,
      clock: this.clock.clock,
      log: createLog({ level: 'info', format: 'json' }, { write: (line) => logLines.push(line) }),
      writeAudit: (line) => auditLines.push(line),
    });
    const { port, metricsPort } = await app.start();
    const stop = async () => {
      if (!this.#services.delete(service)) return;
      await app.stop();
      await relay.cut();
      await middle?.stop();
    };
    const url = `http://127.0.0.1:${port}`;
    const service: Service = { url, port, metricsURL: `http://127.0.0.1:${metricsPort}`, logLines, auditLines, relay, stop };
    this.#services.add(service);
    await eventually(
      async () => (await fetch(`${service.metricsURL}/readyz?verbose`)).text(),
      (report) => report.includes('readyz check passed') && !/^\[-\](?!identity-provider)/m.test(report),
    );
    return service;
  }

  async #trust(provider: TestProvider): Promise<void> {
    if (this.#trusted.has(provider.issuer)) return;
    this.#trusted.add(provider.issuer);
    await this.#cluster.trustIssuer(asIssuer(provider));
  }

  /** Returns the target for kubectl, as the administrator. */
  async adminTarget(): Promise<KubectlTarget> {
    const { url, certificateAuthority } = this.#cluster;
    return { url, caFile: await this.file(certificateAuthority), token: await this.#cluster.token('admin') };
  }

  /** Writes a new file, which is deleted at the stop. @returns its path */
  async file(text: string): Promise<string> {
    this.#files += 1;
    const path = join(this.#directory, `file-${this.#files}`);
    await writeFile(path, text);
    return path;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#services].map((service) => service.stop()));
    await this.kubernetes.close();
    await this.#cluster.stop();
    await rm(this.#directory, { recursive: true });
  }
}

const asIssuer = ({ issuer, clientID, certificateAuthority }: TestProvider): TrustedIssuer => ({
  url: issuer,
  audiences: [clientID],
  ...(certificateAuthority && { certificateAuthority }),
});
