import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long work may keep the event loop from everything else, in milliseconds. */
const defaultSliceMs = 5;

/** Cuts long work into slices. Between two of them the event loop turns, so that requests are answered meanwhile. */
export class Slices {
  readonly #clock: () => number;
  readonly #sliceMs: number;
  #begunAt = Number.NEGATIVE_INFINITY;
  #turn: Promise<void> | undefined;

  /** @param clock milliseconds that only ever grow */
  constructor(clock: () => number = () => performance.now(), sliceMs = defaultSliceMs) {
    this.#clock = clock;
    this.#sliceMs = sliceMs;
  }

  /** To be waited for between two pieces of work; undefined while the slice lasts. */
  end(): Promise<void> | undefined {
    if (this.#turn === undefined && this.#clock() - this.#begunAt < this.#sliceMs) return undefined;
    this.#turn ??= nextTurn().then(() => {
      this.#turn = undefined;
      this.#begunAt = this.#clock();
    });
    return this.#turn;
  }
}
