import type { Collection } from '@atrium/lists/collection.ts';
import type { Services } from '../services.ts';
import type { Administrators } from './administrators.ts';
import type { EndUserAccess } from './ended-access.ts';
import type { PasswordChange } from './passwords/change.ts';
import type { PasswordCheck } from './passwords/check.ts';
import type { NewPasswords } from './passwords/policy.ts';
import type { AccountLookup } from './record/lookup.ts';
import type { SubjectNaming } from './record/subject-name.ts';
import type { UserRow } from './row.ts';
import type { SubjectRights } from './subject-rights.ts';

/** Dependencies of all operations on users. */
export interface UsersContext {
  readonly services: Services;
  readonly users: Collection<UserRow>;
  readonly accounts: AccountLookup;
  readonly naming: SubjectNaming;
  readonly rights: SubjectRights;
  readonly administrators: Administrators;
  readonly newPasswords: NewPasswords;
  readonly passwordCheck: PasswordCheck;
  readonly passwordChange: PasswordChange;
  readonly endAccess: EndUserAccess;
}
