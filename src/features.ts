/** Wires the features with their dependencies. Only this file and app.ts, which mounts them, know all features. */
import type { Authenticator } from '@atrium/http/authenticator.ts';
import type { Check } from '@atrium/http/health.ts';
import type { Operation } from '@atrium/http/operation.ts';
import type { ChainOptions } from '@atrium/http/request-listener.ts';
import { serverProblem } from '@atrium/kubernetes/identity.ts';
import { createAccess } from './access/access.ts';
import { createNamespaces, followsNamespaces } from './access/namespaces.ts';
import { type AccessRequestsOptions, createAccessRequests } from './access-requests/access-requests.ts';
import { createActivity } from './activity/activity.ts';
import { createAuditChain } from './audit-chain/audit-chain.ts';
import { createLogins } from './authentication.ts';
import { type Base, createBase, type ProcessContext } from './base.ts';
import { createBindingReviews } from './binding-reviews/binding-reviews.ts';
import { createBindings } from './bindings/bindings.ts';
import { createCertificates } from './certificates/certificates.ts';
import { createChangeProposals } from './change-proposals/change-proposals.ts';
import { mayEnrolBy } from './config/factors.ts';
import { namingIssuerOf } from './config/issuers.ts';
import { workloads } from './config/lists-section.ts';
import { createConsole } from './console/console.ts';
import { createExplorer } from './explorer/explorer.ts';
import { createFactors } from './factors/factors.ts';
import { createGroups } from './groups/groups.ts';
import type { Issuers } from './issuer/issuers.ts';
import { createLists } from './listed-resources/lists.ts';
import { createMcp } from './mcp/mcp.ts';
import { createKubeconfig } from './meta/kubeconfig.ts';
import { createOneTimeLinks } from './one-time-links/one-time-links.ts';
import { createPlugins, watchConsolePlugins } from './plugins/plugins.ts';
import { createProxy } from './proxy/proxy.ts';
import { createRecordings } from './recordings/recordings.ts';
import { createRoles } from './roles/roles.ts';
import { createSearch } from './search/search.ts';
import type { OwnSince, Services } from './services.ts';
import { createStandingAccess } from './standing-access/standing-access.ts';
import { Translations } from './texts/texts.ts';
import { createUsage } from './usage/usage.ts';
import { Passwords } from './users/passwords/passwords.ts';
import { ownAccount, ownSince } from './users/record/lookup.ts';
import { SubjectRights } from './users/subject-rights.ts';
import { tracesOf } from './users/traces.ts';
import { createUsers } from './users/users.ts';

/** A `Feature`, or a part that lacks some of its members. */
interface Part {
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
  /** The embedded OpenID provider, which answers the requests below its prefix. */
  before: ChainOptions['before'];
  /** Operations of all features. The console's static files match all remaining paths, and so come last. */
  operations: readonly Operation[];
  checks: readonly Check[];
  /** Returns the paths of the console's static files; empty if they cannot be read. */
  staticPaths(): Promise<readonly string[]>;
  /** Returns whether each extension is enabled and the cluster supports it, by setting name. The same object until a value changes. */
  working(): Readonly<Record<string, boolean>>;
  /** Returns the issuers that cannot be reached, with the reason. */
  unreachableIssuers: Issuers['unreachable'];
  /** Returns the reason why the audit store takes no questions; undefined if it does, or if there is none. */
  auditStoreProblem(): Promise<string | undefined>;
  /** Returns the reason why the API server does not answer the service's own account; undefined if it does. */
  serverProblem(): Promise<string | undefined>;
  /** Starts the watches. */
  start(): Promise<void>;
  /** Stops the watches, and then aborts every request to the API server. */
  stop(): Promise<void>;
}

/** Bound of the wait of a stop for writes whose callers have left, within the time that a Pod has beyond `server.shutdownGrace`. */
const writtenWithinMs = 2_000;

export function createFeatures(context: ProcessContext): Features {
  const base = createBase(context);
  const { services, connection, accounts, localGroups, events } = base;
  const { config, rbac } = services;
  const { console, plugins } = createConsoles(base, context);
  const translations = new Translations(config.console.languages, (language) => console.pluginFiles.localesOf(language));
  const {
    login,
    endAccess,
    sessions,
    issuers,
    identity,
    accessTokens,
    mcpAuthorization,
    tokenExchange,
    authenticator,
    passwords,
    factorStore,
    links,
    linkMail,
    notices,
    noticeMail,
  } = createLogins(base, {
    brand: console.brand,
    passwords: context.passwords ?? new Passwords(),
    translations,
    isOperation: (id) => operations.some((operation) => operation.id === id),
    hasAuditAlert: (...asked) => activity.isAlerted(...asked),
    network: context.pluginContext?.network,
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
  const access = createAccess(services);
  const sinceRecord: OwnSince = (caller) => ownSince(accounts, caller);
  const recordings = createRecordings(services, {
    store: base.auditStore?.recordings,
    ownSince: sinceRecord,
    policiesOf: (user) => base.watchedAccess?.active.policiesOf(user) ?? [],
  });
  const mayEnrol = factorStore && mayEnrolBy(config, localGroups);
  const explorerNeeds = {
    users: base.watched,
    localGroups,
    groups: base.watchedGroups?.collection,
    userBindings: base.userBindings?.collection,
  };
  const letterhead = { texts: () => translations.first(), title: () => console.brand().title ?? config.identity.loginPage.title };
  const explorer = createExplorer(services, explorerNeeds);
  const auditChain = createAuditChain(services, { auditStore: base.auditStore, owned: context.auditStore });
  const activity = createActivity(services, {
    store: base.auditStore,
    checkpointState: auditChain.checkpointState,
    userOf: (record) => accounts.get(record)?.email,
    tracesOf: (record) => tracesOf(accounts, record, services.namespace),
    ownRecord: (caller) => ownAccount(accounts, caller)?.name,
    ownSince: sinceRecord,
    again: (ctx) => authenticator.revalidate(ctx),
  });
  const searched = { users: base.watched.collection, groups: base.watchedGroups?.collection, lists: lists.service, workloads };
  const search = createSearch(services, searched);
  const granting = createGroupsAndBindings(base, {
    letterhead,
    network: context.pluginContext?.network,
    again: (ctx) => authenticator.revalidate(ctx),
  });
  const proposals = config.features.mcp ? createChangeProposals(services, sinceRecord) : undefined;
  const features: readonly Part[] = [
    { checks: [{ name: 'roles', critical: false, isAwaited: true, failure: () => rbac.failure() }], ...lifeOf(rbac) },
    lifeOf(services.longRequests),
    login,
    noticeMail,
    sessions,
    issuers ?? {},
    base.directory,
    users,
    ...(factorStore ? [createFactors(services, { store: factorStore, localGroups, notices, ...managed })] : []),
    ...(links && linkMail ? [createOneTimeLinks(services, { links, linkMail, mayEnrol, ...managed })] : []),
    ...granting.parts,
    createRoles({ services, accounts, localGroups }),
    createCertificates({ services, accounts, connection }),
    accessTokens ?? {},
    mcpAuthorization ?? {},
    tokenExchange ?? {},
    createKubeconfig({ config, connection, namingIssuer: (user) => namingIssuerOf(config, accounts.get(user)) }),
    access,
    explorer,
    createStandingAccess(services, explorerNeeds, base.auditStore),
    ...(config.features.accessRequests ? [createBindingReviews(services, explorerNeeds, letterhead)] : []),
    namespaces ?? {},
    lists,
    createUsage(services, lists.service, context.earlierUsage),
    auditChain,
    recordings,
    activity,
    base.remoteStore ? { stop: () => base.remoteStore?.stop() } : {},
    search,
    proposals ?? {},
    proposals
      ? createMcp(services, {
          lists: lists.service,
          search: search.service,
          access: access.service,
          whoCan: explorer.whoCan,
          activity: activity.list,
          requests: granting.asking,
          proposals: proposals.proposals,
        })
      : {},
    identity ?? {},
    config.features.kubernetesProxy
      ? createProxy(services, authenticator, { recorders: recordings.recorders, activeRequests: base.watchedAccess?.active })
      : {},
    plugins,
    console,
    events ?? {},
  ];
  const operations = base.announced(features.flatMap(({ operations = [] }) => operations));
  return {
    services,
    authenticator,
    before: identity,
    operations,
    checks: features.flatMap(({ checks = [] }) => checks),
    staticPaths: () => console.staticPaths(),
    working: workingFeatures(
      { ...config.features, audit: base.auditStore !== undefined },
      {
        accessTokens: accessTokens?.cache,
        groups: base.watchedGroups?.collection.cache,
        userBindings: base.userBindings?.collection.cache,
        accessRequests: base.watchedAccess?.requests.cache,
      },
    ),
    serverProblem: () => serverProblem(services.client),
    auditStoreProblem: async () => base.remoteStore?.problem(),
    unreachableIssuers: async () => issuers?.unreachable() ?? [],
    async start() {
      for (const feature of features) await feature.start?.();
    },
    async stop() {
      await services.apiServer.drainWrites(writtenWithinMs);
      for (const feature of features) await feature.stop?.();
      await services.apiServer.close();
    },
  };
}

/** @param watches watches of extensions that do not work without them */
function workingFeatures(
  features: Readonly<Record<string, boolean>>,
  watches: Readonly<Record<string, { isRefused: boolean } | undefined>>,
) {
  let known = features;
  let refused = '';
  return () => {
    const names = Object.keys(watches).filter((name) => watches[name]?.isRefused);
    if (names.join() === refused) return known;
    refused = names.join();
    known = { ...features, ...Object.fromEntries(names.map((name) => [name, false])) };
    return known;
  };
}

const rightsOf = ({ services, naming, localGroups, grants }: Base) => new SubjectRights(services, naming, localGroups, grants);

/** Creates groups, UserBindings and access requests. */
function createGroupsAndBindings(base: Base, needs: AccessRequestsOptions) {
  const { services, accounts, localGroups, watchedGroups, userBindings, watchedAccess } = base;
  const groups = watchedGroups?.collection.cache;
  const bound = userBindings?.collection.cache;
  const accessRequests =
    bound &&
    watchedAccess &&
    createAccessRequests(services, watchedAccess, { accounts, localGroups, groups, userBindings: bound, ...needs });
  const parts: Part[] = [
    ...(watchedGroups ? [createGroups(services, watchedGroups, { accounts, again: needs.again })] : []),
    ...(userBindings ? [createBindings(services, userBindings, { accounts, localGroups, groups, again: needs.again })] : []),
    ...(accessRequests ? [accessRequests] : []),
  ];
  return { parts, asking: accessRequests?.asking };
}

/** Creates the console and its plugins. */
function createConsoles(base: Base, { environment, pluginContext }: ProcessContext) {
  const consolePlugins = watchConsolePlugins(base.services);
  const console = createConsole(base.services, { consolePlugins, environment });
  const plugins = createPlugins(base.services, {
    apiServerURL: base.connection.server,
    consolePlugins,
    files: console.pluginFiles,
    context: pluginContext,
  });
  return { console, plugins };
}

/** Returns the lifecycle of a watch that is not itself a feature. */
const lifeOf = (watch: { start(): void; stop(): Promise<void> }): Part => ({ start: () => watch.start(), stop: () => watch.stop() });
