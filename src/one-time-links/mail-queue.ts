import { Semaphore } from '../limits/semaphore.ts';
import type { Services } from '../services.ts';

const turns = { atOnce: 4, maxWaiting: 100, what: 'mails are waiting' };

/** Sends mail in the background. No request waits for a mail server. */
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

  /** Runs the work in its turn, and logs its failure. @throws StatusError 429 while the queue is full */
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
