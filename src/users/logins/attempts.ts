import { partsOf } from '../../api/reader.ts';
import type { KubernetesObject } from '../../kubernetes/resource.ts';
import type { Services } from '../../services.ts';
import type { DirectoryPasswords } from '../passwords/directory-passwords.ts';
import { type Account, accountOf } from '../record/account.ts';
import type { AccountLookup } from '../record/lookup.ts';
import { phaseOf } from '../record/phase.ts';
import { UserRecords, untilUncontested } from '../record/records.ts';
import { type StatusMembers, UserStatusWriter } from '../status.ts';
import { LockEnds } from './lock-ends.ts';
import { countAttempt, noFailures, withoutAttempt } from './lockout.ts';

/** Why an attempt was not accepted. The sender must not learn which it was. */
export type Refusal = 'UnknownUser' | 'NotLocal' | 'Invalid' | 'Disabled' | 'Locked' | 'Contested' | 'WrongPassword' | 'TooManyFromSource';

/** What came of counting an attempt: it may be judged, or `refusal` says why not. */
export interface Counted {
  readonly account?: Account;
  readonly refusal?: Refusal;
  /** No other is to be had: if this one fails, the user stays locked. */
  readonly isLast?: boolean;
}

/** A user who has proved what was asked, or why it counts no longer. */
export type Proved = { account: Account } | { refusal: Refusal };

/**
 * Counts attempts to log in on the record by compare-and-swap, before what was given is looked at, and takes them back when it was
 * right: however many guesses come at once on however many replicas, no more are judged than `users.lockout.failures`.
 */
export class LoginAttempts {
  readonly #services: Services;
  readonly #directories: DirectoryPasswords | undefined;
  readonly #records: UserRecords;
  readonly #status: UserStatusWriter;
  readonly #locks: LockEnds;

  /** @param directories of users whose passwords a directory keeps; undefined if there are none */
  constructor(services: Services, accounts: AccountLookup, directories: DirectoryPasswords | undefined) {
    this.#services = services;
    this.#directories = directories;
    this.#records = new UserRecords(services.client);
    this.#status = new UserStatusWriter(services);
    this.#locks = new LockEnds(services);
    accounts.onChange((name) => {
      const account = accounts.get(name);
      if (account !== undefined) this.#locks.see(account);
    });
  }

  /** @param further what else is to be written with the count, by the status that there is; @throws StatusError 503, 504 */
  async count(
    who: { name: string; email: string },
    signal: AbortSignal,
    further: (status: StatusMembers) => StatusMembers = () => ({}),
  ): Promise<Counted> {
    const counted = await untilUncontested(() => this.#count(who, further, signal), signal);
    return counted ?? { refusal: 'Contested' };
  }

  /** Without one attempt: what was given could not be judged. @throws StatusError 503, 504 */
  async takeBack(account: Account, signal: AbortSignal): Promise<void> {
    await this.#status.patchIfExists(account, (object) => withoutAttempt(statusOf(object)), signal);
  }

  /**
   * What was given was right.
   *
   * @param isComplete false if more is to be proved: then this attempt alone is taken back. A login that is complete ends the count.
   * @throws StatusError 503, 504
   */
  async succeed(
    account: Account,
    { isComplete, status = {} }: { isComplete: boolean; status?: StatusMembers },
    signal: AbortSignal,
  ): Promise<Proved> {
    const proved = await untilUncontested(() => this.#succeed(account, { isComplete, status }, signal), signal);
    return proved ?? { refusal: 'Contested' };
  }

  /** Undefined if another writer was faster. */
  async #count(
    { name, email }: { name: string; email: string },
    further: (status: StatusMembers) => StatusMembers,
    signal: AbortSignal,
  ): Promise<Counted | undefined> {
    const found = await this.#records.read(name, signal);
    if (found === undefined || found === 'notInstalled') return { refusal: 'UnknownUser' };
    const isOver = this.#locks.hasEnded(accountOf(found));
    const object = isOver ? { ...found, status: { ...statusOf(found), ...noFailures } } : found;
    const account = accountOf(object);
    if (account.email.toLowerCase() !== email.toLowerCase()) return { refusal: 'UnknownUser' };
    if (!this.#isJudgedHere(account)) return { account, refusal: 'NotLocal' };
    const { lockout, idleDays } = this.#services.config.users;
    const { phase } = phaseOf(account, this.#services.now(), idleDays);
    if (phase !== 'Normal') return { account, refusal: phase };
    const count = countAttempt(statusOf(object), this.#services.now(), lockout);
    if (count === undefined) return { account, refusal: 'Locked' };
    const written = await this.#status.patchVersion(object, { ...count, ...further(statusOf(object)) }, signal);
    return written && { account, isLast: count.lockedUntil !== null };
  }

  /** Takes the count back, and the lock with it. Undefined if another writer was faster. */
  async #succeed(
    { name, uid, sessionsNotBefore }: Account,
    { isComplete, status }: { isComplete: boolean; status: StatusMembers },
    signal: AbortSignal,
  ): Promise<Proved | undefined> {
    const object = await this.#records.read(name, signal);
    if (object === undefined || object === 'notInstalled' || object.metadata.uid !== uid) return { refusal: 'UnknownUser' };
    const account = accountOf({ ...object, status: { ...statusOf(object), ...noFailures } });
    const { phase } = phaseOf(account, this.#services.now(), this.#services.config.users.idleDays);
    if (phase !== 'Normal') return { refusal: phase };
    // Meanwhile the password was changed: the right one was the old one.
    if (account.sessionsNotBefore !== sessionsNotBefore) return { refusal: 'WrongPassword' };
    const count = isComplete ? noFailures : withoutAttempt(statusOf(object));
    const written = await this.#status.patchVersion(object, { ...count, ...status }, signal);
    return written && { account: accountOf(written) };
  }

  #isJudgedHere({ connectorType, connectorID }: Account): boolean {
    return connectorType === 'local' || (connectorType === 'ldap' && this.#directories?.has(connectorID) === true);
  }
}

const statusOf = (object: KubernetesObject): Record<string, unknown> => partsOf(object).status ?? {};
