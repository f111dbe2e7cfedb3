import { setTimeout as sleep } from 'node:timers/promises';
import { runOutsideTraces } from '@atrium/http/telemetry/tracing.ts';
import { isNotInstalled, watchRefusal } from '@atrium/kubernetes/own-account.ts';
import type { Logger } from 'pino';
import { samplesIn } from './measurements.ts';
import type { Absence, Measured } from './schema.ts';
import { pointCount, pointMs, type Sample, TooManySeries, UsageRing } from './usage-ring.ts';

const kinds: readonly Measured[] = ['nodes', 'pods'];

/** Longest pause after failures, in minutes. */
const maxPauses = 8;
/** Time after the beginning of a minute in which replicas measure. */
const spreadMs = 5_000;

export interface UsagePollParts {
  /** False without `console.metrics.lastHour`: nothing is measured. Default: true. */
  isKept?: boolean;
  measure(resource: Measured, signal: AbortSignal): Promise<Sample[]>;
  log: Logger;
  now: () => Date;
  /** Returns a reader of lists of metrics at earlier times, by which the hour before the start is filled: the demo knows them. */
  earlier?: () => Promise<(resource: Measured, at: Date) => unknown>;
  /** Resolves after the time in milliseconds, or when the signal aborts. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Measures pods and nodes each minute, one after the other, and keeps the last hour in the memory of this replica. */
export class UsagePoll {
  readonly #parts: UsagePollParts;
  readonly rings: Readonly<Record<Measured, UsageRing>> = { pods: new UsageRing(), nodes: new UsageRing() };
  readonly isKept: boolean;
  readonly #absences: Record<Measured, Absence | undefined>;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #failures = 0;

  constructor(parts: UsagePollParts) {
    this.#parts = parts;
    this.isKept = parts.isKept ?? true;
    const first = this.isKept ? 'NotMeasuredYet' : 'NotKept';
    this.#absences = { pods: first, nodes: first };
  }

  start(): void {
    if (this.#running !== undefined || !this.isKept) return;
    this.#running = runOutsideTraces(() => this.#repeat(this.#stopping.signal));
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    await this.#running;
  }

  /** Returns the cause by which the last measurement failed, undefined if it succeeded. */
  absence(resource: Measured): Absence | undefined {
    return this.#absences[resource];
  }

  async #repeat(signal: AbortSignal): Promise<void> {
    const { pause = pauseFor } = this.#parts;
    await this.#fillEarlier();
    while (!signal.aborted) {
      await this.#measureAll(signal);
      await pause(this.#pauseMs(), signal);
    }
  }

  /** Returns the time to the next minute, and after failures longer. Replicas ask at different times. */
  #pauseMs(): number {
    const minutes = Math.min(maxPauses, 2 ** Math.max(0, this.#failures - 1));
    return minutes * pointMs - (this.#parts.now().getTime() % pointMs) + spreadMs * (0.1 + 0.9 * Math.random());
  }

  async #measureAll(signal: AbortSignal): Promise<void> {
    const { log, measure, now } = this.#parts;
    let isComplete = true;
    for (const resource of kinds) {
      try {
        this.rings[resource].add(now(), await measure(resource, signal));
        this.#absences[resource] = undefined;
      } catch (error) {
        if (signal.aborted) return;
        isComplete = false;
        const why = absenceOf(error);
        if (this.#absences[resource] !== why) log.warn({ resource, reason: why, err: error }, 'usage was not measured');
        this.#absences[resource] = why;
      }
    }
    this.#failures = isComplete ? 0 : this.#failures + 1;
  }

  async #fillEarlier(): Promise<void> {
    const { earlier, now } = this.#parts;
    if (earlier === undefined) return;
    const listAt = await earlier();
    const end = now().getTime();
    for (let at = end - (pointCount - 1) * pointMs; at < end; at += pointMs)
      for (const resource of kinds) this.rings[resource].add(new Date(at), samplesIn(listAt(resource, new Date(at)), resource));
  }
}

const pauseFor = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);

function absenceOf(error: unknown): Absence {
  if (error instanceof TooManySeries) return 'TooMany';
  if (isNotInstalled(error)) return 'NotInstalled';
  return watchRefusal(error) === undefined ? 'Unavailable' : 'RightsMissing';
}
