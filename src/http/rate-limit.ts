import { LRUCache } from 'lru-cache';
import { tooManyRequests, wholeRetrySeconds } from '../api/status.ts';
import { atMost } from './bound.ts';
import { networkOf } from './network.ts';

/** The networks that are counted; those not seen for longest are forgotten first. */
const maxNetworks = 20_000;
const oneMinute = 60_000;

interface RateLimitOptions {
  /** How many a window takes. */
  limit: number;
  /** Since the first that was counted, in milliseconds. Default: a minute. */
  windowMs?: number;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
  /** What there were too many of, for a refusal. */
  what?: string;
}

interface Window {
  readonly endsAt: number;
  count: number;
}

/** Why one more is too many. */
export interface RateExceeded {
  retryAfterSeconds: number;
}

/**
 * So many of something for each client network in a window of time. Of this replica only, and for as long as there is room: what must
 * hold everywhere is counted elsewhere.
 */
export class RateLimit {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #clock: () => number;
  readonly #what: string;
  readonly #windows = new LRUCache<string, Window>(atMost(maxNetworks));

  constructor({ limit, windowMs = oneMinute, clock = () => performance.now(), what = 'requests' }: RateLimitOptions) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#clock = clock;
    this.#what = what;
  }

  /** Counts one, unless it is one too many. */
  take(source: string): RateExceeded | undefined {
    const key = networkOf(source);
    const window = this.#windowOf(key) ?? { endsAt: this.#clock() + this.#windowMs, count: 0 };
    if (window.count >= this.#limit) return this.#exceeded(window);
    window.count += 1;
    this.#windows.set(key, window);
    return undefined;
  }

  /** Counts one, unless it is one too many. @throws StatusError 429 */
  require(source: string): void {
    this.refuse(this.take(source));
  }

  /** Counts nothing. @throws StatusError 429 if another one would be too many */
  requireRoom(source: string): void {
    const window = this.#windowOf(networkOf(source));
    if (window !== undefined && window.count >= this.#limit) this.refuse(this.#exceeded(window));
  }

  /** Takes one back that should not count. */
  giveBack(source: string): void {
    const window = this.#windowOf(networkOf(source));
    if (window !== undefined && window.count > 0) window.count -= 1;
  }

  #windowOf(key: string): Window | undefined {
    const window = this.#windows.get(key);
    return window !== undefined && this.#clock() < window.endsAt ? window : undefined;
  }

  #exceeded({ endsAt }: Window): RateExceeded {
    return { retryAfterSeconds: wholeRetrySeconds(endsAt - this.#clock()) };
  }

  /** @throws StatusError 429 if that says that there were too many */
  refuse(exceeded: RateExceeded | undefined): void {
    if (exceeded === undefined) return;
    throw tooManyRequests(`too many ${this.#what} from this network, try again later`, exceeded.retryAfterSeconds);
  }
}
