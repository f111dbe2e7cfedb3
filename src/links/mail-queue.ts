import { Semaphore } from '../http/semaphore.ts';
import type { Services } from '../services.ts';

const turns = { atOnce: 4, maxWaiting: 100, what: 'mails are waiting' };

/** Mail goes by itself: no request waits for a mail server. */
export class MailQueue {
  readonly #log: Services['log'];
  readonly #turns = new Semaphore(turns);
  readonly #stopping = new AbortController();

  constructor({ log }: Services) {
    this.#log = log;
  }

  stop(): void {
    this.#stopping.abort(new Error('the service stops'));
  }

  /** Tells the log what has failed. @throws StatusError 429 while too many wait */
  run(what: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    return this.#turns.run(
      () =>
        work(signal).catch((error: unknown) => {
          if (!signal.aborted) this.#log.warn({ err: error }, `${what} was not sent`);
        }),
      signal,
    );
  }
}
