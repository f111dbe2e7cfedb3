import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import type { AuditStore } from '@atrium/audit-store/store.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Logger } from 'pino';
import { failureReason } from './remote-store.ts';

/** Events in one batch. */
const batchSize = 500;
/** Events that wait for the store: about 10 MB. */
const maxWaiting = 10_000;
const retryMs = 1_000;
/** Time that a stop gives the store for the events that wait. */
const handOverMs = 5_000;

interface IntakeOptions {
  store: AuditStore;
  metrics: Metrics;
  log: Logger;
}

/** Hands audit events to the store, in batches and in their order. While the store fails, a bounded number waits; others are counted as lost. */
export class AuditIntake {
  readonly #store: AuditStore;
  readonly #log: Logger;
  readonly #lost;
  #waiting: AuditEvent[] = [];
  #delivery: Promise<void> | undefined;
  readonly #stopped = new AbortController();
  #failure: string | undefined;

  constructor({ store, metrics, log }: IntakeOptions) {
    this.#store = store;
    this.#log = log;
    metrics.read({ name: 'atrium_audit_events_waiting', help: 'Audit events of this replica that the store does not have yet.' }, () => [
      [{}, this.#waiting.length],
    ]);
    this.#lost = metrics.counter({ name: 'atrium_audit_events_lost_total', help: 'Audit events that the store could not take in time.' });
  }

  /** Never throws, and never waits. */
  record(event: AuditEvent): void {
    if (this.#waiting.length >= maxWaiting) this.#lose(1);
    else this.#waiting.push(event);
    this.#delivery ??= this.#deliver().finally(() => {
      this.#delivery = undefined;
    });
  }

  /** Returns the reason why the store took no events at the last attempt, undefined if it took them. */
  readonly failure = (): string | undefined => this.#failure;

  /** Hands over what waits, for a bounded time. */
  async stop(): Promise<void> {
    const end = globalThis.setTimeout(() => this.#stopped.abort(), handOverMs);
    await this.#delivery;
    clearTimeout(end);
    if (this.#waiting.length > 0) this.#lose(this.#waiting.length);
  }

  async #deliver(): Promise<void> {
    let size = batchSize;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, size);
      try {
        await this.#store.append(batch);
        this.#waiting.splice(0, batch.length);
        size = batchSize;
        if (this.#failure !== undefined) this.#log.info({ waiting: this.#waiting.length }, 'audit store is available again');
        this.#failure = undefined;
      } catch (error) {
        if (isRefused(error)) {
          // Events that the store will never take must not keep the others waiting.
          if (batch.length === 1) this.#lose(this.#waiting.splice(0, 1).length, error);
          size = Math.ceil(batch.length / 2);
          continue;
        }
        // An outage is logged once, not at each attempt.
        if (this.#failure === undefined) this.#log.warn({ err: error, waiting: this.#waiting.length }, 'audit store is not available');
        this.#failure = failureReason(error);
        await sleep(retryMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
        if (this.#stopped.signal.aborted) return;
      }
    }
  }

  #lose(count: number, error?: unknown): void {
    this.#lost.inc(count);
    this.#log.error({ count, err: error }, 'audit events are lost');
  }
}

const isRefused = (error: unknown): boolean => error instanceof StatusError && error.status.code === 400;
