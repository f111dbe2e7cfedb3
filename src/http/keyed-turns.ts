import { type Bounds, Turns } from './turns.ts';

/** Turns of each by themselves: a caller who asks for much waits for their own, and keeps no others waiting. */
export class KeyedTurns {
  readonly #bounds: Bounds;
  /** Of those who are at it. */
  readonly #turns = new Map<string, { turns: Turns; count: number }>();

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** @throws as `Turns.run` does */
  async run<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const own = this.#turns.get(key) ?? { turns: new Turns(this.#bounds), count: 0 };
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
