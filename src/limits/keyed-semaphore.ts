import { type Bounds, Semaphore } from './semaphore.ts';

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
