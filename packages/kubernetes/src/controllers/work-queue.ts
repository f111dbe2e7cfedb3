import { setTimeout as sleep } from 'node:timers/promises';
import { Slices } from '../slices.ts';
import { DueTimes } from './due-times.ts';

/** Pause of a worker after an error, so that a failing server does not receive thousands of calls as fast as it refuses them. */
const restMs = 100;

/** Work that took less has sent no call, such as that of the users that a new leader examines without a change. */
const leastCallMs = 1;

/** Number of waiting background keys from which they are a backlog. */
export const backlogFrom = 100;

/** Bound of `setTimeout`, which fires at once for a longer time. */
const maxTimerMs = 2 ** 31 - 1;

/** Bound of a wait for a wall clock time, so that a clock that was set, or that advanced while the machine slept, is noticed. */
const maxWallTimerMs = 60_000;

/**
 * Result of a key: done, or to be retried with back-off, or requeued after a time or at a wall clock time, in milliseconds since 1970. With
 * `isRetried`, it is also retried with back-off before that time. The wall clock may be set.
 */
export type Outcome = 'done' | 'again' | { readonly requeueAfterMs: number } | { readonly requeueAt: number; readonly isRetried?: boolean };

export interface WorkQueueOptions {
  /** Bound of the keys that are reconciled concurrently. */
  workers: number;
  /** Delay of an added key, which gathers further changes. Default: none. */
  delayMs?: number;
  /** Milliseconds before a retry, doubled with each consecutive failure up to `maxRetryMs`. */
  minRetryMs?: number;
  maxRetryMs?: number;
  /**
   * Recognizes keys of background work, which let other keys pass. A backlog of them gets one worker and half of its time, so that callers
   * keep their share of the API server. Default: none.
   */
  isBackground?: (key: string) => boolean;
  now: () => Date;
  /** Monotonic clock, in milliseconds. */
  clock?: () => number;
}

interface Work {
  reconcile(key: string): Promise<Outcome>;
  /** Receives errors of `reconcile`. */
  onFailure(key: string, error: unknown): void;
}

/**
 * Keys to reconcile, each once, in the order in which they were added. A key that is added while it is being reconciled is reconciled once
 * more afterwards. Delayed keys cost only memory: one timer waits for the first of them.
 */
export class WorkQueue {
  readonly #workers: number;
  readonly #delayMs: number;
  readonly #minRetryMs: number;
  readonly #maxRetryMs: number;
  readonly #now: () => Date;
  readonly #clock: () => number;
  readonly #slices: Slices;
  readonly #isBackground: (key: string) => boolean;
  readonly #ready = new Set<string>();
  readonly #background = new Set<string>();
  #backgroundRuns = 0;
  readonly #busy = new Set<string>();
  /** Number of consecutive retries of a key. */
  readonly #failures = new Map<string, number>();
  /** Delayed keys, by the monotonic clock. */
  readonly #later = new DueTimes();
  /** Delayed keys, by the wall clock `now`. */
  readonly #dated = new DueTimes();
  #resting: PromiseWithResolvers<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WorkQueueOptions) {
    const { workers, delayMs = 0, minRetryMs = 500, maxRetryMs = 30_000, isBackground = () => false } = options;
    const { now, clock = () => performance.now() } = options;
    this.#workers = workers;
    this.#delayMs = delayMs;
    this.#minRetryMs = minRetryMs;
    this.#maxRetryMs = maxRetryMs;
    this.#isBackground = isBackground;
    this.#now = now;
    this.#clock = clock;
    this.#slices = new Slices(clock);
  }

  /** Keys that wait for a worker, without those that are delayed. */
  get depth(): number {
    return this.#ready.size + this.#background.size;
  }

  /** Adds a key that has changed, or may have. */
  add(key: string): void {
    if (this.#isReady(key)) return;
    const at = this.#clock() + this.#delayMs;
    if (at >= (this.#later.timeOf(key) ?? Number.POSITIVE_INFINITY)) return;
    this.#dated.delete(key);
    if (this.#delayMs > 0) this.#later.set(key, at);
    else this.#addAtOnce(key);
    if (this.#delayMs === 0 || this.#later.first?.key === key) this.#wake();
  }

  /** Adds keys without delay. The event loop turns meanwhile. Ends early when the signal aborts. */
  async addAll(keys: Iterable<string>, signal: AbortSignal): Promise<void> {
    for (const key of keys) {
      this.#addAtOnce(key);
      this.#wake();
      await this.#slices.end();
      if (signal.aborted) return;
    }
  }

  /** Reconciles keys until the signal aborts, and then drops all keys. */
  async run(work: Work, signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', this.#wake);
    await Promise.all(Array.from({ length: this.#workers }, () => this.#worker(work, signal)));
    signal.removeEventListener('abort', this.#wake);
    clearTimeout(this.#timer);
    this.#later.clear();
    this.#dated.clear();
    this.#ready.clear();
    this.#background.clear();
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
    const isBackground = this.#isBackground(key);
    const begunAt = this.#clock();
    this.#busy.add(key);
    if (isBackground) this.#backgroundRuns += 1;
    try {
      this.#settle(key, await work.reconcile(key));
    } catch (error) {
      if (signal.aborted) return;
      work.onFailure(key, error);
      this.#settle(key, 'again');
      await sleep(restMs, undefined, { signal, ref: false }).catch(() => undefined);
    } finally {
      this.#busy.delete(key);
      if (isBackground) await this.#yieldToCallers(this.#clock() - begunAt, signal);
    }
  }

  /** Rests for as long as the work took, which is longer the busier the API server is. */
  async #yieldToCallers(workedMs: number, signal: AbortSignal): Promise<void> {
    if (workedMs >= leastCallMs && this.#background.size >= backlogFrom)
      await sleep(Math.ceil(workedMs), undefined, { signal, ref: false }).catch(() => undefined);
    this.#backgroundRuns -= 1;
    // Other workers rest during a backlog, and continue at its end.
    this.#wake();
  }

  #settle(key: string, outcome: Outcome): void {
    const isRetried = outcome === 'again' || (typeof outcome === 'object' && 'requeueAt' in outcome && outcome.isRetried === true);
    if (!isRetried) this.#failures.delete(key);
    // A key that was added meanwhile is reconciled again anyway.
    if (this.#isReady(key) || this.#later.timeOf(key) !== undefined || outcome === 'done') return;
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
    (this.#isBackground(key) ? this.#background : this.#ready).add(key);
  }

  #isReady(key: string): boolean {
    return this.#ready.has(key) || this.#background.has(key);
  }

  #take(): string | undefined {
    for (let due = this.#due(); due !== undefined && this.#hasRoomFor(due); due = this.#due()) this.#addAtOnce(due);
    const mayYield = this.#background.size >= backlogFrom && this.#backgroundRuns > 0;
    return this.#takeFrom(this.#ready) ?? (mayYield ? undefined : this.#takeFrom(this.#background));
  }

  /** Due keys stay where they are while enough others are ready. */
  #hasRoomFor(key: string): boolean {
    return (this.#isBackground(key) ? this.#background : this.#ready).size < this.#workers;
  }

  #takeFrom(keys: Set<string>): string | undefined {
    for (const key of keys) {
      if (this.#busy.has(key)) continue;
      keys.delete(key);
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

  /** Waits for a key. All idle workers share one timer. */
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
