/** Mounts the features on the two listeners, and starts and stops them in order. */
import { ClientAddresses } from '@atrium/http/client-address.ts';
import { cookieNames } from '@atrium/http/cookies/cookies.ts';
import { Health } from '@atrium/http/health.ts';
import { Listener } from '@atrium/http/listener.ts';
import { openApiDocument, shadowedPaths } from '@atrium/http/openapi/document.ts';
import type { Operation } from '@atrium/http/operation.ts';
import { type Chain, requestChain } from '@atrium/http/request-listener.ts';
import { SpanExporter } from '@atrium/http/span-exporter.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Tracing } from '@atrium/http/telemetry/tracing.ts';
import { upgradeOffers } from '@atrium/http/upgrade.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import type { Logger } from 'pino';
import packageJson from '../package.json' with { type: 'json' };
import { auditForbidden } from './audit/audit.ts';
import type { ProcessContext } from './base.ts';
import { parseConfig } from './config/load.ts';
import type { Config } from './config/schema.ts';
import { createFeatures, type Features } from './features.ts';
import { metricsOperation, openApiOperation, scrapeOperation, versionOperation } from './meta/about.ts';
import { cpuProfileOperation } from './meta/cpu-profile.ts';
import { discoveryOperations } from './meta/discovery.ts';
import { docsPageOperations } from './meta/docs-page.ts';
import { reportBuild, reportCertificate } from './meta/metrics.ts';
import { serviceDescription } from './meta/service-description.ts';
import type { Services } from './services.ts';

const { version } = packageJson;

/** Milliseconds in which a stopping replica still accepts requests from clients that do not know of the stop. */
const drainMs = 3_000;

/** The service: two listeners, and the features behind them. */
export class App {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #health: Health;
  readonly #features: Features;
  readonly #chain: Chain;
  readonly #spans: SpanExporter | undefined;
  readonly #public: Listener;
  readonly #internal: Listener;
  /** Operations of the public port. */
  readonly operations: readonly Operation[];

  constructor(context: ProcessContext) {
    const { config, log } = context;
    const { server } = config;
    this.#config = config;
    this.#log = log;
    this.#health = new Health(context);
    this.#features = createFeatures(context);
    const { services, authenticator, before } = this.#features;
    const { apiServer, audit, basePath, metrics } = services;
    const { ATRIUM_REVISION: revision = 'unknown' } = context.environment;
    reportBuild(metrics, version, revision);
    reportCertificate(metrics, 'kubernetes-client', () => context.connection.tls.cert);
    reportCertificate(metrics, 'server', () => this.#public.certificate);
    for (const check of this.#features.checks) this.#health.add(check);
    const addresses = new ClientAddresses(server.trustedProxies, log);
    this.#health.add({ name: 'trustedProxies', critical: false, failure: () => addresses.failure() });
    this.#health.add({ name: 'kubernetes', critical: false, failure: () => apiServer.failure() });
    this.#health.add({ name: 'clock', critical: false, failure: () => apiServer.asService.serverClock.failure() });

    const { otlpEndpoint: endpoint, caFile, sampleRatio } = config.tracing;
    const instance = context.environment.HOSTNAME ?? 'unknown';
    this.#spans = endpoint === undefined ? undefined : new SpanExporter({ endpoint, caFile, service: { version, instance }, log, metrics });
    const tracing = new Tracing(this.#spans && { sampleRatio, record: this.#spans.record });

    const about = { version, serverURL: server.publicURL ?? '/', sessionCookie: services.cookies.host('session') };
    const described = [
      ...this.#health.operations({ showsReasons: false }),
      ...aboutOperations(services, () => this.#features.working()),
      ...(config.features.cpuProfile ? [cpuProfileOperation(services, instance)] : []),
      ...this.#features.operations,
    ];
    this.operations = config.features.openapi ? [openApiOperation(described, about), ...described] : described;

    const shared = {
      authenticator,
      bodyLimit: server.bodyLimit,
      clock: services.clock,
      requestTimeoutMs: server.requestTimeout,
      maxInFlight: server.maxInFlight,
      log,
      metrics,
      isStopping: this.#health.isStopping,
    };
    this.#chain = requestChain({
      ...shared,
      basePath,
      tracing,
      addresses,
      isSecure: server.publicURL?.startsWith('https:') === true,
      corsOrigins: server.corsOrigins,
      operations: this.operations,
      onForbidden: auditForbidden(audit),
      ...(before && { before }),
    });
    this.#public = new Listener(this.#chain.listener, {
      host: server.host,
      port: server.port,
      requestTimeoutMs: server.requestTimeout,
      tls: server.tls,
      offersUpgrade: upgradeOffers(this.operations, basePath),
    });
    const internal = requestChain({
      ...shared,
      basePath: '',
      addresses: new ClientAddresses([], log),
      corsOrigins: [],
      operations: [...this.#health.operations({ showsReasons: true }), scrapeOperation(metrics)],
    });
    this.#internal = new Listener(internal.listener, {
      host: server.host,
      port: server.metricsPort,
      requestTimeoutMs: server.requestTimeout,
    });
  }

  /** Returns the OpenAPI document of a service with the default features and these. Starts nothing. */
  static describe(features: Partial<Config['features']> = {}) {
    const publicURL = 'https://console.example.com';
    const { operations } = App.#unstarted(parseConfig({ yaml: JSON.stringify({ server: { publicURL }, features }) }));
    const sessionCookie = cookieNames(publicURL).host('session');
    return openApiDocument(operations, { about: serviceDescription, version, serverURL: '/', sessionCookie });
  }

  /** Returns static files that a service with this configuration does not serve, because operations have their paths. Starts nothing. */
  static shadowedFiles(config: Config): Promise<string[]> {
    return App.#unstarted(config).#shadowedFiles();
  }

  static #unstarted(config: Config, connection: Connection = nowhere): App {
    return new App({ config, connection, environment: {}, log: createLog({ level: 'silent', format: 'json' }) });
  }

  async #shadowedFiles(): Promise<string[]> {
    const prefixes = this.#features.before === undefined ? [] : [this.#features.before.prefix];
    return shadowedPaths(await this.#features.staticPaths(), this.operations, prefixes);
  }

  /** Starts the watches and listens. Operations that do not need the API server also work without it. */
  async start(): Promise<{ port: number; metricsPort: number }> {
    await this.#features.start();
    const metricsPort = await this.#internal.start();
    const port = await this.#public.start();
    this.#log.info({ port, metricsPort, version }, 'listening');
    void this.#tellWhatIsUnreachable();
    const shadowed = await this.#shadowedFiles();
    if (shadowed.length > 0)
      this.#log.warn(
        { files: shadowed.slice(0, 20), count: shadowed.length },
        "static files are not served: their paths are the service's own",
      );
    return { port, metricsPort };
  }

  /** Logs a line for each unreachable issuer. The transport logs the API server. */
  async #tellWhatIsUnreachable(): Promise<void> {
    for (const { issuer, reason } of await this.#features.unreachableIssuers()) this.#log.warn({ issuer, reason }, 'issuer unreachable');
  }

  /** Returns the dependencies that a service with this configuration cannot reach, by setting. Starts nothing. */
  static async unreachable(config: Config, connection: Connection): Promise<{ path: string; message: string }[]> {
    const features = App.#unstarted(config, connection).#features;
    try {
      const [server, issuers, store] = await Promise.all([
        features.serverProblem(),
        features.unreachableIssuers(),
        features.auditStoreProblem(),
      ]);
      return [
        ...(server === undefined ? [] : [{ path: 'kubernetes', message: `the API server at ${connection.server} ${server}` }]),
        ...issuers.map(({ path, issuer, reason }) => ({ path, message: `the issuer ${issuer} cannot be reached (${reason})` })),
        ...(store === undefined
          ? []
          : [{ path: 'audit.store.url', message: `the audit store at ${config.audit.store?.url} does not answer (${store})` }]),
      ];
    } finally {
      await features.stop();
    }
  }

  /**
   * Stops the service: `/readyz` answers 503 at once, requests in flight finish within `server.shutdownGrace`, and watches end.
   *
   * @param drain accepts requests for a moment, for load balancers that learn late
   */
  async stop({ drain = false } = {}): Promise<void> {
    this.#health.stop();
    const startedAt = performance.now();
    const { long: streams, ...others } = this.#chain.inFlight();
    this.#log.info({ requests: others.receiving + others.short + others.unread, streams }, 'stopping');
    try {
      const cut = await this.#drain(drain);
      const seconds = Math.round(performance.now() - startedAt) / 1000;
      this.#log[cut === 0 ? 'info' : 'warn']({ clean: cut === 0, cutConnections: cut, seconds }, 'stopped');
    } catch (error) {
      this.#log.error({ clean: false, err: error }, 'stopped');
      throw error;
    }
  }

  /** @returns the number of connections that were cut */
  async #drain(isGradual: boolean): Promise<number> {
    const deadline = performance.now() + this.#config.server.shutdownGrace;
    if (isGradual) await new Promise((resolve) => setTimeout(resolve, Math.min(drainMs, this.#config.server.shutdownGrace / 4)));
    this.#chain.endLongRunning();
    const cut = await this.#public.stop(Math.max(0, deadline - performance.now()));
    await this.#internal.stop(0);
    await this.#features.stop();
    await this.#spans?.stop();
    return cut;
  }
}

const nowhere: Connection = {
  server: 'https://localhost',
  tls: {},
  namespace: undefined,
  authorization: async () => undefined,
  discardAuthorization() {},
};

/** Returns the operations about the service itself, except for its health and the OpenAPI document. */
const aboutOperations = ({ config: { features }, basePath, metrics, access }: Services, working: Features['working']): Operation[] => [
  ...(features.version ? [versionOperation(version, working)] : []),
  ...(features.discovery ? discoveryOperations() : []),
  ...(features.docs && features.openapi ? docsPageOperations(basePath) : []),
  ...(features.metrics
    ? [metricsOperation(metrics, (caller, signal) => access.canUsePath(caller, { verb: 'get', path: '/metrics' }, signal))]
    : []),
];
