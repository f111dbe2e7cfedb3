import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long work may keep the event loop from everything else, in milliseconds. */
const defaultSliceMs = 5;

/** Cuts long work into slices. Between two of them the event loop turns, so that requests are answered meanwhile. */
export class Slices {
  readonly #clock: () => number;
  readonly #sliceMs: number;
  readonly #maxPieces: number;
  #pieces = 0;
  #begunAt = Number.NEGATIVE_INFINITY;
  #turn: Promise<void> | undefined;

  /**
   * @param clock milliseconds that only ever grow
   * @param maxPieces ends a slice however little time it took
   */
  constructor(clock: () => number = () => performance.now(), sliceMs = defaultSliceMs, maxPieces = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#sliceMs = sliceMs;
    this.#maxPieces = maxPieces;
  }

  /** To be waited for between two pieces of work; undefined while the slice lasts. */
  end(): Promise<void> | undefined {
    this.#pieces += 1;
    if (this.#turn === undefined && this.#pieces < this.#maxPieces && this.#clock() - this.#begunAt < this.#sliceMs) return undefined;
    this.#turn ??= nextTurn().then(() => {
      this.#turn = undefined;
      this.#pieces = 0;
      this.#begunAt = this.#clock();
    });
    return this.#turn;
  }
}
