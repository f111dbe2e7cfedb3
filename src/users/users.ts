import type { Logger } from 'pino';
import { type Collection, collection, liveLists } from '../collection/collection.ts';
import type { WhileAllowedOptions } from '../collection/while-allowed.ts';
import type { Config } from '../config/schema.ts';
import type { Audit } from '../http/audit.ts';
import type { Check } from '../http/health.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Operation } from '../http/operation.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import type { RbacWatch } from '../rbac/watch.ts';
import type { Services } from '../services.ts';
import { Administrators } from './administrators.ts';
import { UserCreator } from './create.ts';
import { UserDeleter } from './delete.ts';
import { userProperties } from './list-properties.ts';
import type { PasswordChange } from './passwords/change.ts';
import type { PasswordCheck } from './passwords/check.ts';
import { PasswordEnvelopes } from './passwords/envelope.ts';
import { NewPasswords } from './passwords/new-passwords.ts';
import type { Passwords } from './passwords/passwords.ts';
import { UserPatcher } from './patch.ts';
import type { Account } from './record/account.ts';
import { UserStates } from './record/controller.ts';
import type { LocalGroupLookup } from './record/local-groups.ts';
import { type AccountLookup, accountLookup } from './record/lookup.ts';
import { userResource } from './record/resource.ts';
import type { SubjectNaming } from './record/subject-name.ts';
import { userOperations } from './routes.ts';
import { storedObject, type UserRow, userRow } from './row.ts';
import { UserService } from './service.ts';
import { type NamingBindings, SubjectRights } from './subject-rights.ts';
import { UserSubjects, type UserSubjectsOptions } from './subjects.ts';
import type { WriteOperationsOptions } from './write-routes.ts';

/** All User records, followed once, as each part of the service needs them. To be made before the cache is started. */
interface WatchedUsers {
  collection: Collection<UserRow>;
  /** For login. */
  accounts: AccountLookup;
  /** As they are stored, by name. */
  records: {
    names(): Iterable<string>;
    get(name: string): KubernetesObject | undefined;
    onGone(listener: (account: Account) => void): () => void;
  };
}

const collected = { resource: userResource, kind: 'User', properties: userProperties, row: userRow };

export function watchUsers(services: Services): WatchedUsers {
  const users = collection<UserRow>(services, collected);
  const { cache } = users;
  const accounts = accountLookup(cache);
  const records = {
    *names() {
      for (const { name } of cache.values()) yield name;
    },
    get: (name: string) => storedObject(cache.get(name)),
    onGone: (listener: (account: Account) => void) =>
      cache.onChange(({ old, new: current }) => {
        if (old !== undefined && old.account.uid !== current?.account.uid) listener(old.account);
      }),
  };
  return { collection: users, accounts, records };
}

/** Most of them wait for a write that takes many out of a group. */
const deletedAtOnce = 40;

export interface UsersOptions {
  config: Config;
  /** Path below which everything is served, '' or without its last slash. */
  basePath: string;
  apiServer: ApiServer;
  access: AccessReviews;
  keyRing: KeyRing;
  rbac: RbacWatch;
  localGroups: LocalGroupLookup;
  naming: SubjectNaming;
  userBindings: NamingBindings | undefined;
  watched: WatchedUsers;
  passwords: Passwords;
  passwordCheck: PasswordCheck;
  passwordChange: PasswordChange;
  keepSession: WriteOperationsOptions['keepSession'];
  again: WhileAllowedOptions['again'];
  endAccessTokens: UserSubjectsOptions['endAccessTokens'];
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
  const { collection: users, accounts, records } = options.watched;
  const service = new UserService({ users: users.cache, accounts, lister: users.lister, access });
  const guard = { again: options.again, accessCacheMs: config.kubernetes.accessCache };
  const live = config.features.watch ? liveLists(users, collected, guard) : undefined;
  const envelopes = new PasswordEnvelopes({ keyRing, isEnabled: config.features.pubkey, now, clock });
  const passwords = new NewPasswords({ envelopes, passwords: options.passwords, policy: config.users.passwordPolicy });
  const rights = new SubjectRights(options);
  const administrators = new Administrators({
    ...options,
    client: apiServer.asService,
    accounts,
    idleDays: config.users.idleDays,
    now,
  });
  const creator = new UserCreator({ ...options, accounts, rights, passwords, now });
  const patcher = new UserPatcher({ ...options, accounts, rights, administrators, passwords, config: config.users, now });
  const deleter = new UserDeleter({ ...options, accounts, rights, administrators, now });
  const subjects = new UserSubjects({ ...options, accounts, rights });
  const bulkDeleter = users.bulkDeleter({ deleter, uidOf: ({ account }) => account.uid, atOnce: deletedAtOnce });
  const states = new UserStates({
    ...options,
    client: apiServer.asService,
    accounts,
    records,
  });
  return {
    operations: userOperations({
      ...options,
      ...guard,
      service,
      live,
      v1List: config.users.v1List,
      features: config.features,
      envelopes,
      creator,
      patcher,
      deleter,
      bulkDeleter,
      subjects,
    }),
    checks: [users.check, { name: 'keys', critical: false, isAwaited: true, failure: () => keyRing.failure() }],
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
