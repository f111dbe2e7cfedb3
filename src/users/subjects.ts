import { notFound, StatusError } from '../api/status.ts';
import { requireNoAccessToken } from '../http/no-access-token.ts';
import type { Caller } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import { isRecord } from '../kubernetes/resource.ts';
import { seenWithinMs } from '../kubernetes/until.ts';
import type { PasswordChange } from './passwords/change.ts';
import { type Account, accountOf } from './record/account.ts';
import type { AccountLookup } from './record/lookup.ts';
import { UserRecords } from './record/records.ts';
import { userResource } from './record/resource.ts';
import type { SubjectRights } from './subject-rights.ts';

export interface UserSubjectsOptions {
  apiServer: ApiServer;
  access: AccessReviews;
  accounts: AccountLookup;
  rights: SubjectRights;
  passwordChange: PasswordChange;
  /** Ends the access tokens of a record. Undefined where there are none. */
  endAccessTokens: ((owner: { uid: string }, signal: AbortSignal) => Promise<void>) | undefined;
}

/** The way back of a user whose account was made again at the issuer: the record forgets the old one, and the next login links the new. */
export class UserSubjects {
  readonly #options: UserSubjectsOptions;
  readonly #records: UserRecords;

  constructor(options: UserSubjectsOptions) {
    this.#options = options;
    this.#records = new UserRecords(options.apiServer.asService);
  }

  /**
   * The subjects go last: if anything fails before, the next try completes it.
   *
   * @returns the user's record
   * @throws StatusError 403, 404, 409, 503, 504
   */
  async forget(name: string, { isDryRun }: { isDryRun: boolean }, caller: Caller, signal: AbortSignal): Promise<Account> {
    const { access, accounts, passwordChange, endAccessTokens } = this.#options;
    requireNoAccessToken(caller, 'take the accounts of the issuer from a user');
    await access.require(caller, { ...userResource, subresource: 'password', verb: 'update', name }, signal);
    const object = await this.#records.readInstalled(name, signal);
    if (object === undefined) throw notFound(userResource, name);
    const account = accountOf(object);
    await this.#requireRights(account, caller, signal);
    // Of a record that is not canonical, too: there they count for nothing.
    const held = isRecord(object.status) ? object.status.subjects : undefined;
    if (!Array.isArray(held) || held.length === 0) throw belongsToNone(name);
    if (isDryRun) return account;
    await endAccessTokens?.(account, signal);
    const { metadata } = await passwordChange.endAccess(account, { subjects: null });
    await accounts.waitFor(metadata.resourceVersion, seenWithinMs, signal);
    return account;
  }

  /** What the next login links acts as the user. An administrator's record is as protected as by a change of the password. */
  async #requireRights(account: Account, caller: Caller, signal: AbortSignal): Promise<void> {
    const { rights } = this.#options;
    await rights.requireImpersonation(caller, account.subjectName || account.email, signal);
    if (account.isAdmin) await rights.requireForPassword(caller, account, signal);
  }
}

const belongsToNone = (name: string) =>
  new StatusError(404, 'NotFound', `users.auth.platform.io "${name}": the user belongs to no account of an issuer`, {
    details: { name, group: userResource.group, kind: userResource.resource },
  });
