export interface WorkQueueOptions {
  /** How many are worked on at one time. */
  atOnce: number;
  /** Milliseconds before a failure is tried again; doubled with each in a row up to the second. */
  minRetryMs?: number;
  maxRetryMs?: number;
}

type Work = (name: string) => Promise<'done' | 'again'>;

/**
 * Names of what has to be looked at, each once, in the order in which they came; one that comes while it is being looked at is looked
 * at again afterwards. It holds no more than there are names.
 */
export class WorkQueue {
  readonly #options: Required<WorkQueueOptions>;
  readonly #ready = new Set<string>();
  readonly #delayed = new Map<string, { timer: NodeJS.Timeout; at: number }>();
  readonly #busy = new Set<string>();
  readonly #failures = new Map<string, number>();
  #woken = Promise.withResolvers<void>();

  constructor(options: WorkQueueOptions) {
    this.#options = { minRetryMs: 500, maxRetryMs: 60_000, ...options };
  }

  add(name: string): void {
    this.#undelay(name);
    this.#ready.add(name);
    this.#wake();
  }

  /** Sooner if it was to be looked at sooner anyway. */
  addAfter(name: string, delayMs: number): void {
    if (this.#ready.has(name)) return;
    const at = performance.now() + delayMs;
    const known = this.#delayed.get(name);
    if (known !== undefined && known.at <= at) return;
    this.#undelay(name);
    this.#delayed.set(name, { at, timer: setTimeout(() => this.add(name), delayMs).unref() });
  }

  /**
   * Looks at what comes until the signal aborts.
   *
   * @param work what it is not done with ('again'), or throws, is tried again later
   * @param onFailure told of what it throws
   */
  async run(work: Work, onFailure: (name: string, error: unknown) => void, signal: AbortSignal): Promise<void> {
    const wake = () => this.#wake();
    signal.addEventListener('abort', wake);
    const worker = async () => {
      while (!signal.aborted) {
        const name = this.#take();
        if (name === undefined) await this.#woken.promise;
        else await this.#work(name, work, onFailure, signal);
      }
    };
    await Promise.all(Array.from({ length: this.#options.atOnce }, worker));
    signal.removeEventListener('abort', wake);
    for (const name of [...this.#delayed.keys()]) this.#undelay(name);
    this.#ready.clear();
    this.#failures.clear();
  }

  async #work(name: string, work: Work, onFailure: (name: string, error: unknown) => void, signal: AbortSignal): Promise<void> {
    try {
      if ((await work(name)) === 'done') this.#failures.delete(name);
      else if (!signal.aborted) this.addAfter(name, this.#retryMs(name));
    } catch (error) {
      if (!signal.aborted) {
        onFailure(name, error);
        this.addAfter(name, this.#retryMs(name));
      }
    } finally {
      this.#busy.delete(name);
      this.#wake();
    }
  }

  #retryMs(name: string): number {
    const { minRetryMs, maxRetryMs } = this.#options;
    const failures = this.#failures.get(name) ?? 0;
    this.#failures.set(name, failures + 1);
    return Math.min(maxRetryMs, minRetryMs * 2 ** failures) * (0.8 + 0.4 * Math.random());
  }

  #take(): string | undefined {
    for (const name of this.#ready) {
      if (this.#busy.has(name)) continue;
      this.#ready.delete(name);
      this.#busy.add(name);
      return name;
    }
    return undefined;
  }

  #undelay(name: string): void {
    clearTimeout(this.#delayed.get(name)?.timer);
    this.#delayed.delete(name);
  }

  #wake(): void {
    this.#woken.resolve();
    this.#woken = Promise.withResolvers();
  }
}
