import { tooManyRequests, wholeRetrySeconds } from '@atrium/objects/status.ts';
import { LRUCache } from 'lru-cache';
import { networkOf } from '../client-address.ts';
import { atMost } from './bounded-cache.ts';

/** Bound of counted networks. The network that was not seen for longest is dropped first. */
const maxNetworks = 20_000;
const oneMinute = 60_000;
/** An hour as `windowMs`. */
export const hourMs = 3_600_000;

interface RateLimitOptions {
  /** Bound in a window. */
  limit: number;
  /** Length of a window in milliseconds, which begins with its first event. Default: a minute. */
  windowMs?: number;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
  /** Completes "too many …" of a refusal. */
  what?: string;
}

interface Window {
  readonly endsAt: number;
  count: number;
}

/** Reason of a refusal. */
export interface RateExceeded {
  retryAfterSeconds: number;
}

/**
 * Bounds events of each client network in a window of time. Counts on this replica only, and in bounded memory; limits that must hold
 * everywhere are counted in the cluster.
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

  /** Counts an event unless the limit is reached. */
  take(source: string): RateExceeded | undefined {
    const key = networkOf(source);
    const window = this.#windowOf(key) ?? { endsAt: this.#clock() + this.#windowMs, count: 0 };
    if (window.count >= this.#limit) return this.#exceeded(window);
    window.count += 1;
    this.#windows.set(key, window);
    return undefined;
  }

  /** Counts an event. @throws StatusError 429 if the limit is reached */
  require(source: string): void {
    this.refuse(this.take(source));
  }

  /** Checks for room without counting. @throws StatusError 429 */
  requireRoom(source: string): void {
    const window = this.#windowOf(networkOf(source));
    if (window !== undefined && window.count >= this.#limit) this.refuse(this.#exceeded(window));
  }

  /** Takes an event back. */
  giveBack(source: string): void {
    const window = this.#windowOf(networkOf(source));
    if (window !== undefined && window.count > 0) window.count -= 1;
  }

  /** Runs an attempt that was counted. Only a failure stays counted: an attempt that succeeds or throws is taken back. */
  async runCounted<R>(source: string, attempt: () => Promise<R>, isFailure: (result: R) => boolean): Promise<R> {
    let hasFailed = false;
    try {
      const result = await attempt();
      hasFailed = isFailure(result);
      return result;
    } finally {
      if (!hasFailed) this.giveBack(source);
    }
  }

  #windowOf(key: string): Window | undefined {
    const window = this.#windows.get(key);
    return window !== undefined && this.#clock() < window.endsAt ? window : undefined;
  }

  #exceeded({ endsAt }: Window): RateExceeded {
    return { retryAfterSeconds: wholeRetrySeconds(endsAt - this.#clock()) };
  }

  /** @throws StatusError 429 for an exceeded limit */
  refuse(exceeded: RateExceeded | undefined): void {
    if (exceeded === undefined) return;
    throw tooManyRequests(`too many ${this.#what} from this network, try again later`, exceeded.retryAfterSeconds);
  }
}
