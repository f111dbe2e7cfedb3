import { atMostBytes } from '@atrium/http/limits/bounded-cache.ts';
import { reportCache } from '@atrium/http/limits/reports.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { LRUCache } from 'lru-cache';
import { abortable } from './deadline.ts';

export interface AnswerCacheOptions<T> {
  /** Label in the metrics. */
  name: string;
  /** Bound of all answers with their keys. The least recently used answers are evicted first, and a larger one is not cached. */
  maxBytes: number;
  /** Returns the bytes of an answer at most. */
  bytesOf: (answer: T) => number;
  /** Lifetime of an answer in milliseconds; 0 to not cache it. */
  lifetimeMs: (answer: T) => number;
  metrics: Metrics;
  /** Monotonic clock in milliseconds, because a clock that is set back must not prolong an answer. */
  clock?: () => number;
}

interface Question<T> {
  readonly answer: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
  isAnswered: boolean;
}

/** Caches answers of the API server for a short time. Equal concurrent questions share one call. Failures are not cached. */
export class AnswerCache<T> {
  readonly #answers: LRUCache<string, { answer: T; until: number }>;
  readonly #questions = new Map<string, Question<T>>();
  readonly #lifetimeMs: (answer: T) => number;
  readonly #clock: () => number;

  constructor({ name, maxBytes, bytesOf, lifetimeMs, metrics, clock = () => performance.now() }: AnswerCacheOptions<T>) {
    this.#answers = new LRUCache(atMostBytes<{ answer: T; until: number }>(maxBytes, ({ answer }) => bytesOf(answer)));
    this.#lifetimeMs = lifetimeMs;
    this.#clock = clock;
    reportCache(metrics, name, () => this.#answers.size);
  }

  /**
   * Returns the cached answer, or that of a call in progress, or of a new call. A caller that aborts fails no other caller; the call is
   * aborted when no caller waits for it.
   *
   * @throws the error of `ask`; the reason of the signal if it aborts
   */
  async get(key: string, signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const kept = this.kept(key);
    if (kept !== undefined) return kept;
    return this.#wait(this.#questions.get(key) ?? this.#ask(key, ask), signal);
  }

  /** Returns the cached answer, undefined if it does not exist or has expired. */
  kept(key: string): T | undefined {
    const kept = this.#answers.get(key);
    return kept !== undefined && this.#clock() < kept.until ? kept.answer : undefined;
  }

  /** Drops one answer. */
  forget(key: string): void {
    this.#answers.delete(key);
  }

  /** Drops all answers. Answers of calls in progress are not cached. */
  clear(): void {
    this.#answers.clear();
    this.#questions.clear();
  }

  #ask(key: string, ask: (signal: AbortSignal) => Promise<T>): Question<T> {
    const controller = new AbortController();
    const askedAt = this.#clock();
    const question: Question<T> = { answer: ask(controller.signal), controller, waiting: 0, isAnswered: false };
    this.#questions.set(key, question);
    const isCurrent = () => this.#questions.get(key) === question;
    question.answer.then(
      (answer) => {
        question.isAnswered = true;
        if (!isCurrent()) return;
        this.#questions.delete(key);
        const until = askedAt + this.#lifetimeMs(answer);
        if (until > this.#clock()) this.#answers.set(key, { answer, until });
      },
      () => {
        if (isCurrent()) this.#questions.delete(key);
      },
    );
    controller.signal.addEventListener('abort', () => {
      if (isCurrent()) this.#questions.delete(key);
    });
    return question;
  }

  async #wait(question: Question<T>, signal: AbortSignal): Promise<T> {
    question.waiting += 1;
    try {
      return await abortable(question.answer, signal);
    } finally {
      question.waiting -= 1;
      if (question.waiting === 0 && !question.isAnswered) question.controller.abort();
    }
  }
}
