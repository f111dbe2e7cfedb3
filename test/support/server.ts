import type { AuditDatabase } from '@atrium/audit-store/store.ts';
import type { Operation } from '@atrium/http/operation.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { stringify } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import type { PluginContext } from '../../src/plugins/plugins.ts';
import type { Passwords } from '../../src/users/passwords/passwords.ts';
import { type ApiServerOptions, apiServer, type OwnApiServer, type Person } from './api-server.ts';
import { type ClusterAdmin, eventually, type Manifest, serviceNamespace } from './cluster-admin.ts';
import { connectionWith, install } from './installed-cluster.ts';
import { aPage } from './static-directory.ts';
import { TcpProxy } from './tcp-proxy.ts';
import { TestApp } from './test-app.ts';

interface RequestOptions extends Omit<RequestInit, 'body'> {
  /** Person whose bearer token is sent. */
  as?: Person;
  token?: string;
  /** URL of another replica. */
  at?: string;
  /** Sent as JSON, unless it is text. */
  body?: unknown;
}

/** The assembled service on free ports, with a cluster of its own. */
export interface TestServer {
  url: string;
  port: number;
  metricsURL: string;
  /** Operations of the first replica. */
  operations: readonly Operation[];
  request(path: string, options?: RequestOptions): Promise<Response>;
  token(person: Person): Promise<string>;
  /** The cluster behind the service. */
  cluster: Pick<OwnApiServer, 'url' | 'certificateAuthority'>;
  /** Administrator of the cluster behind the service, without the service in between. */
  kubernetes: ClusterAdmin;
  /** Relay in front of the API server, whose address the service gets: a test can cut it. */
  relay: TcpProxy;
  /** Log lines written so far. */
  logLines: string[];
  /** Lines of the audit trail. */
  auditLines: string[];
  /** Path of the API server's audit log; the embedded cluster keeps none. */
  auditLog: string | undefined;
  /**
   * Starts another replica on the same cluster. The replica stops with the first one, or earlier.
   *
   * @param clockAheadMs milliseconds by which the clock of its machine is ahead. Default: 0
   */
  replica(clockAheadMs?: number): Promise<{ url: string; metricsURL: string; stop(): Promise<void> }>;
  /** Stops the replica at `url`; other replicas and the cluster continue. */
  stopFirst(): Promise<void>;
  stop(): Promise<void>;
}

export interface ServerOptions extends Pick<ApiServerOptions, 'issuers' | 'isReused' | 'hasWorkloads' | 'auditWebhook'> {
  /** Settings that differ from the baseline, as in the YAML file. */
  config?: Record<string, unknown>;
  environment?: Record<string, string>;
  /** Objects that the cluster has before the service starts, beside those of an installation. */
  objects?: readonly Manifest[];
  /** Clock of the service. */
  now?: () => Date;
  /** Default: hashes that cost little. */
  passwords?: Passwords;
  /** Addresses of the Services of plugins. */
  pluginContext?: PluginContext;
  /** Keeps the events of requests. */
  auditStore?: AuditDatabase;
  /** Starts a proxy between the service and the cluster, beside the relay. */
  between?: (cluster: OwnApiServer) => Promise<{ url: string; stop(): Promise<void> }>;
}

/** Timeouts for all tests but those of deadlines: on a busy machine, many concurrent requests wait long. */
export const patient = { kubernetes: { requestTimeout: '60s' }, server: { requestTimeout: '120s' } };

const baseline = {
  server: { ...patient.server, host: '127.0.0.1', port: 0, metricsPort: 0 },
  kubernetes: { ...patient.kubernetes, namespace: serviceNamespace, accessCache: '1s' },
  console: { static: { directory: aPage } },
  log: { level: 'info' },
};

/** Starts the service as `atrium serve` does, with the given settings in addition to the baseline, and waits until it is ready. */
export async function startServer({
  config = {},
  environment = {},
  objects = [],
  issuers = [],
  now,
  passwords,
  pluginContext,
  auditStore,
  between,
  isReused = true,
  hasWorkloads = false,
  auditWebhook,
}: ServerOptions = {}): Promise<TestServer> {
  const cluster = await apiServer({ issuers, isReused, hasWorkloads, auditWebhook });
  const middle = await between?.(cluster);
  const relay = new TcpProxy(middle?.url ?? cluster.url);
  await relay.start();
  const kubernetes = await install(cluster);
  await kubernetes.apply(...objects);
  if (auditStore !== undefined || config?.audit !== undefined) await kubernetes.applyFile('audit-store.yaml', ['Role', 'RoleBinding']);
  const token = await kubernetes.serviceToken();
  const logLines: string[] = [];
  const auditLines: string[] = [];
  const apps = new Set<TestApp>();
  const startApp = async (clockAheadMs = 0) => {
    const app = newApp(clockAheadMs);
    apps.add(app);
    const { port, metricsPort } = await app.start();
    const metricsURL = `http://127.0.0.1:${metricsPort}`;
    await eventually(
      async () => (await fetch(`${metricsURL}/readyz`)).status,
      (status) => status === 200,
    );
    const stop = async () => {
      if (apps.delete(app)) await app.stop();
    };
    return { port, url: `http://127.0.0.1:${port}`, metricsURL, operations: app.operations, stop };
  };
  const newApp = (clockAheadMs: number) =>
    new TestApp({
      config: parseConfig({ yaml: stringify(merge(baseline, config)) }),
      connection: connectionWith(token, { url: relay.url, certificateAuthority: cluster.certificateAuthority }),
      environment,
      ...(now && { now }),
      wallClock: () => new Date(Date.now() + clockAheadMs),
      ...(passwords && { passwords }),
      ...(pluginContext && { pluginContext }),
      ...(auditStore && { auditStore }),
      log: createLog({ level: 'info', format: 'json' }, { write: (line) => logLines.push(line) }),
      writeAudit: (line) => auditLines.push(line),
    });
  const { port, url, metricsURL, operations, stop: stopFirst } = await startApp();
  return {
    stopFirst,
    replica: startApp,
    url,
    port,
    metricsURL,
    operations,
    cluster,
    kubernetes,
    relay,
    logLines,
    auditLines,
    auditLog: cluster.auditLog,
    token: (person) => cluster.token(person),
    async request(path, { as, token: given, at = url, body, headers, ...rest } = {}) {
      const bearer = given ?? (as && (await cluster.token(as)));
      const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
      const all = new Headers(headers);
      if (bearer !== undefined) all.set('Authorization', `Bearer ${bearer}`);
      if (text !== undefined && !all.has('Content-Type')) all.set('Content-Type', 'application/json');
      return fetch(`${at}${path}`, { redirect: 'manual', ...rest, headers: all, ...(text !== undefined && { body: text }) });
    },
    async stop() {
      for (const app of apps) await app.stop();
      await relay.cut();
      await middle?.stop();
      await kubernetes.close();
      await cluster.stop();
    },
  };
}

type Tree = Record<string, unknown>;
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

function merge(base: Tree, over: Tree): Tree {
  const result: Tree = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isTree(below) && isTree(value) ? merge(below, value) : value;
  }
  return result;
}
