import { setTimeout as sleep } from 'node:timers/promises';
import { DueTimes } from './due-times.ts';
import { Slices } from './slices.ts';

/** A worker whose work has thrown rests so long: a server in trouble is not asked about thousands of keys as fast as it refuses. */
const restMs = 100;

/** `setTimeout` takes no more: a longer time would be over at once. */
const maxTimerMs = 2 ** 31 - 1;

/** A wall clock that is put, or that went on while the machine slept, is noticed so soon. */
const maxWallTimerMs = 60_000;

/**
 * What became of a key: nothing is left to do, or it is to be tried again with back-off, or looked at again after a time, or at one, in
 * milliseconds since 1970, by a wall clock that may be put; with `isRetried` it is tried again with back-off before.
 */
export type Outcome = 'done' | 'again' | { readonly requeueAfterMs: number } | { readonly requeueAt: number; readonly isRetried?: boolean };

export interface WorkQueueOptions {
  /** How many keys are worked on at one time. */
  workers: number;
  /** A key that comes is looked at after so long, with all that changes of it meanwhile. Default: at once. */
  delayMs?: number;
  /** Milliseconds before a failure is tried again, doubled with each in a row up to `maxRetryMs`. */
  minRetryMs?: number;
  maxRetryMs?: number;
  now: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

interface Work {
  reconcile(key: string): Promise<Outcome>;
  /** Told of what `reconcile` throws. */
  onFailure(key: string, error: unknown): void;
}

/**
 * Keys of what has to be looked at, each once, in the order in which they came; one that comes while it is being looked at is looked at
 * once more afterwards. What is to be looked at later costs memory and nothing else: there is one timer, whatever is due first.
 */
export class WorkQueue {
  readonly #workers: number;
  readonly #delayMs: number;
  readonly #minRetryMs: number;
  readonly #maxRetryMs: number;
  readonly #now: () => Date;
  readonly #clock: () => number;
  readonly #slices: Slices;
  readonly #ready = new Set<string>();
  readonly #busy = new Set<string>();
  /** How often in a row a key was to be tried again. */
  readonly #failures = new Map<string, number>();
  /** By the clock that only grows. */
  readonly #later = new DueTimes();
  /** Keys that wait for a time of `now`. */
  readonly #dated = new DueTimes();
  #resting: PromiseWithResolvers<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WorkQueueOptions) {
    const { workers, delayMs = 0, minRetryMs = 500, maxRetryMs = 30_000, now, clock = () => performance.now() } = options;
    this.#workers = workers;
    this.#delayMs = delayMs;
    this.#minRetryMs = minRetryMs;
    this.#maxRetryMs = maxRetryMs;
    this.#now = now;
    this.#clock = clock;
    this.#slices = new Slices(clock);
  }

  /** It has changed, or may have. */
  add(key: string): void {
    if (this.#ready.has(key)) return;
    const at = this.#clock() + this.#delayMs;
    if (at >= (this.#later.timeOf(key) ?? Number.POSITIVE_INFINITY)) return;
    this.#dated.delete(key);
    if (this.#delayMs > 0) this.#later.set(key, at);
    else this.#addAtOnce(key);
    if (this.#delayMs === 0 || this.#later.first?.key === key) this.#wake();
  }

  /** To be looked at as soon as a worker is free; the event loop turns meanwhile. Ends early when the signal aborts. */
  async addAll(keys: Iterable<string>, signal: AbortSignal): Promise<void> {
    for (const key of keys) {
      this.#addAtOnce(key);
      this.#wake();
      await this.#slices.end();
      if (signal.aborted) return;
    }
  }

  /** Works until the signal aborts, and then forgets all keys. */
  async run(work: Work, signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', this.#wake);
    await Promise.all(Array.from({ length: this.#workers }, () => this.#worker(work, signal)));
    signal.removeEventListener('abort', this.#wake);
    clearTimeout(this.#timer);
    this.#later.clear();
    this.#dated.clear();
    this.#ready.clear();
    this.#failures.clear();
  }

  async #worker(work: Work, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const key = this.#take();
      if (key === undefined) await this.#rest();
      else await this.#workOn(key, work, signal);
      await this.#slices.end();
    }
  }

  async #workOn(key: string, work: Work, signal: AbortSignal): Promise<void> {
    this.#busy.add(key);
    try {
      this.#settle(key, await work.reconcile(key));
    } catch (error) {
      if (signal.aborted) return;
      work.onFailure(key, error);
      this.#settle(key, 'again');
      await sleep(restMs, undefined, { signal, ref: false }).catch(() => undefined);
    } finally {
      this.#busy.delete(key);
    }
  }

  #settle(key: string, outcome: Outcome): void {
    const isRetried = outcome === 'again' || (typeof outcome === 'object' && 'requeueAt' in outcome && outcome.isRetried === true);
    if (!isRetried) this.#failures.delete(key);
    // It has changed meanwhile, and is looked at again anyway.
    if (this.#ready.has(key) || this.#later.timeOf(key) !== undefined || outcome === 'done') return;
    if (isRetried) this.#later.set(key, this.#clock() + this.#retryMs(key));
    if (outcome === 'again') return;
    if ('requeueAt' in outcome) this.#dated.set(key, outcome.requeueAt);
    else this.#later.set(key, this.#clock() + outcome.requeueAfterMs);
  }

  #retryMs(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.min(this.#maxRetryMs, this.#minRetryMs * 2 ** failures) * (0.8 + 0.4 * Math.random());
  }

  #addAtOnce(key: string): void {
    this.#later.delete(key);
    this.#dated.delete(key);
    this.#ready.add(key);
  }

  #take(): string | undefined {
    for (let due = this.#due(); due !== undefined && this.#ready.size < this.#workers; due = this.#due()) this.#addAtOnce(due);
    for (const key of this.#ready) {
      if (this.#busy.has(key)) continue;
      this.#ready.delete(key);
      return key;
    }
    return undefined;
  }

  #due(): string | undefined {
    const { first: later } = this.#later;
    if (later !== undefined && later.at <= this.#clock()) return later.key;
    const { first: dated } = this.#dated;
    return dated !== undefined && dated.at <= this.#now().getTime() ? dated.key : undefined;
  }

  /** Until there is something to take. All workers at rest have one timer. */
  #rest(): Promise<void> {
    this.#resting ??= Promise.withResolvers();
    clearTimeout(this.#timer);
    const waitMs = Math.min(
      (this.#later.first?.at ?? Number.POSITIVE_INFINITY) - this.#clock(),
      this.#dated.first === undefined ? Number.POSITIVE_INFINITY : Math.min(maxWallTimerMs, this.#dated.first.at - this.#now().getTime()),
    );
    if (waitMs < Number.POSITIVE_INFINITY)
      this.#timer = setTimeout(this.#wake, Math.min(maxTimerMs, Math.max(1, Math.ceil(waitMs)))).unref();
    return this.#resting.promise;
  }

  readonly #wake = (): void => {
    this.#resting?.resolve();
    this.#resting = undefined;
  };
}
