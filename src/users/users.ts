import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { type Collection, collection } from '@atrium/lists/collection.ts';
import type { WhileAllowedOptions } from '@atrium/lists/while-allowed.ts';
import { followedLists } from '../collection/followed-lists.ts';
import type { KeepSession } from '../collection/resource-declaration.ts';
import { standardOperations } from '../collection/standard-resource.ts';
import type { Feature, Services } from '../services.ts';
import { Administrators } from './administrators.ts';
import { userDefinition } from './definition.ts';
import type { EndUserAccess } from './ended-access.ts';
import { nativeUserOperations } from './native.ts';
import type { PasswordChange } from './passwords/change.ts';
import type { PasswordCheck } from './passwords/check.ts';
import type { Passwords } from './passwords/passwords.ts';
import { NewPasswords } from './passwords/policy.ts';
import { publicKeyOperation } from './passwords/public-key.ts';
import { PasswordEnvelopes } from './passwords/secret.ts';
import type { Account } from './record/account.ts';
import { type StoredUsers, UsersController } from './record/controller.ts';
import type { LocalGroupLookup } from './record/local-groups.ts';
import { type AccountLookup, accountLookup } from './record/lookup.ts';
import { userResource } from './record/schema.ts';
import type { SubjectNaming } from './record/subject-name.ts';
import { listV1Operation, meOperation } from './routes.ts';
import { storedObject, UserRow, userProperties } from './row.ts';
import { type NamingBindings, SubjectRights } from './subject-rights.ts';
import { subjectOperations } from './subjects.ts';

/** User records from one watch, in the forms that parts of the service need. Created before the cache is started. */
interface WatchedUsers {
  collection: Collection<UserRow>;
  /** Lookup for login. */
  accounts: AccountLookup;
  records: StoredUsers;
}

const collected = {
  resource: userResource,
  kind: 'User',
  properties: userProperties,
  row: (object: KubernetesObject) => new UserRow(object),
};

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

/** Dependencies on other modules. */
interface UsersNeeds {
  /** Checks the credential of a request again. */
  again: WhileAllowedOptions['again'];
  sessions: { keepSession: KeepSession };
  naming: SubjectNaming;
  localGroups: LocalGroupLookup;
  /** Undefined if UserBindings are off. */
  userBindings: NamingBindings | undefined;
  passwords: Passwords;
  passwordCheck: PasswordCheck;
  passwordChange: PasswordChange;
  endAccess: EndUserAccess;
}

export function createUsers(services: Services, { collection: users, accounts, records }: WatchedUsers, needs: UsersNeeds): Feature {
  const { config, keyRing } = services;
  const { again, naming, passwordCheck, passwordChange, endAccess } = needs;
  const envelopes = new PasswordEnvelopes(services);
  const context = {
    services,
    users,
    accounts,
    naming,
    rights: new SubjectRights(services, naming, needs.localGroups, needs.userBindings),
    administrators: new Administrators(services, accounts),
    newPasswords: new NewPasswords(config.users.passwordPolicy, envelopes, needs.passwords),
    passwordCheck,
    passwordChange,
    endAccess,
  };
  const live = followedLists(services, users, collected, again);
  const guard = { again, accessCacheMs: config.kubernetes.accessCache, longRequests: services.longRequests };
  const controller = new UsersController(services, accounts, records, { naming, endAccess });
  return {
    operations: [
      ...nativeUserOperations(services, guard),
      listV1Operation(context),
      ...standardOperations(services, users, userDefinition(context, needs.sessions.keepSession), live),
      ...subjectOperations(context),
      ...(config.features.pubkey ? [publicKeyOperation(envelopes)] : []),
      ...(config.features.me ? [meOperation(context)] : []),
    ],
    checks: [users.check, { name: 'keys', critical: false, isAwaited: true, failure: () => keyRing.failure() }],
    start() {
      keyRing.start();
      users.start();
      controller.start();
    },
    async stop() {
      await controller.stop();
      keyRing.stop();
      await users.stop();
    },
  };
}
