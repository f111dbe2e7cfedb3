import { randomNumbers } from '../../support/random-numbers.ts';

/** Random choices that are the same for the same seed. */
export class Chance {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = randomNumbers(seed);
    // The first numbers of neighbouring seeds are alike.
    for (let skipped = 0; skipped < 16; skipped += 1) this.#random();
  }

  /** Returns a number from 0 to 1. */
  number(): number {
    return this.#random();
  }

  isOnce(chance: number): boolean {
    return this.#random() < chance;
  }

  oneOf<T>(of: readonly T[]): T {
    const one = of[Math.floor(this.#random() * of.length)];
    if (one === undefined) throw new Error('nothing to choose from');
    return one;
  }

  /** Picks a choice with a probability in proportion to its weight. */
  weighted<T>(choices: readonly (readonly [number, () => T])[]): T {
    let left = this.#random() * choices.reduce((sum, [weight]) => sum + weight, 0);
    const chosen = choices.find(([weight]) => {
      left -= weight;
      return left < 0;
    });
    if (chosen === undefined) throw new Error('nothing to choose from');
    return chosen[1]();
  }
}
