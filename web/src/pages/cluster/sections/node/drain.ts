import { type Signal, signal } from '@preact/signals';
import type { Pod } from '../pod/pod-shape.ts';

export interface Progress {
  state: 'waiting' | 'evicting' | 'blocked' | 'leaving' | 'gone' | 'failed' | 'cancelled';
  /** The API server's words: of a PodDisruptionBudget, or of a failure. */
  message?: string;
}

/** The members of a Problem that decide on a retry; a timeout has no status. */
interface Failure {
  status?: number;
  message: string;
  /** Reports whether the API server states that the pod does not exist. */
  isGone?(name: string): boolean;
  /** Seconds. */
  retryAfter?: number;
}

interface DrainCalls {
  /** Resolves once the API server has accepted the eviction. */
  evict: (pod: Pod, signal: AbortSignal) => Promise<void>;
  /** Returns whether no pod of this UID exists. */
  isGone: (pod: Pod, signal: AbortSignal) => Promise<boolean>;
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** kubectl retries a refused eviction after five seconds and looks for a pod each second. */
const [retryMs, lookMs] = [5000, 1000];
const atOnce = 5;

/** Evicts pods and follows each until it is gone. */
export class Drain {
  readonly progress: Signal<ReadonlyMap<string, Progress>>;
  readonly isRunning: Signal<boolean> = signal(false);
  readonly #pods: readonly Pod[];
  readonly #calls: DrainCalls;
  readonly #stop = new AbortController();

  constructor(pods: readonly Pod[], calls: DrainCalls) {
    this.#pods = pods;
    this.#calls = calls;
    this.progress = signal(new Map(pods.map(({ metadata }) => [metadata.uid ?? '', { state: 'waiting' as const }])));
  }

  get isCancelled(): boolean {
    return this.#stop.signal.aborted;
  }

  cancel(): void {
    this.#stop.abort();
  }

  /** @returns whether each pod is gone */
  async run(): Promise<boolean> {
    this.isRunning.value = true;
    const queue = [...this.#pods];
    const next = async (): Promise<void> => {
      for (let pod = queue.shift(); pod !== undefined; pod = queue.shift()) await this.#remove(pod);
    };
    await Promise.all(Array.from({ length: atOnce }, next));
    this.isRunning.value = false;
    return [...this.progress.value.values()].every(({ state }) => state === 'gone');
  }

  async #remove(pod: Pod): Promise<void> {
    const { signal: stopped } = this.#stop;
    try {
      stopped.throwIfAborted();
      if (await this.#evict(pod)) await this.#await(pod);
      this.#set(pod, { state: 'gone' });
    } catch (error) {
      this.#set(pod, stopped.aborted ? { state: 'cancelled' } : { state: 'failed', message: (error as Failure).message });
    }
  }

  /** @returns false if the pod is gone already */
  async #evict(pod: Pod): Promise<boolean> {
    this.#set(pod, { state: 'evicting' });
    for (;;) {
      try {
        await this.#calls.evict(pod, this.#stop.signal);
        return true;
      } catch (error) {
        const failure = error as Failure;
        const { status, message, retryAfter } = failure;
        // 409: another pod has this name by now, or the budget was just updated.
        if (failure.isGone?.(pod.metadata.name) || (status === 409 && (await this.#calls.isGone(pod, this.#stop.signal)))) return false;
        if (this.#stop.signal.aborted || (status !== 429 && status !== 409)) throw error;
        this.#set(pod, { state: 'blocked', message });
        await this.#calls.pause(retryAfter ? Math.min(retryAfter * 1000, 60_000) : retryMs, this.#stop.signal);
      }
    }
  }

  async #await(pod: Pod): Promise<void> {
    this.#set(pod, { state: 'leaving' });
    while (!(await this.#calls.isGone(pod, this.#stop.signal))) await this.#calls.pause(lookMs, this.#stop.signal);
  }

  #set({ metadata }: Pod, progress: Progress): void {
    this.progress.value = new Map(this.progress.value).set(metadata.uid ?? '', progress);
  }
}
