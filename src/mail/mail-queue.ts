/** Mail that is sent in the background. No request waits for a mail server. */

import { reportPlaces } from '@atrium/http/limits/reports.ts';
import { Semaphore } from '@atrium/http/limits/semaphore.ts';
import { WorkQueue } from '@atrium/kubernetes/controllers/work-queue.ts';
import type { Services } from '../services.ts';
import { attemptsAfter, type Mail, mailAttemptsAtMs, sendMail } from './mailer.ts';

/** Mail that is written for each attempt, so that its text is true when it is sent. */
export interface Letter {
  /** Subject of log lines. */
  readonly what: string;
  /** Returns the mail, undefined if it is no longer true. @throws Error if that is unknown */
  write(): Promise<Mail | undefined>;
  /** Called once: the mail server has taken the mail, or will not get it. */
  onSettled?(isSent: boolean): void;
}

interface Retry {
  readonly letter: Letter;
  readonly firstAt: number;
  attempts: number;
}

const turns = { atOnce: 4, ofFlow: 2, maxWaiting: 100, what: 'mails are waiting' };
const retryWorkers = 2;
/** Bound of the letters that wait for another attempt. */
const maxRetries = 1000;

/** Sends letters. After temporary failures it tries again for an hour; letters that still wait at the stop of the replica are lost. */
export class MailQueue {
  readonly #services: Services;
  readonly #turns = new Semaphore(turns);
  readonly #stopping = new AbortController();
  readonly #retries: WorkQueue;
  readonly #waiting = new Map<string, Retry>();
  #count = 0;

  constructor(services: Services) {
    const { signal } = this.#stopping;
    this.#services = services;
    reportPlaces(services.metrics, 'mail', this.#turns);
    this.#retries = new WorkQueue({ workers: retryWorkers, now: services.now, clock: services.clock });
    const work = { reconcile: (key: string) => this.#retry(key, signal), onFailure: () => undefined };
    void this.#retries.run(work, signal);
  }

  stop(): void {
    this.#stopping.abort(new Error('the service stops'));
    for (const { letter } of this.#waiting.values()) this.#giveUp(letter, this.#stopping.signal.reason);
    this.#waiting.clear();
  }

  /** Runs work before a letter in its turn, and logs its failure. @throws StatusError 429 while the queue is full */
  run(what: string, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    return this.#turns.run(
      () =>
        work().catch((error: unknown) => {
          if (!signal.aborted) this.#services.log.warn({ err: error }, `${what} was not sent`);
        }),
      signal,
    );
  }

  /** Makes the first attempt. Further ones follow in the background. Never throws. */
  async send(letter: Letter): Promise<void> {
    const retry = { letter, attempts: 0, firstAt: this.#services.now().getTime() };
    if ((await this.#attempt(retry)) === undefined) return;
    const { signal } = this.#stopping;
    if (this.#waiting.size >= maxRetries || signal.aborted) return this.#giveUp(letter, signal.reason ?? new Error('too many mails wait'));
    this.#count += 1;
    const key = String(this.#count);
    this.#waiting.set(key, retry);
    this.#retries.add(key);
  }

  async #retry(key: string, signal: AbortSignal) {
    const retry = this.#waiting.get(key);
    if (retry === undefined) return 'done';
    const dueAt = retry.firstAt + (mailAttemptsAtMs[retry.attempts] ?? 0);
    if (this.#services.now().getTime() < dueAt) return { requeueAt: dueAt };
    const next = await this.#attempt(retry);
    if (next !== undefined && !signal.aborted) return { requeueAt: next };
    this.#waiting.delete(key);
    return 'done';
  }

  /** @returns the time of the next attempt, undefined if there is none */
  async #attempt(retry: Retry): Promise<number | undefined> {
    const { letter, firstAt } = retry;
    const { signal } = this.#stopping;
    const { config, log } = this.#services;
    retry.attempts += 1;
    let isWritten = false;
    try {
      const mail = await letter.write();
      isWritten = true;
      if (mail !== undefined) await sendMail(config, mail, signal);
      else log.info(`${letter.what} is no longer true, and is not sent`);
      letter.onSettled?.(mail !== undefined);
      return undefined;
    } catch (error) {
      // A letter that cannot be written waits for the API server.
      const nextMs =
        retry.attempts < (isWritten ? attemptsAfter(error) : mailAttemptsAtMs.length) ? mailAttemptsAtMs[retry.attempts] : undefined;
      if (nextMs === undefined || signal.aborted) this.#giveUp(letter, error);
      else log.info({ err: error }, `${letter.what} was not taken by the mail server, retrying`);
      return nextMs === undefined || signal.aborted ? undefined : firstAt + nextMs;
    }
  }

  #giveUp(letter: Letter, error: unknown): void {
    this.#services.log.warn({ err: error }, `${letter.what} was not sent`);
    letter.onSettled?.(false);
  }
}
