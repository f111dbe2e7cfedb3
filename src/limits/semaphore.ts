import { tooManyRequests } from '../api/status.ts';

interface ConcurrencyLimitOptions {
  /** Bound of one holder, such as a plugin or a caller. */
  maxEach: number;
  maxInAll?: number;
  /** The last places of `maxInAll`, for holders of fewer than `maxEach` places. */
  reserve?: { places: number; maxEach: number };
  /** Completes "too many … are under way". */
  what: string;
}

/** Bounds the requests of each holder, so that one holder leaves room for the others. */
export class ConcurrencyLimit {
  readonly #options: ConcurrencyLimitOptions;
  readonly #each = new Map<string, number>();
  #all = 0;

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options;
  }

  /** @returns a function that ends it; further calls have no effect. @throws StatusError 429 */
  begin(holder: string): () => void {
    const { maxEach, maxInAll = Number.POSITIVE_INFINITY, reserve = { places: 0, maxEach }, what } = this.#options;
    const count = this.#each.get(holder) ?? 0;
    const max = this.#all < maxInAll - reserve.places ? maxEach : reserve.maxEach;
    if (count >= max || this.#all >= maxInAll) throw tooManyRequests(`too many ${what} are under way, try again`);
    this.#each.set(holder, count + 1);
    this.#all += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#each.get(holder) ?? 1) - 1;
      if (left === 0) this.#each.delete(holder);
      else this.#each.set(holder, left);
      this.#all -= 1;
    };
  }
}

export interface Bounds {
  /** Bound of running work. */
  atOnce: number;
  /** Bound of waiting work. */
  maxWaiting: number;
  /** Completes "too many …" of a refusal. */
  what: string;
}

/** Runs a bounded number of tasks at a time, queues a bounded number, and refuses more. */
export class Semaphore {
  readonly #bounds: Bounds;
  /** First in, first out. */
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /**
   * @param signal ends the wait, not the work
   * @throws StatusError 429 when too many wait already; the signal's reason; whatever `work` throws
   */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#running < this.#bounds.atOnce) this.#running += 1;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      this.#handOver();
    }
  }

  /** Hands its place to the next in the queue, so that no later task takes it first. */
  #handOver(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }

  async #turn(signal: AbortSignal | undefined): Promise<void> {
    const { maxWaiting, what } = this.#bounds;
    signal?.throwIfAborted();
    if (this.#waiting.size >= maxWaiting) throw tooManyRequests(`too many ${what}, try again`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    const leave = () => {
      if (this.#waiting.delete(resolve)) reject(signal?.reason);
    };
    signal?.addEventListener('abort', leave, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }
}

/** A semaphore for each key: a caller with many requests waits, and keeps no other caller waiting. */
export class KeyedSemaphore {
  readonly #bounds: Bounds;
  /** Semaphores in use. */
  readonly #turns = new Map<string, { turns: Semaphore; count: number }>();

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** @throws as `Semaphore.run` does */
  async run<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const own = this.#turns.get(key) ?? { turns: new Semaphore(this.#bounds), count: 0 };
    this.#turns.set(key, own);
    own.count += 1;
    try {
      return await own.turns.run(work, signal);
    } finally {
      own.count -= 1;
      if (own.count === 0) this.#turns.delete(key);
    }
  }
}

/**
 * Calls `act` with each item, at most `limit` calls concurrently.
 *
 * @returns the results in the order of the items
 * @throws the first failure; the calls for the other items continue
 */
export async function mapLimit<T, R>(limit: number, items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  const left = items.entries();
  const worker = async () => {
    for (const [index, item] of left) results[index] = await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}
