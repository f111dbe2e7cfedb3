import type { Account } from '../accounts/account.ts';
import type { AccountLookup } from '../accounts/lookup.ts';
import { phaseOf } from '../accounts/phase.ts';
import { userResource } from '../accounts/user-resource.ts';
import { conflict } from '../http/status.ts';

interface AdministratorRules {
  accounts: AccountLookup;
  /** `users.idleDays` */
  idleDays: number;
  now: Date;
}

/** Somebody must be left who can let the others in again. @throws StatusError 409 for the last administrator who can log in */
export function requireAnotherAdministrator(
  { name, isAdmin }: Account,
  what: string,
  { accounts, idleDays, now }: AdministratorRules,
): void {
  if (!isAdmin) return;
  const isLeft = (other: Account) => other.name !== name && phaseOf(other, now, idleDays).phase === 'Normal';
  if (!accounts.administrators().some(isLeft)) throw conflict(userResource, name, `the last administrator cannot be ${what}`);
}
