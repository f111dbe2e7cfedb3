import { tooManyRequests } from '../api/status.ts';

export interface Bounds {
  /** How many run at one time. */
  atOnce: number;
  /** How many may wait. */
  maxWaiting: number;
  /** What there are too many of, for a refusal. */
  what: string;
}

/** Lets a few pieces of work run at one time, some wait for their turn, and refuses more. */
export class Semaphore {
  readonly #bounds: Bounds;
  /** In the order in which they came. */
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

  /** A turn is handed over, so that no later one takes it first. */
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
