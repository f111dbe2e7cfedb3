import { tooManyRequests } from '@atrium/objects/status.ts';

interface ConcurrencyLimitOptions {
  /** Bound of one holder, such as a caller. */
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
  #refused = 0;

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options;
  }

  /** Number of refusals. */
  get refused(): number {
    return this.#refused;
  }

  /** @returns a function that ends it; further calls have no effect. @throws StatusError 429 */
  begin(holder: string): () => void {
    const { maxEach, maxInAll = Number.POSITIVE_INFINITY, reserve = { places: 0, maxEach }, what } = this.#options;
    const count = this.#each.get(holder) ?? 0;
    const max = this.#all < maxInAll - reserve.places ? maxEach : reserve.maxEach;
    if (count >= max || this.#all >= maxInAll) {
      this.#refused += 1;
      throw tooManyRequests(`too many ${what} are under way, try again`);
    }
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
