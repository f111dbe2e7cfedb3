import { tooManyRequests } from '../http/status.ts';

export interface Bounds {
  /** How many run at one time. */
  atOnce: number;
  /** How many may wait. */
  maxWaiting: number;
}

/** Lets a few pieces of work run at one time, some wait for their turn, and refuses more. */
export class Turns {
  readonly #atOnce: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor({ atOnce, maxWaiting }: Bounds) {
    this.#atOnce = atOnce;
    this.#maxWaiting = maxWaiting;
  }

  /** @throws StatusError 429 when too many wait already; whatever `work` throws */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running += 1;
    else await this.#turn();
    try {
      return await work();
    } finally {
      // A turn is handed over, so that nobody who comes later takes it first.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#maxWaiting) throw tooManyRequests('too many passwords are being checked, try again');
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
