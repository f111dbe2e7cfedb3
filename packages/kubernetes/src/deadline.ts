/** Bound of the wait of a request until the watch of this replica shows a write. */
export const seenWithinMs = 2_000;

/** Bound of the wait of a request for a first list in progress. */
export const listedWithinMs = 2_000;

/** Bound of the wait of a request for an unknown object, which another replica may have just created. */
export const madeWithinMs = 500;

/**
 * Number of the timers that the time is split into. A process that was suspended loses one of them, and still receives events that arrived
 * meanwhile.
 */
const pieces = 8;

/**
 * Waits until a condition on watched objects is true, at most for that time or until the signal aborts. Does not throw in either case.
 *
 * @param isTrue called now and after every change
 * @param onChange registers a listener for changes, and returns a function that removes it
 * @returns whether the condition is true
 */
export async function until(
  isTrue: () => boolean,
  onChange: (listener: () => void) => () => unknown,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (isTrue()) return true;
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  // An error of the condition must not keep other listeners from the change.
  const forget = onChange(() => {
    try {
      if (isTrue()) resolve(true);
    } catch (error) {
      reject(error);
    }
  });
  const leave = () => resolve(false);
  let left = pieces;
  const timer = setTimeout(
    () => {
      left -= 1;
      if (left > 0) timer.refresh();
      else leave();
    },
    Math.ceil(timeoutMs / pieces),
  );
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave);
  try {
    return await promise;
  } finally {
    forget();
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  }
}

/** Signal for work that continues when its caller disconnects. Each call of such work has its own deadline. */
export const neverAborts: AbortSignal = new AbortController().signal;

/**
 * Waits for work that continues by itself, or that is slow to notice the signal.
 *
 * @throws the reason of the signal if it aborts first; the result of the work is then dropped
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: gone, reject } = Promise.withResolvers<never>();
  const leave = () => reject(signal.reason);
  signal.addEventListener('abort', leave);
  try {
    signal.throwIfAborted();
    return await Promise.race([work, gone]);
  } finally {
    signal.removeEventListener('abort', leave);
    work.catch(() => undefined);
  }
}

/** Aborts when the outer signal does, or when the time has passed before `release` or `end`. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
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

  /**
   * Waits for work that is slow to notice the signal.
   *
   * @param isKept true for work that the outer signal no longer aborts
   * @throws the reason of the signal if it aborts first
   */
  limit<T>(work: Promise<T>, isKept: boolean): Promise<T> {
    if (isKept) this.#leaveOuter();
    return abortable(work, this.signal);
  }

  #leaveOuter(): void {
    this.#outer.removeEventListener('abort', this.#abort);
  }

  /** Releases the timer and the outer signal. */
  end(): void {
    this.release();
    this.#leaveOuter();
  }
}
