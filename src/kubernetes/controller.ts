import { setTimeout as sleep } from 'node:timers/promises';
import { LeaderElector, type LeaderElectorOptions } from './leader-elector.ts';
import { type Outcome, WorkQueue, type WorkQueueOptions } from './work-queue.ts';

/** Before a controller that failed begins again. */
const restartMs = 5_000;

/** What a controller follows. */
export interface Source {
  /** Tells of every key that may have to be reconciled. @returns a function that ends it */
  onChange(enqueue: (key: string) => void): () => unknown;
  /** Resolves when what is followed is known. @throws the signal's reason when it aborts before */
  whenSynced(signal: AbortSignal): Promise<unknown>;
  /** All keys as they are then; left out where another source has them. */
  keys?(): Iterable<string>;
}

/** What a replica does while it is the leader. */
export interface Term {
  sources: readonly Source[];
  /**
   * Makes what is observed of the key what it is to be. It is not called for the same key twice at one time.
   *
   * @param signal aborts when the replica is the leader no more: it ends soon after
   */
  reconcile(key: string, signal: AbortSignal): Promise<Outcome>;
  /** Told of what `reconcile` throws. It is tried again with back-off. */
  onFailure(key: string, error: unknown): void;
  /** Awaited at the end of the term. */
  end?(): Promise<unknown>;
}

/** What a controller needs of the wiring. */
type ControllerServices = Pick<LeaderElectorOptions, 'client' | 'namespace' | 'log' | 'now' | 'clock'>;

interface ControllerSettings extends Omit<WorkQueueOptions, 'now' | 'clock'> {
  /** Of the Lease. */
  name: string;
  /** How long a leader that is not heard of stays one, in seconds. */
  durationSeconds?: number;
  /** Called when this replica becomes the leader. */
  begin(signal: AbortSignal): Term;
}

/**
 * Reconciles keys, one replica at a time: the holder of a Lease looks at every key once, and from then on at those that change and those
 * whose time has come.
 */
export class Controller {
  readonly #services: ControllerServices;
  readonly #settings: ControllerSettings;
  readonly #lease: LeaderElector;

  constructor(services: ControllerServices, settings: ControllerSettings) {
    this.#services = services;
    this.#settings = settings;
    this.#lease = new LeaderElector({ ...services, ...settings });
  }

  start(): void {
    this.#lease.start((signal) => this.#lead(signal));
  }

  /** Ends the term, if this replica is the leader, and lets another one be it. */
  stop(): Promise<void> {
    return this.#lease.stop();
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { log } = this.#services;
    const { name } = this.#settings;
    log.info({ lease: name }, 'elected leader');
    while (!signal.aborted) {
      try {
        await this.#serve(signal);
      } catch (error) {
        if (signal.aborted) return;
        log.error({ lease: name, err: error }, 'the controller failed and begins again');
        await sleep(restartMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }

  async #serve(lost: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const signal = AbortSignal.any([lost, failed.signal]);
    const queue = new WorkQueue({ ...this.#services, ...this.#settings });
    const term = this.#settings.begin(signal);
    const { sources } = term;
    const forget = sources.map((source) => source.onChange((key) => queue.add(key)));
    const work = {
      reconcile: (key: string) => term.reconcile(key, signal),
      onFailure: (key: string, error: unknown) => term.onFailure(key, error),
    };
    try {
      await Promise.all(sources.map((source) => source.whenSynced(signal)));
      await Promise.all([queue.run(work, signal), ...sources.map((source) => queue.addAll(source.keys?.() ?? [], signal))]);
    } finally {
      failed.abort(new Error('the controller ends'));
      for (const end of forget) end();
      await term.end?.();
    }
  }
}
