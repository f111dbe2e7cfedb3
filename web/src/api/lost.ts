/** Time since which the shown data receives no changes. */
import { type ReadonlySignal, signal } from '@preact/signals';

interface Failure {
  readonly status: number;
  /** '' for an answer that is no Status. */
  readonly reason: string;
}

/** Shorter interruptions are not shown. */
const shownAfterMs = 5000;

/**
 * Reports whether a problem is a refusal or a disabled feature: a retry would not help. The plain text for an unknown path is neither.
 */
export const isFinal = ({ status, reason }: Failure): boolean =>
  reason !== '' && status >= 400 && status < 500 && ![410, 429].includes(status);

/** Reports whether a stream with such a problem is lost and retried. */
export const isTransient = (problem: Failure | undefined): boolean => problem !== undefined && !isFinal(problem);

/** Stream that can be lost, and comes back by itself. */
export class Lost {
  readonly #since = signal<Date>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Undefined while the stream is open. */
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
