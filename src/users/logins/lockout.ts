import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../config/schema.ts';
import type { Services } from '../../services.ts';
import type { DirectoryPasswords } from '../passwords/directory-passwords.ts';
import { type Account, accountOf, directoryType } from '../record/account.ts';
import { phaseOf } from '../record/conditions.ts';
import type { AccountLookup } from '../record/lookup.ts';
import { UserRecords } from '../record/records.ts';
import { type StatusMembers, UserStatusWriter } from '../status.ts';

/** Reason why an attempt was refused. Clients must not learn it, but for `SubjectDiffers`, which follows a right password. */
export type Refusal =
  | 'UnknownUser'
  | 'NotLocal'
  | 'Invalid'
  | 'Disabled'
  | 'Locked'
  | 'Contested'
  | 'WrongPassword'
  | 'TooManyFromSource'
  | 'SubjectDiffers';

/** Multiple of `lockout.failures` that an address may reach, because all users of an office share one address. */
const failuresPerSource = 10;

/** Returns a limit of failed logins of each address, on this replica. */
export function failuresOfSources({ config, clock }: Services): RateLimit {
  const { failures, duration } = config.users.lockout;
  return new RateLimit({ limit: failures * failuresPerSource, windowMs: duration, clock });
}

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
    const status = statusOf(object);
    const count = countAttempt(status, this.#services.now(), lockout);
    if (count === undefined) return { account, refusal: 'Locked' };
    const written = await this.#status.patchVersion(object, { ...count, ...further(status) }, signal);
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
    const old = statusOf(object);
    const account = accountOf({ ...object, status: { ...old, ...noFailures } });
    const { phase } = phaseOf(account, this.#services.now(), this.#services.config.users.idleDays);
    if (phase !== 'Normal') return { refusal: phase };
    // The password was changed meanwhile, and the verified one was the old one.
    if (account.sessionsNotBefore !== sessionsNotBefore) return { refusal: 'WrongPassword' };
    const count = isComplete ? noFailures : withoutAttempt(old);
    const written = await this.#status.patchVersion(object, { ...count, ...status }, signal);
    return written && { account: accountOf(written) };
  }

  #isJudgedHere({ connectorType, connectorID }: Account): boolean {
    return connectorType === 'local' || (connectorType === directoryType && this.#directories?.has(connectorID) === true);
  }
}

const statusOf = (object: KubernetesObject): Record<string, unknown> => partsOf(object).status ?? {};

const maxLocks = 10_000;

/**
 * Ends of locks on a monotonic clock, from the moment when this replica saw them begin. A wall clock that is set back does not prolong
 * them.
 */
class LockoutTimers {
  readonly #ends = new LRUCache<string, number>(atMost(maxLocks));
  readonly #now: () => Date;
  readonly #clock: () => number;

  /** @param clock returns milliseconds of a monotonic clock */
  constructor({ now, clock }: { now: () => Date; clock: () => number }) {
    this.#now = now;
    this.#clock = clock;
  }

  /** Records the lock of a new or changed account. */
  see({ name, lockedUntil }: Account): void {
    if (lockedUntil === undefined) return;
    const leftMs = lockedUntil * 1000 - this.#now().getTime();
    const key = `${name} ${lockedUntil}`;
    if (leftMs > 0 && !this.#ends.has(key)) this.#ends.set(key, this.#clock() + leftMs);
  }

  /** Reports whether the lock has expired, whatever the wall clock says. */
  hasEnded({ name, lockedUntil }: Account): boolean {
    return this.#clock() >= (this.#ends.get(`${name} ${lockedUntil}`) ?? Number.POSITIVE_INFINITY);
  }
}

type Lockout = Config['users']['lockout'];

/** Members of the status of a User. Times are RFC 3339. */
interface FailureCount {
  failedLogins: number;
  failedLoginsSince: string;
  /** End of the lock, set with the last permitted attempt. */
  lockedUntil: string | null;
}

/**
 * Returns the count after a further attempt. An attempt counts as a failure until it turns out right, because only a count that is written
 * before the verification bounds concurrent attempts.
 *
 * @returns undefined while the user is locked
 */
function countAttempt(status: Readonly<Record<string, unknown>>, now: Date, lockout: Lockout): FailureCount | undefined {
  const { failedLogins, failedLoginsSince, lockedUntil } = status;
  const lockEnd = timeOf(lockedUntil);
  if (lockEnd !== undefined && now.getTime() < lockEnd) return undefined;
  const since = timeOf(failedLoginsSince);
  const goesOn = lockEnd === undefined && since !== undefined && now.getTime() < since + lockout.window;
  const count = (goesOn && typeof failedLogins === 'number' ? failedLogins : 0) + 1;
  return {
    failedLogins: count,
    failedLoginsSince: timestamp(goesOn ? new Date(since) : now),
    lockedUntil: count >= lockout.failures ? timestamp(new Date(now.getTime() + lockout.duration)) : null,
  };
}

/** Returns the count without an attempt that could not be verified, or was right but did not complete the login. */
function withoutAttempt({ failedLogins, failedLoginsSince }: Readonly<Record<string, unknown>>) {
  const left = typeof failedLogins === 'number' ? failedLogins - 1 : 0;
  return left <= 0 ? noFailures : { failedLogins: left, failedLoginsSince, lockedUntil: null };
}

/** Status members that reset the count and the lock. */
export const noFailures = { failedLogins: null, failedLoginsSince: null, lockedUntil: null };

function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
