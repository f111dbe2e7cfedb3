/**
 * The wiring: builds the clients and the features, mounts them on the two listeners and stops them in order. The only file that
 * knows them all.
 */
import type { Logger } from 'pino';
import packageJson from '../package.json' with { type: 'json' };
import { createAccess } from './access/access.ts';
import { LoginRecorder } from './accounts/login-recorder.ts';
import { PasswordChange } from './accounts/password-change.ts';
import { PasswordCheck } from './accounts/password-check.ts';
import { Passwords } from './accounts/passwords.ts';
import { UserEvents } from './accounts/user-events.ts';
import { createCertificates } from './certificates/certificates.ts';
import { parseConfig } from './config/load.ts';
import { basePathOf, type Config, identityURLOf, issuerOf } from './config/schema.ts';
import { createConsole } from './console/console.ts';
import { createDirectory } from './directory/directory.ts';
import { metricsOperation, openApiOperation, scrapeOperation, versionOperation } from './http/about.ts';
import { auditForbidden } from './http/access-denied.ts';
import { Audit } from './http/audit.ts';
import { Frame } from './http/frame.ts';
import { Health } from './http/health.ts';
import { Listener } from './http/listener.ts';
import { createLog } from './http/log.ts';
import { Metrics } from './http/metrics.ts';
import { openApiDocument } from './http/openapi.ts';
import type { Operation } from './http/operation.ts';
import { requestListener } from './http/request-listener.ts';
import { createIdentity, type IdentityOptions } from './identity/identity.ts';
import { AccessReviews } from './kubernetes/access.ts';
import { ApiServer } from './kubernetes/api-server.ts';
import type { Connection } from './kubernetes/connection.ts';
import { IdentityCache } from './kubernetes/identity.ts';
import { KeyRing } from './kubernetes/key-ring.ts';
import { RbacWatch } from './kubernetes/rbac-watch.ts';
import { createLogin } from './login/login.ts';
import { createRoles } from './roles/roles.ts';
import { createUsers, watchUsers } from './users/users.ts';

export interface AppOptions {
  config: Config;
  /** The API server and our own account there. */
  connection: Connection;
  /** Process variables, for `console.envsFilter`. */
  environment: Readonly<Record<string, string | undefined>>;
  log: Logger;
  /** Takes the lines of the audit trail. Default: they are dropped. */
  writeAudit?: (line: string) => unknown;
  now?: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/** A part that watches something: started before the first request, stopped after the last. */
interface Part {
  start?(): void | Promise<void>;
  stop(): void | Promise<void>;
}

const { version } = packageJson;

/** How long a replica that was told to stop still takes requests: those that were sent before everybody knew. */
const drainMs = 3_000;

/** The service: two listeners, the features behind them, and what they share. */
export class App {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #health: Health;
  readonly #parts: readonly Part[];
  readonly #apiServer: ApiServer;
  readonly #frame: Frame;
  readonly #public: Listener;
  readonly #internal: Listener;
  /** Everything that the public port answers. */
  readonly operations: readonly Operation[];

  constructor({ config, connection, environment, log, writeAudit = () => undefined, ...clocks }: AppOptions) {
    this.#config = config;
    this.#log = log;
    this.#health = new Health(clocks);
    const metrics = new Metrics();
    const apiServer = new ApiServer({ connection, requestTimeoutMs: config.kubernetes.requestTimeout, metrics });
    const namespace = config.kubernetes.namespace ?? connection.namespace ?? 'default';
    const access = new AccessReviews({ apiServer, accessCacheMs: config.kubernetes.accessCache, metrics });
    const identities = new IdentityCache({ apiServer, metrics });
    const basePath = basePathOf(config);
    const shared = { config, basePath, apiServer, access, metrics, log, namespace };

    const rbac = new RbacWatch({ client: apiServer.asService, metrics, log }, () => access.clear());
    const console = createConsole({ ...shared, environment });
    const client = apiServer.asService;
    const keyRing = new KeyRing({ client, namespace, secretName: config.login.keysSecret, log });
    const events = config.audit.kubernetesEvents ? new UserEvents({ client, log, ...clocks }) : undefined;
    const audit = new Audit({ write: writeAudit, events, log, ...clocks });
    const passwords = new Passwords();
    const watched = watchUsers({ client, metrics, log });
    const { accounts, records: seenRecords } = watched;
    const directory = createDirectory({ ...shared, client, accounts, records: seenRecords, audit, ...clocks });
    const directories = directory.passwords;
    const accountParts = { ...shared, client, accounts, passwords, directories, config: config.users, audit, ...clocks };
    const passwordCheck = new PasswordCheck(accountParts);
    const passwordChange = new PasswordChange(accountParts);
    const recorder = new LoginRecorder({ client, accounts, config: config.users, log, ...clocks });
    const identityURL = identityURLOf(config);
    const identity =
      identityURL &&
      embeddedProvider(identityURL, { ...shared, client, accounts, keyRing, audit, passwordCheck, passwordChange, ...clocks });
    const { provenAgain } = identity || {};
    const records = { keyRing, accounts, recorder, audit, provenAgain };
    const login = createLogin({ ...shared, issuerURL: issuerOf(config), identities, ...records, ...clocks });
    const { keepSession } = login;
    const ofPasswords = { passwords, passwordCheck, passwordChange };
    const users = createUsers({ ...shared, watched, keyRing, rbac, ...ofPasswords, keepSession, audit, ...clocks });
    const reviews = createAccess({ access, apiServer });
    const roles = createRoles({ ...shared, accounts, rbac });
    const certificates = createCertificates({ ...shared, accounts, connection, audit, ...clocks });

    this.#apiServer = apiServer;
    const features = [console, users, login, ...(identity ? [identity] : [])];
    this.#parts = [rbac, ...features, directory, ...(events ? [events] : [])];
    this.#health.add({ name: 'roles', critical: false, isAwaited: true, failure: () => rbac.failure() });
    for (const check of features.flatMap(({ checks }) => checks)) this.#health.add(check);
    this.#health.add({ name: 'kubernetes', critical: false, failure: () => apiServer.failure() });

    const aboutOperations = [
      ...this.#health.operations(),
      ...(config.features.version ? [versionOperation(version)] : []),
      ...(config.features.metrics ? [metricsOperation(metrics, (caller, signal) => access.canGetPath(caller, '/metrics', signal))] : []),
    ];
    const described = [
      ...aboutOperations,
      ...login.operations,
      ...directory.operations,
      ...users.operations,
      ...roles.operations,
      ...certificates.operations,
      ...reviews.operations,
      ...console.operations,
    ];
    const about = { version, serverURL: config.server.publicURL ?? '/' };
    // The static files take every path that is left, so the console comes last.
    this.operations = config.features.openapi ? [openApiOperation(described, about), ...described] : described;

    const { server } = config;
    const frame = {
      requestTimeoutMs: server.requestTimeout,
      maxInFlight: server.maxInFlight,
      log,
      metrics,
      isStopping: () => this.#health.isStopping,
    };
    const routing = { authenticator: login.authenticator, bodyLimit: server.bodyLimit };
    this.#frame = new Frame({ ...frame, basePath, trustedProxies: server.trustedProxies });
    this.#public = new Listener(
      requestListener(this.#frame, {
        ...routing,
        onForbidden: auditForbidden(audit),
        operations: this.operations,
        corsOrigins: server.corsOrigins,
        ...(identity && { before: identity.middleware }),
      }),
      { host: server.host, port: server.port, requestTimeoutMs: server.requestTimeout, tls: server.tls },
    );
    this.#internal = new Listener(
      requestListener(new Frame({ ...frame, basePath: '', trustedProxies: [] }), {
        ...routing,
        operations: [...this.#health.operations(), scrapeOperation(metrics)],
        corsOrigins: [],
      }),
      { host: server.host, port: server.metricsPort, requestTimeoutMs: server.requestTimeout },
    );
  }

  /** The OpenAPI document of a service with every feature on; nothing is started. */
  static describe() {
    const nowhere: Connection = {
      server: 'https://localhost',
      tls: {},
      namespace: undefined,
      authorization: async () => undefined,
      discardAuthorization() {},
    };
    const { operations } = new App({
      config: parseConfig({}),
      connection: nowhere,
      environment: {},
      log: createLog({ level: 'silent', format: 'json' }),
    });
    return openApiDocument(operations, { version, serverURL: '/' });
  }

  /** Starts the watches and listens. The API server may be out of reach: what does not need it works. */
  async start(): Promise<{ port: number; metricsPort: number }> {
    for (const part of this.#parts) await part.start?.();
    const metricsPort = await this.#internal.start();
    const port = await this.#public.start();
    this.#log.info({ port, metricsPort, version }, 'listening');
    return { port, metricsPort };
  }

  /**
   * `/readyz` answers 503 at once; requests in flight finish within `server.shutdownGrace`, open watches end.
   *
   * @param drain go on taking requests for a moment, for load balancers that learn late
   */
  async stop({ drain = false } = {}): Promise<void> {
    this.#health.stop();
    const deadline = performance.now() + this.#config.server.shutdownGrace;
    if (drain) await new Promise((resolve) => setTimeout(resolve, Math.min(drainMs, this.#config.server.shutdownGrace / 4)));
    this.#frame.endLongRunning();
    await this.#public.stop(Math.max(0, deadline - performance.now()));
    await this.#internal.stop(0);
    for (const part of this.#parts) await part.stop();
    await this.#apiServer.close();
  }
}

/** The OpenID provider for local users: the rest knows it by its address only. */
function embeddedProvider(issuerURL: string, parts: Omit<IdentityOptions, 'issuerURL' | 'config'> & { config: Config }) {
  const { config } = parts;
  return createIdentity({ ...parts, issuerURL, config: { ...config, languages: config.console.languages } });
}
