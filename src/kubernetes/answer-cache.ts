import { LRUCache } from 'lru-cache';
import { atMost } from '../http/bound.ts';
import type { Metrics } from '../http/metrics.ts';
import { abortable } from './abortable.ts';

export interface AnswerCacheOptions<T> {
  /** Label of the metrics. */
  name: string;
  /** The least recently used answers go first. */
  maxEntries: number;
  /** How many entries an answer counts as. Default: one; an answer of more than `maxEntries` is not kept. */
  sizeOf?: (answer: T) => number;
  /** How long an answer may be given again; 0 for not at all. */
  lifetimeMs: (answer: T) => number;
  metrics: Metrics;
  /** Milliseconds that only ever grow: a clock set back must not prolong an answer. */
  clock?: () => number;
}

interface Question<T> {
  readonly answer: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
  isAnswered: boolean;
}

/** Answers of the API server, kept for moments. Equal questions in flight are asked once. Failures are not kept. */
export class AnswerCache<T> {
  readonly #answers: LRUCache<string, { answer: T; until: number }>;
  readonly #questions = new Map<string, Question<T>>();
  readonly #lifetimeMs: (answer: T) => number;
  readonly #clock: () => number;

  constructor({ name, maxEntries, sizeOf, lifetimeMs, metrics, clock = () => performance.now() }: AnswerCacheOptions<T>) {
    this.#answers = new LRUCache({ ...atMost(maxEntries), ...(sizeOf && { sizeCalculation: ({ answer }) => sizeOf(answer) }) });
    this.#lifetimeMs = lifetimeMs;
    this.#clock = clock;
    metrics.cache(() => ({ name, entries: this.#answers.size }));
  }

  /**
   * The kept answer, or that of a question under way, or a new one. A caller who goes away fails no other caller; the question is given up when no caller waits for it any more.
   *
   * @throws whatever `ask` throws; the signal's reason when it aborts
   */
  async get(key: string, signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const kept = this.kept(key);
    if (kept !== undefined) return kept;
    return this.#wait(this.#questions.get(key) ?? this.#ask(key, ask), signal);
  }

  /** The answer, if there is one that may be given again. */
  kept(key: string): T | undefined {
    const kept = this.#answers.get(key);
    return kept !== undefined && this.#clock() < kept.until ? kept.answer : undefined;
  }

  /** Forgets one answer. */
  forget(key: string): void {
    this.#answers.delete(key);
  }

  /** Forgets every answer, and those to come of questions that were asked before. */
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
