import { partsOf } from '../../api/reader.ts';
import type { KubernetesObject } from '../../kubernetes/resource.ts';
import type { Services } from '../../services.ts';
import type { DirectoryPasswords } from '../passwords/directory-passwords.ts';
import { type Account, accountOf } from '../record/account.ts';
import { phaseOf } from '../record/conditions.ts';
import type { AccountLookup } from '../record/lookup.ts';
import { retryOnConflict, UserRecords } from '../record/records.ts';
import { type StatusMembers, UserStatusWriter } from '../status.ts';
import { countAttempt, LockoutTimers, noFailures, withoutAttempt } from './lockout.ts';

/** Reason why an attempt was refused. Clients must not learn it. */
export type Refusal = 'UnknownUser' | 'NotLocal' | 'Invalid' | 'Disabled' | 'Locked' | 'Contested' | 'WrongPassword' | 'TooManyFromSource';

/** Result of counting an attempt: without a `refusal`, the attempt may be verified. */
export interface Counted {
  readonly account?: Account;
  readonly refusal?: Refusal;
  /** The last attempt: if it fails, the user is locked. */
  readonly isLast?: boolean;
  /** The record with the counted attempt. Absent after a refusal. */
  readonly record?: KubernetesObject;
}

/** Account after a successful attempt, or the reason why it is no longer accepted. */
export type Proved = { account: Account } | { refusal: Refusal };

/**
 * Counts login attempts on the record by compare-and-swap before they are verified, and uncounts right ones. Concurrent guesses on all
 * replicas together get no more verifications than `users.lockout.failures`.
 */
export class LoginAttempts {
  readonly #services: Services;
  readonly #directories: DirectoryPasswords | undefined;
  readonly #records: UserRecords;
  readonly #status: UserStatusWriter;
  readonly #locks: LockoutTimers;

  /** @param directories that verify the passwords of their users; undefined if there are none */
  constructor(services: Services, accounts: AccountLookup, directories: DirectoryPasswords | undefined) {
    this.#services = services;
    this.#directories = directories;
    this.#records = new UserRecords(services.client);
    this.#status = new UserStatusWriter(services);
    this.#locks = new LockoutTimers(services);
    accounts.onChange((name) => {
      const account = accounts.get(name);
      if (account !== undefined) this.#locks.see(account);
    });
  }

  /**
   * Counts an attempt.
   *
   * @param further returns status members to write with the count, from the present status
   * @throws StatusError 503, 504
   */
  async count(
    who: { name: string; email: string },
    signal: AbortSignal,
    further: (status: StatusMembers) => StatusMembers = () => ({}),
  ): Promise<Counted> {
    const counted = await retryOnConflict(() => this.#count(who, further, signal), signal);
    return counted ?? { refusal: 'Contested' };
  }

  /** Uncounts an attempt that could not be verified. @throws StatusError 503, 504 */
  async takeBack(account: Account, signal: AbortSignal): Promise<void> {
    await this.#status.patchIfExists(account, (object) => withoutAttempt(statusOf(object)), signal);
  }

  /**
   * Records a right attempt. The record is read again only if it has changed since the count.
   *
   * @param isComplete false if further authentication follows. Then only this attempt is uncounted. A completed login resets the count.
   * @throws StatusError 503, 504
   */
  async succeed(
    { account, record }: { account: Account; record?: KubernetesObject | undefined },
    { isComplete, status = {} }: { isComplete: boolean; status?: StatusMembers },
    signal: AbortSignal,
  ): Promise<Proved> {
    let counted = record;
    const proved = await retryOnConflict(async () => {
      const object = counted ?? (await this.#records.read(account.name, signal));
      counted = undefined;
      return this.#succeed(account, object, { isComplete, status }, signal);
    }, signal);
    return proved ?? { refusal: 'Contested' };
  }

  /** Returns undefined after a conflict. */
  async #count(
    { name, email }: { name: string; email: string },
    further: (status: StatusMembers) => StatusMembers,
    signal: AbortSignal,
  ): Promise<Counted | undefined> {
    const found = await this.#records.read(name, signal);
    if (found === undefined || found === 'notInstalled') return { refusal: 'UnknownUser' };
    const recorded = accountOf(found);
    const isOver = this.#locks.hasEnded(recorded);
    const object = isOver ? { ...found, status: { ...statusOf(found), ...noFailures } } : found;
    const account = isOver ? accountOf(object) : recorded;
    if (account.email.toLowerCase() !== email.toLowerCase()) return { refusal: 'UnknownUser' };
    if (!this.#isJudgedHere(account)) return { account, refusal: 'NotLocal' };
    const { lockout, idleDays } = this.#services.config.users;
    const { phase } = phaseOf(account, this.#services.now(), idleDays);
    if (phase !== 'Normal') return { account, refusal: phase };
    const count = countAttempt(statusOf(object), this.#services.now(), lockout);
    if (count === undefined) return { account, refusal: 'Locked' };
    const written = await this.#status.patchVersion(object, { ...count, ...further(statusOf(object)) }, signal);
    return written && { account, record: written, isLast: count.lockedUntil !== null };
  }

  /** Uncounts the attempt, and removes the lock that it may have set. Returns undefined after a conflict. */
  async #succeed(
    { uid, sessionsNotBefore }: Account,
    object: Awaited<ReturnType<UserRecords['read']>>,
    { isComplete, status }: { isComplete: boolean; status: StatusMembers },
    signal: AbortSignal,
  ): Promise<Proved | undefined> {
    if (object === undefined || object === 'notInstalled' || object.metadata.uid !== uid) return { refusal: 'UnknownUser' };
    const account = accountOf({ ...object, status: { ...statusOf(object), ...noFailures } });
    const { phase } = phaseOf(account, this.#services.now(), this.#services.config.users.idleDays);
    if (phase !== 'Normal') return { refusal: phase };
    // The password was changed meanwhile, and the verified one was the old one.
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
