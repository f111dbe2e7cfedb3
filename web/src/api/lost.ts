/** Since when what is shown is not told of changes. */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { Problem } from './problem';

/** What is back by then was never lost to who looks on. */
const shownAfterMs = 5000;

/** A pause before what could not be read is read again. */
export const retryMs = ({ retryAfter = 0 }: Problem): number => Math.max(5000, retryAfter * 1000);

/** Refused, or switched off: asking again would not help. */
export const isFinal = ({ status }: Problem): boolean => status >= 400 && status < 500 && ![410, 429].includes(status);

/** A stream with such a problem is lost, and tried again. */
export const isTransient = (problem: Problem | undefined): boolean => problem !== undefined && !isFinal(problem);

/** A stream that can be lost, and comes back by itself. */
export class Lost {
  readonly #since = signal<Date>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Undefined while it is there. */
  get since(): ReadonlySignal<Date | undefined> {
    return this.#since;
  }

  set(isLost: boolean): void {
    if (isLost) this.begin();
    else this.end();
  }

  begin(): void {
    const at = new Date();
    this.#timer ??= setTimeout(() => {
      this.#since.value = at;
    }, shownAfterMs);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#since.value = undefined;
  }
}
