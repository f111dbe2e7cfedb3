import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { App } from '../../src/app.ts';
import { parseConfig } from '../../src/config/load.ts';
import { createLog } from '../../src/http/log.ts';
import { Cluster } from '../../src/sandbox/cluster.ts';
import { ClusterAdmin, eventually, type Manifest, serviceNamespace } from '../support/cluster-admin.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import type { TestProvider } from './provider/provider.ts';

type Section = Record<string, unknown>;

export interface ServiceOptions {
  provider: TestProvider;
  /** Settings that differ from the baseline, by section. */
  config?: Partial<Record<'server' | 'kubernetes' | 'login' | 'users' | 'identity', Section>>;
}

/** One replica of the service. */
export interface Service {
  url: string;
  port: number;
  metricsURL: string;
  logLines: string[];
  /** What this replica is told as the API server's address: a test can cut it. */
  relay: TcpProxy;
  stop(): Promise<void>;
}

/** The time as a cluster, its services and their provider see it: the real one, put forward. */
export class Clock {
  #aheadMs = 0;

  readonly now = () => new Date(Date.now() + this.#aheadMs);
  /** Milliseconds that only ever grow. */
  readonly clock = () => performance.now() + this.#aheadMs;

  advance(seconds: number): void {
    this.#aheadMs += seconds * 1000;
  }
}

export const publicURL = 'http://console.test';

/** A cluster of a suite's own with all that an installation applies, and any number of services on it. */
export class LoginCluster {
  readonly clock: Clock;
  readonly kubernetes: ClusterAdmin;
  readonly #cluster: Cluster;
  readonly #serviceToken: string;
  readonly #directory: string;
  readonly #services: Service[] = [];
  readonly #trusted = new Set<string>();
  #files = 0;

  private constructor(cluster: Cluster, clock: Clock, kubernetes: ClusterAdmin, serviceToken: string, directory: string) {
    this.#cluster = cluster;
    this.clock = clock;
    this.kubernetes = kubernetes;
    this.#serviceToken = serviceToken;
    this.#directory = directory;
  }

  static async start(): Promise<LoginCluster> {
    const clock = new Clock();
    const cluster = await Cluster.start({ now: clock.now });
    const token = await cluster.issueToken({ username: 'admin', groups: ['system:masters'] });
    const { url, certificateAuthority } = cluster;
    const kubernetes = new ClusterAdmin({ url, certificateAuthority }, token);
    await kubernetes.install();
    const impersonation = await readFile(new URL('../../deploy/manifests/impersonation.yaml', import.meta.url), 'utf8');
    await kubernetes.apply(...parseAllDocuments(impersonation).map((document): Manifest => document.toJS()));
    const directory = await mkdtemp(join(tmpdir(), 'atrium-login-'));
    return new LoginCluster(cluster, clock, kubernetes, await kubernetes.serviceToken(), directory);
  }

  /**
   * Another replica that logs people in at that provider, once it has read what it watches. It impersonates unless
   * `kubernetes.credentials` says otherwise; then the cluster trusts the provider.
   */
  async service({ provider, config = {} }: ServiceOptions): Promise<Service> {
    if (config.kubernetes?.credentials === 'passthrough') this.#trust(provider);
    const relay = new TcpProxy(this.#cluster.url);
    await relay.start();
    const logLines: string[] = [];
    const { clientSecret, certificateAuthority } = provider;
    const app = new App({
      config: parseConfig({
        yaml: stringify({
          console: { static: { directory: 'web/public' } },
          // Its text takes a good part of a start, and these suites start many.
          features: { openapi: false },
          ...config,
          server: { host: '127.0.0.1', port: 0, metricsPort: 0, publicURL, ...config.server },
          kubernetes: { namespace: serviceNamespace, accessCache: '0s', credentials: 'impersonate', ...config.kubernetes },
          login: {
            issuer: provider.issuer,
            clientID: provider.clientID,
            ...(clientSecret !== undefined && { clientSecretFile: await this.file(clientSecret) }),
            ...(certificateAuthority !== undefined && { caFile: await this.file(certificateAuthority) }),
            ...config.login,
          },
        }),
      }),
      connection: {
        server: relay.url,
        tls: { ca: this.#cluster.certificateAuthority },
        namespace: serviceNamespace,
        authorization: async () => `Bearer ${this.#serviceToken}`,
        discardAuthorization() {},
      },
      environment: {},
      now: this.clock.now,
      clock: this.clock.clock,
      log: createLog({ level: 'info', format: 'json' }, { write: (line) => logLines.push(line) }),
    });
    const { port, metricsPort } = await app.start();
    const stop = async () => {
      await app.stop();
      await relay.cut();
    };
    const service = { url: `http://127.0.0.1:${port}`, port, metricsURL: `http://127.0.0.1:${metricsPort}`, logLines, relay, stop };
    this.#services.push(service);
    await eventually(
      async () => (await fetch(`${service.url}/readyz?verbose`)).text(),
      (report) => !/^\[-\](?!identity-provider)/m.test(report),
    );
    return service;
  }

  #trust({ issuer, clientID, certificateAuthority }: TestProvider): void {
    if (this.#trusted.has(issuer)) return;
    this.#trusted.add(issuer);
    this.#cluster.trustIssuer({ url: issuer, audiences: [clientID], ...(certificateAuthority && { certificateAuthority }) });
  }

  /** The path of a new file with that text, gone at the stop. */
  async file(text: string): Promise<string> {
    this.#files += 1;
    const path = join(this.#directory, `file-${this.#files}`);
    await writeFile(path, text);
    return path;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#services.map((service) => service.stop()));
    await this.kubernetes.close();
    await this.#cluster.stop();
    await rm(this.#directory, { recursive: true });
  }
}
