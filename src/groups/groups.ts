/**
 * Groups of users that are kept here: their operations, their members, and what their status says. What a group may do, the bindings of
 * the cluster say: a local group is the group `local:NAME` there.
 */
import type { Logger } from 'pino';
import { Lister } from '../collection/lister.ts';
import type { Audit } from '../http/audit.ts';
import type { Check } from '../http/health.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Operation } from '../http/operation.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import { WatchCache, type WatchCacheParts } from '../kubernetes/watch-cache.ts';
import { groupApiVersion, groupResource, LocalGroups } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { groupProperties } from './list-properties.ts';
import { GroupMembers } from './members.ts';
import { groupOperations } from './routes.ts';
import { type GroupRow, groupRow } from './row.ts';
import { GroupService } from './service.ts';
import { groupStates } from './states.ts';
import { GroupWriter } from './writer.ts';

/** All Groups, followed once. To be made before the cache is started. */
interface WatchedGroups {
  cache: WatchCache<GroupRow>;
  localGroups: LocalGroups;
}

export function watchGroups(parts: WatchCacheParts): WatchedGroups {
  const cache = new WatchCache<GroupRow>(parts, { name: 'groups', type: groupResource, keep: groupRow });
  return { cache, localGroups: new LocalGroups(cache) };
}

export interface GroupsOptions {
  /** Path below which everything is served, '' or without its last slash. */
  basePath: string;
  apiServer: ApiServer;
  access: AccessReviews;
  accounts: AccountLookup;
  keyRing: KeyRing;
  watched: WatchedGroups;
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
export interface Groups {
  operations: Operation[];
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

export function createGroups(options: GroupsOptions): Groups {
  const { apiServer, access, keyRing, metrics, now = () => new Date() } = options;
  const { cache, localGroups } = options.watched;
  const lister = new Lister({
    cache,
    name: 'groups',
    properties: groupProperties,
    apiVersion: groupApiVersion,
    listKind: 'GroupList',
    seal: keyRing.sealFor('continue'),
    keysSettled: () => keyRing.settled(),
    metrics,
    now,
  });
  const parts = { ...options, cache, now };
  const states = groupStates({ ...options, client: apiServer.asService, cache, localGroups });
  return {
    operations: groupOperations({
      ...options,
      service: new GroupService({ cache, lister, access }),
      writer: new GroupWriter(parts),
      members: new GroupMembers(parts),
    }),
    checks: [
      {
        name: 'groups',
        critical: false,
        isAwaited: true,
        failure: () => cache.missing(),
      },
    ],
    start() {
      cache.start();
      states.start();
    },
    async stop() {
      await states.stop();
      await cache.stop();
    },
  };
}
