import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable } from 'node:stream';
import { tooManyRequests } from '@atrium/objects/status.ts';

/** Flow of a request: its client network, and the person once the credential is known. */
export interface RequestFlow {
  key: string;
  isPerson?: true;
}

/** Makes a request one of a person. */
export function joinPerson(flow: RequestFlow, key: string): void {
  flow.key = key;
  flow.isPerson = true;
}

const current = new AsyncLocalStorage<RequestFlow>();

/** Runs the work of a request as part of its flow. */
export const runInFlow = <T>(flow: RequestFlow, work: () => T): T => current.run(flow, work);

/** Runs work for several requests, so that it does not wait for the places of one of them. */
export const runOutsideFlows = <T>(work: () => T): T => current.exit(work);

/** Returns the flow of the current request, an object of its own; undefined for work of the service itself. */
export const currentRequest = (): RequestFlow | undefined => current.getStore();

/** Returns the key of the current flow, undefined for work of the service itself. */
export const currentFlow = (): string | undefined => current.getStore()?.key;

export interface Bounds {
  /** Bound of running work. */
  atOnce: number;
  /** Bound of the running work of one flow. Work of the service itself has no such bound. Default: `atOnce`. */
  ofFlow?: number;
  /** Bound of running and waiting work of one flow. Default: none but `maxWaiting`. */
  maxOfFlow?: number;
  /** Bound of waiting work. */
  maxWaiting: number;
  /** Completes "too many …" of a refusal. */
  what: string;
  /** Returns another refusal than 429. */
  refusal?: () => Error;
}

interface Waiter {
  begin(): void;
  refuse(error: Error): void;
}

/** Work of one flow. */
interface Share {
  running: number;
  /** First in, first out. */
  readonly waiting: Set<Waiter>;
}

/** Key of the work of the service itself. */
const service = '';

/**
 * Runs a bounded number of tasks at a time, queues a bounded number, and refuses more. Flows take turns, so that a flow with
 * many tasks delays no other flow. Once the queue is full, the flow with most waiting tasks is refused.
 */
export class Semaphore {
  readonly #bounds: Bounds;
  readonly #shares = new Map<string, Share>();
  /** Flows with waiting tasks, the next one first. */
  readonly #turns = new Map<string, Share>();
  #running = 0;
  #waiting = 0;
  #refused = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Number of refused tasks. */
  get refused(): number {
    return this.#refused;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /**
   * @param signal ends the wait, not the work
   * @throws StatusError 429 (or the other refusal) when too many wait already; the signal's reason; whatever `work` throws
   */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const key = currentFlow() ?? service;
    const turn = this.enter(key, () => signal);
    if (turn !== undefined) await turn;
    try {
      return await work();
    } finally {
      this.leave(key);
    }
  }

  /**
   * Holds a place from the beginning of a call until its answer is read.
   *
   * @param call receives the request that it is made for; undefined for work of the service itself
   * @param bodyOf returns the body of the answer
   * @throws as `run` does
   */
  async hold<T>(call: (request?: RequestFlow) => Promise<T>, bodyOf: (answer: T) => Readable, signal: AbortSignal): Promise<T> {
    const request = currentRequest();
    const key = request?.key ?? service;
    const turn = this.enter(key, () => signal);
    if (turn !== undefined) await turn;
    try {
      const answer = await call(request);
      bodyOf(answer).once('close', () => this.leave(key));
      return answer;
    } catch (error) {
      this.leave(key);
      throw error;
    }
  }

  /**
   * Takes a place, which `leave` gives back.
   *
   * @param signalOf is called only if there is a wait
   * @returns undefined if the place is taken at once
   * @throws StatusError 429, the signal's reason
   */
  enter(key: string, signalOf: () => AbortSignal | undefined): Promise<void> | undefined {
    const { atOnce, maxOfFlow = Number.POSITIVE_INFINITY } = this.#bounds;
    const share = this.#shares.get(key) ?? { running: 0, waiting: new Set() };
    if (this.#running < atOnce && share.running < this.#boundOf(key)) {
      this.#begin(key, share);
      return undefined;
    }
    if (share.running + share.waiting.size >= maxOfFlow) throw this.#refusal();
    return this.#wait(key, share, signalOf());
  }

  /** Gives a place back, to the next flow that waits. */
  leave(key: string): void {
    const share = this.#shares.get(key);
    if (share === undefined) return;
    share.running -= 1;
    this.#running -= 1;
    this.#forgetIdle(key, share);
    for (const [next, waiting] of this.#turns) {
      if (waiting.running >= this.#boundOf(next)) continue;
      const [waiter] = waiting.waiting;
      if (waiter === undefined) continue;
      this.#remove(next, waiting, waiter);
      // The flow goes to the end of the line.
      if (this.#turns.delete(next)) this.#turns.set(next, waiting);
      this.#begin(next, waiting);
      waiter.begin();
      return;
    }
  }

  #begin(key: string, share: Share): void {
    this.#shares.set(key, share);
    share.running += 1;
    this.#running += 1;
  }

  #boundOf(key: string): number {
    const { atOnce, ofFlow = atOnce } = this.#bounds;
    return key === service ? atOnce : ofFlow;
  }

  async #wait(key: string, share: Share, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#waiting >= this.#bounds.maxWaiting) this.#makeRoom(share);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { begin: resolve, refuse: reject };
    this.#shares.set(key, share);
    this.#turns.set(key, share);
    share.waiting.add(waiter);
    this.#waiting += 1;
    const abort = () => {
      if (this.#remove(key, share, waiter)) reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Refuses the last task of the flow with most waiting tasks. @throws StatusError 429 if that is the flow that asks */
  #makeRoom(asking: Share): void {
    let longest: [string, Share] | undefined;
    for (const entry of this.#turns) if (entry[1].waiting.size > (longest?.[1].waiting.size ?? asking.waiting.size)) longest = entry;
    const last = [...(longest?.[1].waiting ?? [])].at(-1);
    if (longest === undefined || last === undefined) throw this.#refusal();
    this.#remove(...longest, last);
    last.refuse(this.#refusal());
  }

  #remove(key: string, share: Share, waiter: Waiter): boolean {
    if (!share.waiting.delete(waiter)) return false;
    this.#waiting -= 1;
    if (share.waiting.size === 0) this.#turns.delete(key);
    this.#forgetIdle(key, share);
    return true;
  }

  #forgetIdle(key: string, share: Share): void {
    if (share.running === 0 && share.waiting.size === 0) this.#shares.delete(key);
  }

  #refusal(): Error {
    const { what, refusal } = this.#bounds;
    this.#refused += 1;
    return refusal?.() ?? tooManyRequests(`too many ${what}, try again`);
  }
}

/** A semaphore for each key: a caller with many requests waits, and keeps no other caller waiting. */
export class KeyedSemaphore {
  readonly #bounds: Bounds;
  /** Semaphores in use. */
  readonly #turns = new Map<string, { turns: Semaphore; count: number }>();
  /** Refused tasks of semaphores that are no longer in use. */
  #refusedBefore = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  get refused(): number {
    return this.#refusedBefore + this.#sum(({ refused }) => refused);
  }

  get running(): number {
    return this.#sum(({ running }) => running);
  }

  get waiting(): number {
    return this.#sum(({ waiting }) => waiting);
  }

  /** @throws as `Semaphore.run` does */
  async run<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { turns, leave } = this.#use(key);
    try {
      return await turns.run(work, signal);
    } finally {
      leave();
    }
  }

  /** @throws as `Semaphore.hold` does */
  async hold<T>(key: string, call: () => Promise<T>, bodyOf: (answer: T) => Readable, signal: AbortSignal): Promise<T> {
    const { turns, leave } = this.#use(key);
    try {
      const answer = await turns.hold(call, bodyOf, signal);
      bodyOf(answer).once('close', leave);
      return answer;
    } catch (error) {
      leave();
      throw error;
    }
  }

  #sum(count: (turns: Semaphore) => number): number {
    return [...this.#turns.values()].reduce((sum, { turns }) => sum + count(turns), 0);
  }

  #use(key: string): { turns: Semaphore; leave(): void } {
    const own = this.#turns.get(key) ?? { turns: new Semaphore(this.#bounds), count: 0 };
    this.#turns.set(key, own);
    own.count += 1;
    const leave = () => {
      own.count -= 1;
      if (own.count > 0) return;
      this.#turns.delete(key);
      this.#refusedBefore += own.turns.refused;
    };
    return { turns: own.turns, leave };
  }
}

/**
 * Calls `act` with each item, at most `limit` calls concurrently.
 *
 * @returns the results in the order of the items
 * @throws the first failure; the calls for the other items continue
 */
export async function mapLimit<T, R>(limit: number, items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  const left = items.entries();
  const worker = async () => {
    for (const [index, item] of left) results[index] = await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}
