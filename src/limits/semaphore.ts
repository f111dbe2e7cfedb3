import { tooManyRequests } from '../api/status.ts';

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
