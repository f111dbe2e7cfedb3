/** Creates the state that all features share: services, user records and groups. */
import type { AuditDatabase, AuditStore } from '@atrium/audit-store/store.ts';
import { cookieNames } from '@atrium/http/cookies/cookies.ts';
import { reportCache } from '@atrium/http/limits/reports.ts';
import { SharedBound } from '@atrium/http/limits/shared-bound.ts';
import type { Operation } from '@atrium/http/operation.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { AccessReviews } from '@atrium/kubernetes/access.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { LongRequests } from '@atrium/kubernetes/rbac/long-requests.ts';
import { RbacWatch } from '@atrium/kubernetes/rbac/watch.ts';
import type { Logger } from 'pino';
import { followsNamespaces } from './access/namespaces.ts';
import { watchAccess } from './access-requests/access-requests.ts';
import { announced } from './audit/announced.ts';
import { Audit, loginCounter } from './audit/audit.ts';
import { AuditIntake } from './audit/audit-intake.ts';
import { RemoteStore } from './audit/remote-store.ts';
import { storing } from './audit/stored-event.ts';
import { watchUserBindings } from './bindings/bindings.ts';
import { ignoredParts } from './config/audit-policy.ts';
import { embeddedIssuerOf, embeddedLoginOf, issuersOf } from './config/issuers.ts';
import { basePathOf, type Config } from './config/schema.ts';
import { createDirectory } from './directory/directory.ts';
import { watchGroups } from './groups/groups.ts';
import { KeyRing, type SigningKeys } from './keys/key-ring.ts';
import type { PluginContext } from './plugins/plugins.ts';
import type { Services } from './services.ts';
import type { UsagePollParts } from './usage/usage-poll.ts';
import type { Passwords } from './users/passwords/passwords.ts';
import { UserEvents } from './users/record/events.ts';
import { noLocalGroups } from './users/record/local-groups.ts';
import { watchUsers } from './users/users.ts';

/** Process context of the service. */
export interface ProcessContext {
  config: Config;
  /** The API server, and the service's own account there. */
  connection: Connection;
  /** Process variables, for `console.envsFilter`; `ATRIUM_REVISION` names the revision of the sources. */
  environment: Readonly<Record<string, string | undefined>>;
  log: Logger;
  /** Takes the lines of the audit trail. Default: drops them. */
  writeAudit?: (line: string) => unknown;
  /** Keeps the events of requests in this process. Default: the store of `audit.store.url`; without it they are not kept. */
  auditStore?: AuditDatabase;
  /** Passwords of users. Default: hashed at the cost of production. */
  passwords?: Passwords;
  /** Creates keys of the embedded issuer. Default: new keys. */
  newSigningKeys?: () => Promise<SigningKeys>;
  /** Network in which tests run the Services of plugins. */
  pluginContext?: PluginContext;
  /** Current time. Default: the time of the API server. */
  now?: () => Date;
  /** The clock of this machine, which may be wrong. */
  wallClock?: () => Date;
  /** Monotonic clock, in milliseconds. */
  clock?: () => number;
  /** Usage before the start, which the demo computes. */
  earlierUsage?: UsagePollParts['earlier'];
}

/** Bound of the cached pages of all lists. */
const maxPageBytes = 32 * 1024 * 1024;
/** Bound of the age of a cached page, because the continue token in it ages. */
const pageLifetimeMs = 60_000;

/** Creates the services that all features share. */
function createServices(context: ProcessContext) {
  const { config, connection, log, writeAudit = () => undefined, wallClock, clock = () => performance.now() } = context;
  const metrics = new Metrics();
  const { requestTimeout, accessCache } = config.kubernetes;
  const apiServer = new KubernetesClient({
    ...{ connection, requestTimeoutMs: requestTimeout, metrics, log, marksShells: config.audit.refuseDirectShells },
    ...(wallClock && { wallClock }),
  });
  const client = apiServer.asService;
  const { serverClock } = client;
  const now = context.now ?? (() => serverClock.now());
  const access = new AccessReviews({ apiServer, accessCacheMs: accessCache, metrics, now });
  const namespace = config.kubernetes.namespace ?? connection.namespace ?? 'default';
  const events = config.audit.kubernetesEvents ? new UserEvents({ client, log, metrics, now, clock }) : undefined;
  const { explain, explorer, accessRequests } = config.features;
  const keepsRules = followsNamespaces(config) || explain || explorer || accessRequests;
  const rbac = new RbacWatch({ client, metrics, log }, { onChange: () => access.clear(), keepsRules });
  const remoteStore = config.audit.store && new RemoteStore(config.audit.store);
  const auditStore = context.auditStore ?? remoteStore;
  const pages = new SharedBound({ maxBytes: maxPageBytes, lifetimeMs: pageLifetimeMs });
  reportCache(metrics, 'pages', () => pages.size);
  const auditIntake = auditStore && newIntake(auditStore, { config, metrics, log, now });
  const services: Services = {
    config,
    basePath: basePathOf(config),
    cookies: cookieNames(config.server.publicURL),
    namespace,
    log,
    metrics,
    audit: new Audit({
      log,
      write: writeAudit,
      events,
      keep: auditIntake && storing(auditIntake, config.audit.policy),
      now,
      onEvent: loginCounter(metrics, issuersOf(config)),
    }),
    auditIntake,
    now,
    clock,
    apiServer,
    client,
    access,
    keyRing: new KeyRing({ client, namespace, secretName: config.login.keysSecret, log, newSigningKeys: context.newSigningKeys }),
    rbac,
    pages,
    longRequests: new LongRequests({ access, rbac, now, clock }),
  };
  return { services, events, auditStore, remoteStore };
}

function newIntake(store: AuditStore, { config, ...services }: Pick<Services, 'config' | 'metrics' | 'log' | 'now'>): AuditIntake {
  const { spool, delivery, policy } = config.audit;
  const isRequired = delivery === 'required';
  const isSometimesRequired = isRequired || policy?.rules.some((rule) => rule.delivery === 'required') === true;
  const ignored = policy ? ignoredParts(policy) : [];
  if (ignored.length > 0) services.log.warn({ ignored }, 'parts of audit.policy change nothing: bodies of answers are never kept');
  return new AuditIntake({ ...services, store, spool, isRequired, isSometimesRequired });
}

/** Creates the shared state of the features: the services, user records and groups. */
export function createBase(context: ProcessContext) {
  const { services, events, auditStore, remoteStore } = createServices(context);
  const { connection } = context;
  const { config } = services;
  const watched = watchUsers(services);
  const watchedGroups = config.features.groups ? watchGroups(services) : undefined;
  const userBindings = config.features.userBindings ? watchUserBindings(services) : undefined;
  const watchedAccess = config.features.accessRequests ? watchAccess(services) : undefined;
  return {
    services,
    connection,
    accounts: watched.accounts,
    naming: { claims: embeddedLoginOf(config).claims, embeddedIssuer: embeddedIssuerOf(config) },
    events,
    auditStore,
    remoteStore,
    announced: (operations: readonly Operation[]) => announced(operations, services.auditIntake, services.now),
    watched,
    watchedGroups,
    localGroups: watchedGroups?.localGroups ?? noLocalGroups,
    userBindings,
    watchedAccess,
    grants: userBindings && {
      names: (...subject: Parameters<typeof userBindings.names>) =>
        userBindings.names(...subject) || watchedAccess?.names(...subject) === true,
    },
    directory: createDirectory(services, watched.accounts, watched.records),
  };
}

export type Base = ReturnType<typeof createBase>;
