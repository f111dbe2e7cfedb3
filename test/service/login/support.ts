import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { parseConfig } from '../../../src/config/load.ts';
import { createLog } from '../../../src/http/log.ts';
import type { PluginSurroundings } from '../../../src/plugins/plugins.ts';
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
  config?: Partial<Record<'server' | 'kubernetes' | 'login' | 'users' | 'identity' | 'features' | 'console', Section>>;
  /** Where the Services of plugins are. */
  pluginSurroundings?: PluginSurroundings;
  /** What stands between this replica and the cluster, beside the relay. */
  between?: (cluster: OwnApiServer) => Promise<{ url: string; stop(): Promise<void> }>;
}

/** One replica of the service. */
export interface Service {
  url: string;
  port: number;
  metricsURL: string;
  logLines: string[];
  /** Of the audit trail. */
  auditLines: string[];
  /** What this replica is told as the API server's address: a test can cut it. */
  relay: TcpProxy;
  stop(): Promise<void>;
}

/** The time as services and their provider see it, and the embedded cluster: the real one, put forward. */
export class Clock {
  #aheadMs = 0;
  /** What the two clocks of the process told when it was frozen. */
  #frozen: { now: number; clock: number } | undefined;

  readonly now = () => new Date((this.#frozen?.now ?? Date.now()) + this.#aheadMs);
  /** Milliseconds that only ever grow. */
  readonly clock = () => (this.#frozen?.clock ?? performance.now()) + this.#aheadMs;

  /** From here on time passes only by `advance`, however slow the machine is. */
  freeze(): void {
    this.#frozen ??= { now: Date.now(), clock: performance.now() };
  }

  /** The time that has passed meanwhile has passed from here on. */
  thaw(): void {
    this.#frozen = undefined;
  }

  advance(seconds: number): void {
    this.#aheadMs += seconds * 1000;
  }

  /** The time of the machine again. */
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
  /** Up by now, https. A service that passes its tokens on has it trusted too, but then kube-apiserver has to start again. */
  trusts?: TestProvider;
}

/** A cluster of a suite's own with all that an installation applies, and any number of services on it. */
export class LoginCluster {
  readonly clock: Clock;
  readonly kubernetes: ClusterAdmin;
  readonly #cluster: OwnApiServer;
  readonly #serviceToken: string;
  readonly #directory: string;
  readonly #services = new Set<Service>();
  /** Issuers. */
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
   * Another replica that logs people in at that provider, once it has read what it watches. It impersonates unless
   * `kubernetes.credentials` says otherwise; then the cluster trusts the provider.
   */
  async service({ provider, config = {}, pluginSurroundings, between }: ServiceOptions): Promise<Service> {
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
          // Its text takes a good part of a start, and these suites start many.
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
      ...(pluginSurroundings && { pluginSurroundings }),
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

  /** For kubectl, as the administrator. */
  async adminTarget(): Promise<KubectlTarget> {
    const { url, certificateAuthority } = this.#cluster;
    return { url, caFile: await this.file(certificateAuthority), token: await this.#cluster.token('admin') };
  }

  /** The path of a new file with that text, gone at the stop. */
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
