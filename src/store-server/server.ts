import type { AuditDatabase } from '@atrium/audit-store/store.ts';
import { maxBodyBytes, storeAudience } from '@atrium/audit-store/wire.ts';
import { tokensOnly } from '@atrium/http/authenticator.ts';
import { ClientAddresses } from '@atrium/http/client-address.ts';
import { Health } from '@atrium/http/health.ts';
import { Listener } from '@atrium/http/listener.ts';
import { requestChain } from '@atrium/http/request-listener.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import { Retention } from '../audit-chain/retention.ts';
import type { Config } from '../config/schema.ts';
import { scrapeOperation } from '../meta/about.ts';
import { reportCertificate } from '../meta/metrics.ts';
import { BatchReader } from './api-server-batch.ts';
import { apiServerOperation } from './api-server-routes.ts';
import { Bucket } from './bucket.ts';
import { StoreCallers } from './callers.ts';
import { IndexProgress } from './index-progress.ts';
import { LogExport } from './log-export.ts';
import { recordingsInBucket } from './recordings-in-bucket.ts';
import { ReportedStore } from './reported-store.ts';
import { storeOperations } from './routes.ts';

interface StoreServerOptions {
  config: Config;
  /** The API server, which reviews the tokens of callers. */
  connection: Connection;
  /** Stopped with the server. */
  store: AuditDatabase;
  log: Logger;
}

/** A store behind HTTP: a port for replicas of the service, and one for probes and metrics. */
export class StoreServer {
  readonly #log: Logger;
  readonly #graceMs: number;
  readonly #health = new Health();
  readonly #apiServer: KubernetesClient;
  readonly #store: ReportedStore;
  readonly #retention: Retention;
  readonly #index: IndexProgress;
  readonly #batches = new BatchReader();
  readonly #logs: LogExport | undefined;
  readonly #bucket: Bucket | undefined;
  readonly #public: Listener;
  readonly #internal: Listener;

  constructor({ config, connection, store, log }: StoreServerOptions) {
    const { server, kubernetes, auditStore } = config;
    const metrics = new Metrics();
    this.#log = log;
    this.#graceMs = server.shutdownGrace;
    this.#apiServer = new KubernetesClient({ connection, requestTimeoutMs: kubernetes.requestTimeout, metrics, log });
    const { asService: client } = this.#apiServer;
    let { recordings } = store;
    if (auditStore.recordings.s3 !== undefined) {
      const bucket = new Bucket({ settings: auditStore.recordings.s3, metrics, log });
      this.#health.add({ name: 'recordings', critical: false, failure: bucket.failure });
      this.#bucket = bucket;
      recordings = recordingsInBucket(recordings, bucket);
    }
    this.#retention = new Retention({ store, recordings, retention: auditStore.retention, client, metrics, log });
    this.#store = new ReportedStore({ store, recordings, retention: this.#retention, metrics });
    this.#index = new IndexProgress(store, log);
    if (auditStore.otlp !== undefined) {
      const logs = new LogExport({ store, settings: auditStore.otlp, version: packageJson.version, metrics, log });
      this.#health.add({ name: 'otlp', critical: false, failure: logs.failure });
      this.#logs = logs;
    }
    const now = () => client.serverClock.now();
    const callers = new StoreCallers({ client, audience: storeAudience, accounts: auditStore.callers, metrics, now });
    this.#health.add({ name: 'store', critical: false, failure: this.#store.failure });
    this.#health.add({ name: 'index', critical: false, failure: this.#index.failure });
    this.#health.add({ name: 'size', critical: false, failure: this.#retention.shortage });
    this.#health.add({ name: 'kubernetes', critical: false, failure: () => this.#apiServer.failure() });
    reportCertificate(metrics, 'server', () => this.#public.certificate);
    const shared = {
      authenticator: { ...tokensOnly(callers.identify), identified: callers.identified },
      addresses: new ClientAddresses([], log),
      basePath: '',
      bodyLimit: maxBodyBytes,
      corsOrigins: [],
      requestTimeoutMs: server.requestTimeout,
      maxInFlight: server.maxInFlight,
      log,
      metrics,
      isStopping: this.#health.isStopping,
    };
    const listens = { host: server.host, requestTimeoutMs: server.requestTimeout };
    const operations = storeOperations(this.#store, callers);
    if (auditStore.apiServer !== undefined) {
      const reader = this.#batches;
      const join: ReportedStore['join'] = (events) => this.#store.join(events);
      operations.push(apiServerOperation({ ...auditStore.apiServer, accounts: auditStore.callers, reader, join, metrics }));
    }
    const chain = requestChain({ ...shared, operations });
    this.#public = new Listener(chain.listener, { ...listens, port: server.port, tls: server.tls });
    const internal = requestChain({
      ...shared,
      operations: [...this.#health.operations({ showsReasons: true }), scrapeOperation(metrics)],
    });
    this.#internal = new Listener(internal.listener, { ...listens, port: server.metricsPort });
  }

  async start(): Promise<{ port: number; metricsPort: number }> {
    await this.#index.start();
    const metricsPort = await this.#internal.start();
    const port = await this.#public.start();
    this.#logs?.start();
    this.#log.info({ port, metricsPort }, 'audit store is listening');
    return { port, metricsPort };
  }

  /** Finishes requests in flight within `server.shutdownGrace`. Their events are on disk when they are answered. */
  async stop(): Promise<void> {
    this.#health.stop();
    const cutConnections = await this.#public.stop(this.#graceMs);
    await this.#internal.stop(0);
    await this.#logs?.stop();
    await this.#index.stop();
    await this.#batches.stop();
    await this.#retention.stop();
    await this.#bucket?.stop();
    await this.#apiServer.close();
    await this.#store.stop();
    this.#log.info({ cutConnections }, 'audit store has stopped');
  }
}
