/**
 * UserBindings: a ClusterRole for users and groups, on the whole platform, in projects or in namespaces. Their operations, and the
 * controller that makes them RBAC.
 */
import type { Logger } from 'pino';
import { serviceUnavailable } from '../api/status.ts';
import { BulkDeleter } from '../collection/bulk-delete.ts';
import { Lister } from '../collection/lister.ts';
import type { Config } from '../config/schema.ts';
import type { Audit } from '../http/audit.ts';
import type { Check } from '../http/health.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Operation } from '../http/operation.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import { WatchCache, type WatchCacheParts } from '../kubernetes/watch-cache.ts';
import type { RbacWatch } from '../rbac/watch.ts';
import type { LocalGroupLookup } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { type BindingsControllerOptions, bindingsController } from './controller.ts';
import { UserBindingCreator } from './create.ts';
import { UserBindingDeleter } from './delete.ts';
import { bindingProperties } from './list-properties.ts';
import { ReferenceIndex } from './reference-index.ts';
import { userBindingApiVersion, userBindingResource } from './resource.ts';
import { bindingOperations } from './routes.ts';
import { type UserBindingRow, userBindingRow } from './row.ts';

/** All UserBindings, followed once. To be made before the cache is started. */
interface WatchedUserBindings {
  cache: WatchCache<UserBindingRow>;
  references: ReferenceIndex;
  /** Whether one names that record or Group. @throws StatusError 503 while they are not known, or may be old */
  names(kind: 'User' | 'Group', name: string): boolean;
}

export function watchUserBindings(parts: WatchCacheParts): WatchedUserBindings {
  const cache = new WatchCache<UserBindingRow>(parts, { name: 'userbindings', type: userBindingResource, keep: userBindingRow });
  const references = new ReferenceIndex();
  cache.onChange((change) => references.record(change));
  return {
    cache,
    references,
    names(kind, name) {
      const outdated = cache.outdated();
      if (outdated !== undefined) throw serviceUnavailable('kubernetes', { cause: new Error(`userbindings: ${outdated}`) });
      return references.of(kind, name).size > 0;
    },
  };
}

export interface BindingsOptions {
  config: Pick<Config, 'login'>;
  /** Path below which everything is served, '' or without its last slash. */
  basePath: string;
  apiServer: ApiServer;
  access: AccessReviews;
  keyRing: KeyRing;
  rbac: RbacWatch;
  watched: WatchedUserBindings;
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  /** Undefined where groups are turned off. */
  groups: BindingsControllerOptions['groups'];
  audit: Audit;
  /** `kubernetes.namespace` */
  namespace: string;
  log: Logger;
  metrics: Metrics;
  now?: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/** The feature: its operations, and what it watches. */
export interface Bindings {
  operations: Operation[];
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

export function createBindings(options: BindingsOptions): Bindings {
  const { watched, keyRing, rbac, access, apiServer, config } = options;
  const { cache, references } = watched;
  const hasRole = (name: string) => !rbac.isSynced || rbac.hasClusterRole(name);
  const lister = new Lister({
    ...options,
    cache,
    name: userBindingResource.resource,
    properties: bindingProperties,
    apiVersion: userBindingApiVersion,
    listKind: 'UserBindingList',
    seal: keyRing.sealFor('continue'),
    keysSettled: () => keyRing.settled(),
  });
  const rows = async (signal: AbortSignal) => {
    await lister.whenUsable(signal);
    return cache.values();
  };
  const deleter = new UserBindingDeleter({ apiServer, access, cache });
  const controller = bindingsController({
    ...options,
    client: apiServer.asService,
    bindings: cache,
    references,
    hasRole,
    groupsPrefix: config.login.claims.groupsPrefix,
  });
  return {
    operations: bindingOperations({
      ...options,
      cache,
      lister,
      creator: new UserBindingCreator({ apiServer, access, cache, hasRole }),
      deleter,
      bulkDeleter: new BulkDeleter({
        type: userBindingResource,
        access,
        deleter,
        properties: bindingProperties,
        rows,
        uidOf: ({ uid }) => uid,
      }),
    }),
    checks: [
      {
        name: 'userbindings',
        critical: false,
        isAwaited: true,
        failure: () => cache.missing(),
      },
    ],
    start() {
      cache.start();
      controller.start();
    },
    async stop() {
      await controller.stop();
      await cache.stop();
    },
  };
}
