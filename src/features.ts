/** Wires the features with their dependencies. Only this file and app.ts, which mounts them, know all features. */
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { createNamespaces, followsNamespaces } from './access/namespaces.ts';
import { createAccess } from './access/routes.ts';
import { createAccessRequests, watchAccess } from './access-requests/access-requests.ts';
import { createBindings, watchUserBindings } from './bindings/bindings.ts';
import { createCertificates } from './certificates/certificates.ts';
import { embeddedIssuerOf, embeddedLoginOf, identityURLOf, issuersOf, namingIssuerOf } from './config/issuers.ts';
import { basePathOf, type Config } from './config/schema.ts';
import type { Brand } from './console/brand.ts';
import { createConsole } from './console/console.ts';
import { cookieNames } from './cookies/cookies.ts';
import { createDirectory } from './directory/directory.ts';
import { PasskeyLogin } from './factors/passkey-login.ts';
import { Passkeys } from './factors/passkeys.ts';
import { createFactors } from './factors/routes.ts';
import { SecondFactors } from './factors/second-factors.ts';
import { FactorStore } from './factors/store.ts';
import { createGroups, watchGroups } from './groups/groups.ts';
import { Audit } from './http/audit.ts';
import { type Authenticator, withAccessTokens } from './http/authenticator.ts';
import type { Check } from './http/health.ts';
import { loginCounter } from './http/login-counter.ts';
import type { Operation } from './http/operation.ts';
import { createIdentity } from './identity/identity.ts';
import { createIssuer } from './issuer/issuer.ts';
import { Issuers } from './issuer/issuers.ts';
import { KeyRing } from './keys/key-ring.ts';
import type { SigningKeys } from './keys/signing-keys.ts';
import { AccessReviews } from './kubernetes/access.ts';
import type { Connection } from './kubernetes/connection.ts';
import { IdentityCache } from './kubernetes/identity.ts';
import { KubernetesClient } from './kubernetes/kubernetes-client.ts';
import { serverProblem } from './kubernetes/probe.ts';
import { createLists } from './lists/lists.ts';
import { createLogin } from './login/login.ts';
import { createKubeconfig } from './meta/kubeconfig.ts';
import { LinkMail } from './one-time-links/link-mail.ts';
import { NoticeMail } from './one-time-links/notice-mail.ts';
import { OneTimeLinks } from './one-time-links/one-time-links.ts';
import { createOneTimeLinks } from './one-time-links/routes.ts';
import { createPlugins, type PluginSurroundings, watchConsolePlugins } from './plugins/plugins.ts';
import { createProxy } from './proxy/routes.ts';
import { RbacWatch } from './rbac/watch.ts';
import { createEndAccess } from './revocation/end-access.ts';
import { RevokedTokens } from './revocation/revoked-tokens.ts';
import { createRoles } from './roles/roles.ts';
import { createSearch } from './search/search.ts';
import type { Services } from './services.ts';
import type { SessionContext } from './sessions/context.ts';
import { createSessions, type SessionsFeature, withoutSessions } from './sessions/sessions.ts';
import { Metrics } from './telemetry/metrics.ts';
import { Translations } from './texts/texts.ts';
import { createAccessTokens } from './tokens/tokens.ts';
import { mayEnrolBy } from './users/factor-rule.ts';
import { KnownBrowsers } from './users/logins/known-browsers.ts';
import { Notices } from './users/logins/notices.ts';
import { LoginRecorder } from './users/logins/recorder.ts';
import { PasswordChange } from './users/passwords/change.ts';
import { PasswordCheck } from './users/passwords/check.ts';
import { Passwords } from './users/passwords/passwords.ts';
import { UserEvents } from './users/record/events.ts';
import { noLocalGroups } from './users/record/local-groups.ts';
import { SubjectRights } from './users/subject-rights.ts';
import { createUsers, watchUsers } from './users/users.ts';

/** Process context of the service. */
export interface Surroundings {
  config: Config;
  /** The API server, and the service's own account there. */
  connection: Connection;
  /** Process variables, for `console.envsFilter`; `ATRIUM_REVISION` names the revision of the sources. */
  environment: Readonly<Record<string, string | undefined>>;
  log: Logger;
  /** Takes the lines of the audit trail. Default: drops them. */
  writeAudit?: (line: string) => unknown;
  /** Passwords of users. Default: hashed at the cost of production. */
  passwords?: Passwords;
  /** Creates keys of the embedded issuer. Default: new keys. */
  newSigningKeys?: () => Promise<SigningKeys>;
  /** Network in which tests run the Services of plugins. */
  pluginSurroundings?: PluginSurroundings;
  /** Current time. Default: the time of the API server. */
  now?: () => Date;
  /** The clock of this machine, which may be wrong. */
  wallClock?: () => Date;
  /** Monotonic clock, in milliseconds. */
  clock?: () => number;
}

interface Feature {
  operations?: readonly Operation[];
  checks?: readonly Check[];
  start?(): void | Promise<void>;
  stop?(): void | Promise<void>;
}

/** All features, wired. */
export interface Features {
  /** Services that the features share. */
  services: Services;
  authenticator: Authenticator;
  /** Middleware before all operations: the embedded OpenID provider. */
  before: Middleware | undefined;
  /** Operations of all features. The console's static files match all remaining paths, and so come last. */
  operations: readonly Operation[];
  checks: readonly Check[];
  /** Returns the paths of the console's static files; empty if they cannot be read. */
  staticPaths(): Promise<readonly string[]>;
  /** Returns whether each extension is enabled and the cluster supports it, by setting name. The same object until a value changes. */
  working(): Readonly<Record<string, boolean>>;
  /** Returns the issuers that cannot be reached, with the reason. */
  unreachableIssuers: Issuers['unreachable'];
  /** Returns the reason why the API server does not answer the service's own account; undefined if it does. */
  serverProblem(): Promise<string | undefined>;
  /** Starts the watches. */
  start(): Promise<void>;
  /** Stops the watches, and then aborts every request to the API server. */
  stop(): Promise<void>;
}

export function createFeatures(surroundings: Surroundings): Features {
  const base = createBase(surroundings);
  const { services, connection, accounts, localGroups, events } = base;
  const { config, rbac } = services;
  const { console, plugins } = createConsoles(base, surroundings);
  const {
    login,
    endAccess,
    sessions,
    issuers,
    identity,
    accessTokens,
    authenticator,
    passwords,
    factorStore,
    links,
    linkMail,
    notices,
    noticeMail,
  } = createLogins(base, {
    brand: console.brand,
    passwords: surroundings.passwords ?? new Passwords(),
    translations: new Translations(config.console.languages, (language) => console.pluginFiles.localesOf(language)),
  });
  const users = createUsers(services, base.watched, {
    naming: base.naming,
    localGroups,
    userBindings: base.grants,
    ...passwords,
    sessions,
    again: (ctx) => authenticator.revalidate(ctx),
    endAccess,
  });
  const namespaces = followsNamespaces(config) ? createNamespaces(services) : undefined;
  const lists = createLists(services, namespaces?.allowed, (ctx) => authenticator.revalidate(ctx));
  const managed = { accounts, rights: rightsOf(base), passwordChange: passwords.passwordChange, endAccess };
  const mayEnrol = factorStore && mayEnrolBy(config, localGroups);
  const features: readonly Feature[] = [
    { checks: [{ name: 'roles', critical: false, isAwaited: true, failure: () => rbac.failure() }], ...lifeOf(rbac) },
    login,
    noticeMail,
    sessions,
    issuers ?? {},
    base.directory,
    users,
    ...(factorStore ? [createFactors(services, { store: factorStore, localGroups, notices, ...managed })] : []),
    ...(links && linkMail ? [createOneTimeLinks(services, { links, linkMail, mayEnrol, ...managed })] : []),
    ...createTeams(base),
    createRoles({ services, accounts, localGroups }),
    createCertificates({ services, accounts, connection }),
    accessTokens ?? {},
    createKubeconfig({ config, connection, namingIssuer: (user) => namingIssuerOf(config, accounts.get(user)) }),
    createAccess(services),
    namespaces ?? {},
    lists,
    createSearch(services, { users: base.watched.collection, groups: base.watchedGroups?.collection, lists: lists.service }),
    identity ?? {},
    config.features.kubernetesProxy ? createProxy(services, authenticator) : {},
    plugins,
    console,
    events ?? {},
  ];
  return {
    services,
    authenticator,
    before: identity?.middleware,
    operations: features.flatMap(({ operations = [] }) => operations),
    checks: features.flatMap(({ checks = [] }) => checks),
    staticPaths: () => console.staticPaths(),
    working: workingFeatures(config, {
      accessTokens: accessTokens?.cache,
      groups: base.watchedGroups?.collection.cache,
      userBindings: base.userBindings?.collection.cache,
      accessRequests: base.watchedAccess?.requests.cache,
    }),
    serverProblem: () => serverProblem(services.client),
    unreachableIssuers: async () => issuers?.unreachable() ?? [],
    async start() {
      for (const feature of features) await feature.start?.();
    },
    async stop() {
      for (const feature of features) await feature.stop?.();
      await services.apiServer.close();
    },
  };
}

/** @param watches watches of extensions that do not work without them */
function workingFeatures({ features }: Config, watches: Readonly<Record<string, { isRefused: boolean } | undefined>>) {
  let known: Readonly<Record<string, boolean>> = features;
  let refused = '';
  return () => {
    const names = Object.keys(watches).filter((name) => watches[name]?.isRefused);
    if (names.join() === refused) return known;
    refused = names.join();
    known = { ...features, ...Object.fromEntries(names.map((name) => [name, false])) };
    return known;
  };
}

/** Creates the services that all features share. */
function createServices(surroundings: Surroundings) {
  const { config, connection, log, writeAudit = () => undefined, wallClock, clock = () => performance.now() } = surroundings;
  const metrics = new Metrics();
  const { requestTimeout, accessCache } = config.kubernetes;
  const apiServer = new KubernetesClient({ connection, requestTimeoutMs: requestTimeout, metrics, log, ...(wallClock && { wallClock }) });
  const client = apiServer.asService;
  const now = surroundings.now ?? (() => client.serverClock.now());
  const access = new AccessReviews({ apiServer, accessCacheMs: accessCache, metrics, now });
  const namespace = config.kubernetes.namespace ?? connection.namespace ?? 'default';
  const events = config.audit.kubernetesEvents ? new UserEvents({ client, log, now, clock }) : undefined;
  const keepsRules = followsNamespaces(config) || config.features.explain;
  const services: Services = {
    config,
    basePath: basePathOf(config),
    cookies: cookieNames(config.server.publicURL),
    namespace,
    log,
    metrics,
    audit: new Audit({ log, write: writeAudit, events, now, onEvent: loginCounter(metrics, issuersOf(config)) }),
    now,
    clock,
    apiServer,
    client,
    access,
    keyRing: new KeyRing({ client, namespace, secretName: config.login.keysSecret, log, newSigningKeys: surroundings.newSigningKeys }),
    rbac: new RbacWatch({ client, metrics, log }, { onChange: () => access.clear(), keepsRules }),
  };
  return { services, events };
}

/** Creates the shared state of the features: the services, user records and groups. */
function createBase(surroundings: Surroundings) {
  const { services, events } = createServices(surroundings);
  const { connection } = surroundings;
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

type Base = ReturnType<typeof createBase>;

interface LoginNeeds {
  brand: () => Brand;
  translations: Translations;
  passwords: Passwords;
}

/** Creates authentication: issuers, sessions and login, the embedded OpenID provider, access tokens. */
function createLogins(base: Base, { brand, translations, passwords }: LoginNeeds) {
  const { services, directory, accounts } = base;
  const { config, apiServer, metrics, now } = services;
  const identities = new IdentityCache({ apiServer, metrics, now });
  const identityURL = identityURLOf(config);
  const factorStore = config.features.factors && identityURL !== undefined ? new FactorStore(services) : undefined;
  const title = () => brand().title ?? config.identity.loginPage.title;
  const notices = new Notices(services);
  const noticeMail = new NoticeMail(services, translations, title);
  notices.onAdded((...told) => noticeMail.send(...told));
  const passwordCheck = new PasswordCheck(services, accounts, passwords, directory.passwords, factorStore);
  const { attempts } = passwordCheck;
  const passkeys =
    factorStore && new Passkeys(services, { store: factorStore, notices, useOnce: (...use) => useOnce(sessions.context, ...use) });
  const factors = factorStore && passkeys && new SecondFactors(services, { attempts, store: factorStore, passkeys, notices });
  const passwordChange = new PasswordChange(services, passwords);
  const identify: Authenticator['identify'] = (bearer, signal) => identities.identify(bearer, signal);
  const accessTokens = config.features.accessTokens
    ? createAccessTokens(services, { accounts, localGroups: base.localGroups, identify })
    : undefined;
  const { publicURL } = config.server;
  const [first, ...further] = issuersOf(config).map((issuer, _, all) => createIssuer(services, issuer, all));
  const issuers = first !== undefined && publicURL !== undefined ? new Issuers(first, ...further) : undefined;
  const revokedTokens = issuers && new RevokedTokens(services);
  const endAccess = createEndAccess(services, { revokedTokens, deleteAccessTokens: accessTokens?.deleteAll });
  const links =
    config.features.links && identityURL !== undefined
      ? new OneTimeLinks(services, { issuerURL: identityURL, passwordChange, endAccess, notices })
      : undefined;
  const linkMail = links && new LinkMail(services, { links, accounts, passwordChange, translations, title });
  const knownBrowsers = new KnownBrowsers(services);
  const identity =
    identityURL === undefined
      ? undefined
      : createIdentity(services, {
          issuerURL: identityURL,
          accounts,
          localGroups: base.localGroups,
          passwordCheck,
          passwordChange,
          knownBrowsers,
          notices,
          factors,
          links,
          passkeys: passkeys && { passkeys, login: new PasskeyLogin(services, { passkeys, attempts, accounts }) },
          linkMail,
          brand,
          translations,
        });
  const sessions: SessionsFeature =
    issuers !== undefined && publicURL !== undefined && revokedTokens !== undefined
      ? createSessions(services, {
          issuers,
          publicURL,
          accounts,
          localGroups: base.localGroups,
          identify,
          revokedTokens,
          endAccess,
          provenAgain: identity?.provenAgain,
        })
      : withoutSessions(services, identify);
  const recorder = new LoginRecorder(services, accounts, issuers?.inUse);
  const login = createLogin(services, { sessions, identify, recorder, knownBrowsers, notices });
  return {
    login,
    endAccess,
    sessions,
    issuers,
    identity,
    accessTokens,
    authenticator: withAccessTokens(sessions.authenticator, accessTokens?.judge, (bearer) => identities.identified(bearer)),
    passwords: { passwords, passwordCheck, passwordChange },
    factorStore,
    links,
    linkMail,
    notices,
    noticeMail,
  };
}

/** Reports whether a challenge is used for the first time. Returns false without sessions, because uses cannot be recorded. */
const useOnce = (context: SessionContext | undefined, ...[text, expiresAt, signal]: [string, Date, AbortSignal]): Promise<boolean> =>
  context?.revokedTokens.useState(`passkey ${text}`, expiresAt, signal) ?? Promise.resolve(false);

const rightsOf = ({ services, naming, localGroups, grants }: Base) => new SubjectRights(services, naming, localGroups, grants);

/** Creates groups, UserBindings and access requests. */
function createTeams(base: Base): Feature[] {
  const { services, accounts, localGroups, watchedGroups, userBindings, watchedAccess } = base;
  const groups = watchedGroups?.collection.cache;
  return [
    ...(watchedGroups ? [createGroups(services, watchedGroups, accounts)] : []),
    ...(userBindings ? [createBindings(services, userBindings, { accounts, localGroups, groups })] : []),
    ...(userBindings && watchedAccess
      ? [createAccessRequests(services, watchedAccess, { accounts, localGroups, groups, userBindings: userBindings.collection.cache })]
      : []),
  ];
}

/** Creates the console and its plugins. */
function createConsoles(base: Base, { environment, pluginSurroundings }: Surroundings) {
  const consolePlugins = watchConsolePlugins(base.services);
  const console = createConsole(base.services, { consolePlugins, environment });
  const plugins = createPlugins(base.services, {
    apiServerURL: base.connection.server,
    consolePlugins,
    files: console.pluginFiles,
    surroundings: pluginSurroundings,
  });
  return { console, plugins };
}

/** Returns the lifecycle of a watch that is not itself a feature. */
const lifeOf = (watch: { start(): void; stop(): Promise<void> }): Feature => ({ start: () => watch.start(), stop: () => watch.stop() });
