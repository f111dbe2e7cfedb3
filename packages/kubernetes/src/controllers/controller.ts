import { setTimeout as sleep } from 'node:timers/promises';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { controllerMetrics } from './controller-metrics.ts';
import { LeaderElector, type LeaderElectorOptions } from './leader-elector.ts';
import { backlogFrom, type Outcome, WorkQueue, type WorkQueueOptions } from './work-queue.ts';

/** Pause before a failed controller starts again. */
const restartMs = 5_000;

/** A source of keys. */
export interface Source {
  /** Calls back with each key that may have to be reconciled. @returns a function that removes the callback */
  onChange(enqueue: (key: string) => void): () => unknown;
  /** Resolves when the objects are known. @throws the reason of the signal if it aborts before */
  whenSynced(signal: AbortSignal): Promise<unknown>;
  /** Returns all current keys. Undefined if another source has them. */
  keys?(): Iterable<string>;
}

/** Work of a replica while it is the leader. */
export interface Term {
  sources: readonly Source[];
  /**
   * Brings the observed state of the key to the desired state. Calls for the same key do not overlap.
   *
   * @param signal aborts when the replica is no longer the leader; the call must end soon after
   */
  reconcile(key: string, signal: AbortSignal): Promise<Outcome>;
  /** Receives errors of `reconcile`. The key is retried with back-off. */
  onFailure(key: string, error: unknown): void;
  /** Called and awaited at the end of the term. */
  end?(): Promise<unknown>;
}

/** Services that a controller needs. */
type ControllerServices = Pick<LeaderElectorOptions, 'client' | 'namespace' | 'log' | 'now' | 'clock'> & { metrics: Metrics };

interface ControllerSettings extends Omit<WorkQueueOptions, 'now' | 'clock'> {
  /** Name of the Lease. */
  name: string;
  /** Time in seconds after which a leader that does not renew the Lease is replaced. */
  durationSeconds?: number;
  /** Called when this replica becomes the leader. */
  begin(signal: AbortSignal): Term;
}

/**
 * Reconciles keys on one replica at a time. The holder of a Lease reconciles every key once, and then those that change and those whose
 * time has come.
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

  /** Ends the term if this replica is the leader, and releases the Lease. */
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
        log.error({ lease: name, err: error }, 'controller failed, restarting');
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
    const metrics = controllerMetrics(this.#services.metrics, this.#settings.name.replace(/^atrium-/, ''));
    const { clock = () => performance.now() } = this.#services;
    const report = (fields: Step) => this.#services.log.info({ lease: this.#settings.name, ...fields }, 'reconciling a backlog');
    const progress = new Progress(report, clock);
    const endReport = metrics.reportQueue({ depth: () => queue.depth, done: () => progress.done });
    const forget = sources.map((source) => source.onChange((key) => queue.add(key)));
    const work = {
      async reconcile(key: string) {
        const end = metrics.begin();
        try {
          return await term.reconcile(key, signal);
        } finally {
          end();
          progress.step(queue.depth);
        }
      },
      onFailure(key: string, error: unknown) {
        metrics.countFailure();
        term.onFailure(key, error);
      },
    };
    try {
      await Promise.all(sources.map((source) => source.whenSynced(signal)));
      await Promise.all([queue.run(work, signal), ...sources.map((source) => queue.addAll(source.keys?.() ?? [], signal))]);
    } finally {
      failed.abort(new Error('the controller ends'));
      for (const end of forget) end();
      endReport();
      await term.end?.();
    }
  }
}

const stepPercent = 10;
/** Time from which a backlog is reported: a new leader examines all objects in less, if there is nothing to write. */
const reportedFromMs = 5_000;

interface Step {
  percent: number;
  done: number;
  waiting: number;
}

/** Counts how far a backlog is, and reports it in steps of ten percent. */
export class Progress {
  readonly #report: (step: Step) => void;
  readonly #clock: () => number;
  #backlog: { readonly begunAt: number; done: number; nextPercent: number } | undefined;

  /** @param clock monotonic, in milliseconds */
  constructor(report: (step: Step) => void, clock: () => number) {
    this.#report = report;
    this.#clock = clock;
  }

  /** Number of reconciliations in the present backlog, 0 without one. */
  get done(): number {
    return this.#backlog?.done ?? 0;
  }

  /** Counts a reconciliation. @param waiting keys that wait after it */
  step(waiting: number): void {
    if (this.#backlog === undefined && waiting < backlogFrom) return;
    this.#backlog ??= { begunAt: this.#clock(), done: 0, nextPercent: 0 };
    const backlog = this.#backlog;
    backlog.done += 1;
    if (waiting === 0) this.#backlog = undefined;
    if (this.#clock() - backlog.begunAt < reportedFromMs) return;
    const percent = Math.floor((100 * backlog.done) / (backlog.done + waiting));
    if (percent < backlog.nextPercent) return;
    this.#report({ percent, done: backlog.done, waiting });
    backlog.nextPercent = percent - (percent % stepPercent) + stepPercent;
  }
}
