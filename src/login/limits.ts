import { LRUCache } from 'lru-cache';
import { atMost } from '../http/bound.ts';
import { tooManyRequests } from '../http/status.ts';

const windowMs = 60_000;
/** The addresses that are counted; those not seen for longest are forgotten first. */
const maxSources = 10_000;

interface PerMinuteOptions {
  limit: number;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/** So many a minute for each client address. A count ends a minute after the first. */
export class PerMinute {
  readonly #limit: number;
  readonly #clock: () => number;
  readonly #counts = new LRUCache<string, { count: number; readonly until: number }>(atMost(maxSources));

  constructor({ limit, clock = () => performance.now() }: PerMinuteOptions) {
    this.#limit = limit;
    this.#clock = clock;
  }

  /** Counts one; false if it is one too many. */
  take(source: string): boolean {
    const known = this.#counts.get(source);
    if (known === undefined || known.until <= this.#clock()) {
      this.#counts.set(source, { count: 1, until: this.#clock() + windowMs });
      return true;
    }
    known.count += 1;
    return known.count <= this.#limit;
  }

  /** Counts one. @throws StatusError 429 if it is one too many */
  require(source: string): void {
    if (!this.take(source)) this.#refuse(source);
  }

  /** Counts nothing. @throws StatusError 429 if another one would be too many */
  requireRoom(source: string): void {
    const known = this.#counts.get(source);
    if (known !== undefined && known.until > this.#clock() && known.count >= this.#limit) this.#refuse(source);
  }

  #refuse(source: string): never {
    const until = this.#counts.get(source)?.until ?? this.#clock();
    throw tooManyRequests(
      'too many log-in requests from this address, try again later',
      Math.max(1, Math.ceil((until - this.#clock()) / 1000)),
    );
  }
}
