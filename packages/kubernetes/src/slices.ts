import { setImmediate as nextTurn } from 'node:timers/promises';

/** Time for which work may block the event loop, in milliseconds. */
const defaultSliceMs = 5;

/** Splits long work into slices. The event loop turns between them, so that requests are served meanwhile. */
export class Slices {
  readonly #clock: () => number;
  readonly #sliceMs: number;
  readonly #maxPieces: number;
  #pieces = 0;
  #begunAt = Number.NEGATIVE_INFINITY;
  #turn: Promise<void> | undefined;

  /**
   * @param clock monotonic clock, in milliseconds
   * @param maxPieces ends a slice after so many pieces, however little time they took
   */
  constructor(clock: () => number = () => performance.now(), sliceMs = defaultSliceMs, maxPieces = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#sliceMs = sliceMs;
    this.#maxPieces = maxPieces;
  }

  /** Ends a piece of work. @returns a promise to await if the slice is over, otherwise undefined */
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
