import { LRUCache } from 'lru-cache';
import { atMost } from '../../limits/bound.ts';
import type { Account } from '../record/account.ts';

const maxLocks = 10_000;

/**
 * Ends of locks on a monotonic clock, from the moment when this replica saw them begin. A wall clock that is set back does not prolong
 * them.
 */
export class LockEnds {
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
