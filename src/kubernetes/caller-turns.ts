import type { Bearer, Identity } from '../http/operation.ts';
import { type Bounds, Turns } from '../http/turns.ts';

/** Turns of each caller by themselves: a caller who asks much waits for their own, and keeps no other waiting. */
export class CallerTurns {
  readonly #bounds: Bounds;
  /** Of those who are at it. */
  readonly #turns = new Map<string, { turns: Turns; count: number }>();

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** @throws as `Turns.run` does */
  async run<T>(caller: Bearer, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const key = keyOf(caller);
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

/** The name, where it is known: many tokens of one person are one caller. */
function keyOf(caller: Bearer & { identity?: Identity }): string {
  const { name } = caller.identity ?? caller.actAs ?? {};
  return name === undefined ? `token ${caller.hash}` : `name ${name}`;
}
