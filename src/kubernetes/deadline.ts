/** Aborts when the outer signal does, or when the time has passed before `release` or `end`. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #endsAt: number;
  #hasPassed = false;

  constructor(outer: AbortSignal, ms: number) {
    this.#outer = outer;
    this.#endsAt = performance.now() + ms;
    this.#timer = setTimeout(() => {
      this.#hasPassed = true;
      this.#controller.abort(new DOMException('the deadline has passed', 'TimeoutError'));
    }, ms);
    if (outer.aborted) this.#abort();
    else outer.addEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => this.#controller.abort(this.#outer.reason);

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Reports whether the time has passed before the outer signal aborted. */
  get hasPassed(): boolean {
    return this.#hasPassed;
  }

  get leftMs(): number {
    return this.#endsAt - performance.now();
  }

  /** Stops the timer. From then on, only the outer signal aborts. */
  release(): void {
    clearTimeout(this.#timer);
  }

  /** Releases the timer and the outer signal. */
  end(): void {
    this.release();
    this.#outer.removeEventListener('abort', this.#abort);
  }
}
