import type { Logger } from 'pino';
import { type AccountLookup, accountLookup } from '../accounts/lookup.ts';
import { NewPasswords } from '../accounts/new-passwords.ts';
import type { PasswordChange } from '../accounts/password-change.ts';
import type { PasswordCheck } from '../accounts/password-check.ts';
import { PasswordEnvelopes } from '../accounts/password-envelope.ts';
import type { Passwords } from '../accounts/passwords.ts';
import { userResource } from '../accounts/user-resource.ts';
import { UserStates } from '../accounts/user-states.ts';
import type { Config } from '../config/schema.ts';
import type { Audit } from '../http/audit.ts';
import type { Check } from '../http/health.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Operation } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import type { KeyRing } from '../kubernetes/key-ring.ts';
import type { RbacWatch } from '../kubernetes/rbac-watch.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import { WatchCache, type WatchCacheParts } from '../kubernetes/watch-cache.ts';
import { BulkDeleter } from './bulk-delete.ts';
import { ContinueTokens } from './continue-token.ts';
import { UserCreator } from './create.ts';
import { UserDeleter } from './delete.ts';
import { UserPatcher } from './patch.ts';
import { userOperations } from './routes.ts';
import { storedObject, type UserRow, userRow } from './row.ts';
import { UserService } from './service.ts';
import { SubjectRights } from './subject-rights.ts';
import { UserIndex } from './user-index.ts';
import type { WriteOperationsOptions } from './write-routes.ts';

/** All User records, followed once, as each part of the service needs them. To be made before the cache is started. */
interface WatchedUsers {
  cache: WatchCache<UserRow>;
  /** For lists. */
  index: UserIndex;
  /** For log-in. */
  accounts: AccountLookup;
  /** As they are stored, by name. */
  records: { names(): Iterable<string>; get(name: string): KubernetesObject | undefined };
}

export function watchUsers(parts: WatchCacheParts): WatchedUsers {
  const cache = new WatchCache<UserRow>(parts, { name: 'users', type: userResource, keep: userRow });
  const accounts = accountLookup(cache);
  const index = new UserIndex(() => cache.values());
  cache.onChange((change) => index.record(change));
  parts.metrics.cache(() => ({ name: 'user_lists', entries: index.size }));
  const records = {
    names: () => Array.from(cache.values(), ({ name }) => name),
    get: (name: string) => storedObject(cache.get(name)),
  };
  return { cache, index, accounts, records };
}

export interface UsersOptions {
  config: Config;
  /** Path below which everything is served, '' or without its last slash. */
  basePath: string;
  apiServer: ApiServer;
  access: AccessReviews;
  keyRing: KeyRing;
  rbac: RbacWatch;
  watched: WatchedUsers;
  passwords: Passwords;
  passwordCheck: PasswordCheck;
  passwordChange: PasswordChange;
  keepSession: WriteOperationsOptions['keepSession'];
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
export interface Users {
  operations: Operation[];
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

export function createUsers(options: UsersOptions): Users {
  const { config, apiServer, access, keyRing, now = () => new Date(), clock = () => performance.now() } = options;
  const { cache: users, index, accounts, records } = options.watched;
  const continueTokens = new ContinueTokens({ seal: keyRing.sealFor('continue'), now });
  const service = new UserService({ users, accounts, index, access, continueTokens, keysSettled: () => keyRing.settled() });
  const envelopes = new PasswordEnvelopes({ keyRing, isEnabled: config.features.pubkey, now, clock });
  const passwords = new NewPasswords({ envelopes, passwords: options.passwords, policy: config.users.passwordPolicy });
  const rights = new SubjectRights({ access, rbac: options.rbac, claims: config.login.claims });
  const creator = new UserCreator({ ...options, accounts, rights, passwords, now });
  const patcher = new UserPatcher({ ...options, accounts, rights, passwords, config: config.users, now });
  const deleter = new UserDeleter({ ...options, accounts, rights, now });
  const bulkDeleter = new BulkDeleter({ deleter, access, users: (signal) => service.all(signal) });
  const states = new UserStates({
    ...options,
    client: apiServer.asService,
    accounts,
    records,
  });
  return {
    operations: userOperations({
      ...options,
      accessCacheMs: config.kubernetes.accessCache,
      service,
      v1List: config.users.v1List,
      features: config.features,
      envelopes,
      creator,
      patcher,
      deleter,
      bulkDeleter,
    }),
    checks: [
      {
        name: 'users',
        critical: false,
        isAwaited: true,
        failure: () => users.failure() ?? (users.isSynced ? undefined : 'not listed yet'),
      },
      { name: 'keys', critical: false, isAwaited: true, failure: () => keyRing.failure() },
    ],
    start() {
      keyRing.start();
      users.start();
      states.start();
    },
    async stop() {
      await states.stop();
      keyRing.stop();
      await users.stop();
    },
  };
}
