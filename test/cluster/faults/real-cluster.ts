import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '@atrium/http/telemetry/log.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import { after } from 'mocha';
import { parseAllDocuments, stringify } from 'yaml';
import { App } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { ClusterAdmin, eventually, type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { type ControlPlane, startControlPlane } from '../control-plane.ts';
import { FaultProxy } from './fault-proxy.ts';

const people = ['admin', 'alice', 'viewer', 'nobody'] as const;
type Person = (typeof people)[number];
type Section = Record<string, unknown>;

export interface ServiceOptions {
  /** Address of the API server, or the whole connection. */
  connection: string | Connection;
  /** Settings that differ from the baseline, by section. */
  config?: Record<string, Section>;
  /** Replaces the clock of the API server. */
  now?: () => Date;
  /** Wall clock of the machine. */
  wallClock?: () => Date;
  /** Monotonic clock in milliseconds. */
  clock?: () => number;
}

/** A replica of the service on the real cluster. */
export interface Service {
  url: string;
  metricsURL: string;
  /** Lines of the log and of the audit trail. */
  logLines: string[];
  stop(): Promise<void>;
}

/** The real control plane with the manifests of an installation, and services and fault proxies in front of it. */
export class RealCluster {
  readonly control: ControlPlane;
  readonly admin: ClusterAdmin;
  readonly #tokens: Readonly<Record<string, string>>;
  readonly #serviceToken: string;
  readonly #directory: string;
  #files = 0;

  private constructor(parts: {
    control: ControlPlane;
    admin: ClusterAdmin;
    tokens: Record<string, string>;
    serviceToken: string;
    directory: string;
  }) {
    this.control = parts.control;
    this.admin = parts.admin;
    this.#tokens = parts.tokens;
    this.#serviceToken = parts.serviceToken;
    this.#directory = parts.directory;
  }

  static async start(): Promise<RealCluster> {
    const control = await startControlPlane({ people });
    const tokens: Record<string, string> = {};
    for (const person of people) tokens[person] = await staticToken(control.kubeconfig, person);
    const admin = new ClusterAdmin(control, tokens.admin ?? '');
    await admin.install();
    const impersonation = await readFile(new URL('../../../deploy/manifests/impersonation.yaml', import.meta.url), 'utf8');
    await admin.apply(...parseAllDocuments(impersonation).map((document): Manifest => document.toJS()));
    await admin.apply(viewerBinding);
    const directory = await mkdtemp(join(tmpdir(), 'atrium-faults-'));
    return new RealCluster({ control, admin, tokens, serviceToken: await admin.serviceToken(), directory });
  }

  token(person: Person): string {
    return this.#tokens[person] ?? '';
  }

  /** Starts a fault proxy in front of the API server, for one service. */
  proxy(): Promise<FaultProxy> {
    const { url: target, certificateAuthority, serving } = this.control;
    return FaultProxy.start({ target, certificateAuthority, serving });
  }

  /** Starts an etcd that was killed, and waits until the API server writes to it again. */
  async startEtcd(): Promise<void> {
    await this.control.etcd.start();
    const written = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'etcd-is-back' } };
    await eventually(
      () => this.admin.call('POST', '/api/v1/namespaces/default/configmaps', written),
      ({ status }) => status === 201 || status === 409,
    );
  }

  connection(server: string): Connection {
    const authorization = `Bearer ${this.#serviceToken}`;
    return {
      server,
      tls: { ca: this.control.certificateAuthority },
      namespace: serviceNamespace,
      authorization: async () => authorization,
      discardAuthorization() {},
    };
  }

  /** Starts a replica. Resolves when its caches are filled. */
  async service({ connection, config = {}, ...clocks }: ServiceOptions): Promise<Service> {
    const logLines: string[] = [];
    const write = (line: string) => logLines.push(line);
    const app = new App({
      config: parseConfig({
        yaml: stringify({
          features: { openapi: false },
          login: { issuer: 'https://127.0.0.1:1' },
          ...config,
          server: { host: '127.0.0.1', port: 0, metricsPort: 0, publicURL: 'http://console.test', ...config.server },
          console: { static: { directory: 'web/dist' }, ...config.console },
          kubernetes: { namespace: serviceNamespace, accessCache: '0s', ...config.kubernetes },
        }),
      }),
      connection: typeof connection === 'string' ? this.connection(connection) : connection,
      environment: {},
      log: createLog({ level: 'info', format: 'json' }, { write }),
      writeAudit: write,
      ...clocks,
    });
    const { port, metricsPort } = await app.start();
    return { url: `http://127.0.0.1:${port}`, metricsURL: `http://127.0.0.1:${metricsPort}`, logLines, stop: () => app.stop() };
  }

  /** Writes a file that `stop` deletes. @returns its path */
  async file(text: string): Promise<string> {
    this.#files += 1;
    const path = join(this.#directory, `file-${this.#files}`);
    await writeFile(path, text);
    return path;
  }

  /** Overwrites a file that `file` created. */
  overwrite(path: string, text: string): Promise<void> {
    return writeFile(path, text);
  }

  /** Writes a kubeconfig of the service account, for a process of its own. @returns its path */
  kubeconfig(server: string): Promise<string> {
    const authority = Buffer.from(this.control.certificateAuthority).toString('base64');
    return this.file(
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'test',
        clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': authority } }],
        users: [{ name: 'atrium', user: { token: this.#serviceToken } }],
        contexts: [{ name: 'test', context: { cluster: 'test', user: 'atrium', namespace: serviceNamespace } }],
      }),
    );
  }

  async stop(): Promise<void> {
    await this.admin.close();
    await this.control.stop();
    await rm(this.#directory, { recursive: true });
  }
}

const viewerBinding: Manifest = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'viewer-atrium-users-view' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'atrium-users-view' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'viewer' }],
};

async function staticToken(kubeconfig: string, person: Person): Promise<string> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  return config.getUser(person)?.token ?? '';
}

let started: Promise<RealCluster> | undefined;

/** Returns the shared cluster of the run, because a start takes longer than most tests. */
function realCluster(): Promise<RealCluster> {
  started ??= RealCluster.start();
  return started;
}

after(async () => (await started)?.stop());

/** Returns the shared cluster for the tests of a `describe`. The cluster keeps running after them. */
export const theRealCluster = (): RealCluster => forSuite(realCluster, needsNoStop);
