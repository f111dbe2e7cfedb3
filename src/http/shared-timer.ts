/** Something that is due at a time. Kept by the one who waits, so that it can be taken back. */
export interface Due {
  /** Which step it stands in; of `Deadlines` alone. */
  step?: Set<Due> | undefined;
  due(): void;
}

const stepMs = 50;

/**
 * What is due at some time, looked at step by step by one timer: a timer for each request costs more than the rest of a small answer.
 * Nothing comes early; it may come one step late. Without anything to wait for there is no timer.
 */
export class Deadlines {
  readonly #steps = new Map<number, Set<Due>>();
  #timer: NodeJS.Timeout | undefined;
  /** The next one to be looked at. */
  #next = 0;

  /** Instead of any time that it had. */
  set(entry: Due, afterMs: number): void {
    this.clear(entry);
    const now = performance.now();
    const number = Math.ceil((now + afterMs) / stepMs);
    if (this.#timer === undefined) this.#begin(now);
    const step = this.#steps.get(number) ?? new Set();
    if (step.size === 0) this.#steps.set(number, step);
    step.add(entry);
    entry.step = step;
  }

  clear(entry: Due): void {
    entry.step?.delete(entry);
    entry.step = undefined;
  }

  #begin(now: number): void {
    this.#next = Math.floor(now / stepMs);
    this.#timer = setInterval(() => this.#look(), stepMs).unref();
  }

  #look(): void {
    const last = Math.floor(performance.now() / stepMs);
    for (; this.#next <= last; this.#next += 1) {
      const step = this.#steps.get(this.#next);
      if (step === undefined) continue;
      this.#steps.delete(this.#next);
      for (const entry of step) {
        entry.step = undefined;
        entry.due();
      }
    }
    if (this.#steps.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
