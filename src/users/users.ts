import type { Logger } from 'pino';
import { type AccountLookup, accountLookup } from '../accounts/lookup.ts';
import { userResource } from '../accounts/user-resource.ts';
import type { Config } from '../config/schema.ts';
import type { Check } from '../http/health.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Operation } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import type { KeyRing } from '../kubernetes/key-ring.ts';
import { WatchCache } from '../kubernetes/watch-cache.ts';
import { ContinueTokens } from './continue-token.ts';
import { userOperations } from './routes.ts';
import { type UserRow, userRow } from './row.ts';
import { UserService } from './service.ts';
import { UserIndex } from './user-index.ts';

export interface UsersOptions {
  config: Config;
  /** Path below which everything is served, '' or without its last slash. */
  basePath: string;
  apiServer: ApiServer;
  access: AccessReviews;
  keyRing: KeyRing;
  log: Logger;
  metrics: Metrics;
  now?: () => Date;
}

/** The feature: its operations, and what it watches. */
export interface Users {
  operations: Operation[];
  checks: Check[];
  /** The same records, as log-in needs them. */
  accounts: AccountLookup;
  start(): void;
  stop(): Promise<void>;
}

export function createUsers({ config, basePath, apiServer, access, keyRing, log, metrics, now = () => new Date() }: UsersOptions): Users {
  const users = new WatchCache<UserRow>(
    { client: apiServer.asService, log, metrics },
    { name: 'users', type: userResource, keep: userRow },
  );
  const accounts = accountLookup(users);
  const index = new UserIndex(() => users.values());
  users.onChange((change) => index.record(change));
  metrics.cache(() => ({ name: 'user_lists', entries: index.size }));
  const continueTokens = new ContinueTokens({ seal: keyRing.sealFor('continue'), now });
  const service = new UserService({ users, index, access, continueTokens, keysSettled: () => keyRing.settled() });
  return {
    operations: userOperations({
      apiServer,
      access,
      accessCacheMs: config.kubernetes.accessCache,
      service,
      v1List: config.users.v1List,
      basePath,
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
    accounts,
    start() {
      keyRing.start();
      users.start();
    },
    async stop() {
      keyRing.stop();
      await users.stop();
    },
  };
}
