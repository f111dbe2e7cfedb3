import { LRUCache } from 'lru-cache';
import { atMost } from '../../http/bound.ts';
import type { Account } from '../record/account.ts';

const maxLocks = 10_000;

/** When locks end by a clock that only grows, as this replica has seen them begin: a wall clock that is put back must not prolong them. */
export class LockEnds {
  readonly #ends = new LRUCache<string, number>(atMost(maxLocks));
  readonly #now: () => Date;
  readonly #clock: () => number;

  /** @param clock milliseconds that only ever grow */
  constructor({ now, clock }: { now: () => Date; clock: () => number }) {
    this.#now = now;
    this.#clock = clock;
  }

  /** To be told of every account that comes or changes. */
  see({ name, lockedUntil }: Account): void {
    if (lockedUntil === undefined) return;
    const leftMs = lockedUntil * 1000 - this.#now().getTime();
    const key = `${name} ${lockedUntil}`;
    if (leftMs > 0 && !this.#ends.has(key)) this.#ends.set(key, this.#clock() + leftMs);
  }

  /** Whether the lock is over, whatever the wall clock says. */
  hasEnded({ name, lockedUntil }: Account): boolean {
    return this.#clock() >= (this.#ends.get(`${name} ${lockedUntil}`) ?? Number.POSITIVE_INFINITY);
  }
}
