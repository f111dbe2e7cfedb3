/** A work queue of keys, like the one of client-go: each key is worked on once, at the earliest time that was asked for. */
export class WorkQueue {
  readonly #reconcile: (key: string) => void;
  readonly #timers = new Map<string, { timer: NodeJS.Timeout; at: number }>();
  #isStopped = false;

  constructor(reconcile: (key: string) => void) {
    this.#reconcile = reconcile;
  }

  add(key: string, afterMs = 0): void {
    const at = Date.now() + afterMs;
    const queued = this.#timers.get(key);
    if (this.#isStopped || (queued && queued.at <= at)) return;
    clearTimeout(queued?.timer);
    this.#timers.set(key, { at, timer: setTimeout(() => this.#work(key), afterMs) });
  }

  #work(key: string): void {
    this.#timers.delete(key);
    this.#reconcile(key);
  }

  stop(): void {
    this.#isStopped = true;
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
