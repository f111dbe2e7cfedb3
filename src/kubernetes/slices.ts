import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long work may keep the event loop from everything else, in milliseconds. */
const sliceMs = 5;

/** Cuts long work into slices. Between two of them the event loop turns, so that requests are answered meanwhile. */
export class Slices {
  readonly #clock: () => number;
  #begunAt = Number.NEGATIVE_INFINITY;
  #turn: Promise<void> | undefined;

  /** @param clock milliseconds that only ever grow */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** To be waited for between two pieces of work; undefined while the slice lasts. */
  end(): Promise<void> | undefined {
    if (this.#turn === undefined && this.#clock() - this.#begunAt < sliceMs) return undefined;
    this.#turn ??= nextTurn().then(() => {
      this.#turn = undefined;
      this.#begunAt = this.#clock();
    });
    return this.#turn;
  }
}
