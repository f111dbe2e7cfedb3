import { LRUCache } from 'lru-cache';
import type { Config } from '../../config/schema.ts';
import { timestamp } from '../../kubernetes/clock.ts';
import { atMost } from '../../limits/eviction-queue.ts';
import type { Account } from '../record/account.ts';

const maxLocks = 10_000;

/**
 * Ends of locks on a monotonic clock, from the moment when this replica saw them begin. A wall clock that is set back does not prolong
 * them.
 */
export class LockoutTimers {
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
export interface FailureCount {
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
export function countAttempt(status: Readonly<Record<string, unknown>>, now: Date, lockout: Lockout): FailureCount | undefined {
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
export function withoutAttempt({ failedLogins, failedLoginsSince }: Readonly<Record<string, unknown>>) {
  const left = typeof failedLogins === 'number' ? failedLogins - 1 : 0;
  return left <= 0 ? noFailures : { failedLogins: left, failedLoginsSince, lockedUntil: null };
}

/** Status members that reset the count and the lock. */
export const noFailures = { failedLogins: null, failedLoginsSince: null, lockedUntil: null };

function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
