import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import type { AuditStore } from '@atrium/audit-store/store.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Logger } from 'pino';
import { failureReason } from './remote-store.ts';
import { type QueuedEvent, Spool, type SpoolOptions } from './spool.ts';
import { stubOf, wellFormed } from './storable-event.ts';

/** Events in one batch. */
const batchSize = 500;
/** Events that wait in memory for the store: about 10 MB. */
const maxWaiting = 10_000;
const retryMs = 1_000;
/** Bound of the wait of a write for the disk. */
const syncTimeoutMs = 5_000;
/** Interval after which a caller may try a refused write again. */
const eventRetrySeconds = 5;
/** Time that a stop gives the store for the events that wait. */
const handOverMs = 5_000;

interface IntakeOptions {
  store: AuditStore;
  /** Keeps events while the store does not have them. Without it they wait in memory alone. */
  spool?: Pick<SpoolOptions, 'directory' | 'maxBytes'> | undefined;
  /** Refuses writes whose events cannot be kept. */
  isRequired?: boolean;
  /** True if some writes are refused whose events cannot be kept. */
  isSometimesRequired?: boolean;
  metrics: Metrics;
  log: Logger;
  now: () => Date;
}

/** State of the delivery of the events of this replica. */
export interface DeliveryState {
  isRequired: boolean;
  /** True once the store has taken an event. */
  isTaken: boolean;
  /** Reason why the store took no events at the last attempt. */
  storeFailure: string | undefined;
  /** Reason why the spool takes no events. */
  spoolFailure: string | undefined;
  waiting: number;
  lost: number;
  /** Time of the last loss since the start of the process. */
  lastLost: Date | undefined;
}

/**
 * Hands audit events to the store, in batches and in their order. Until the store has them they are in the spool, and a bounded number in
 * memory; others are counted as lost.
 */
export class AuditIntake {
  readonly #store: AuditStore;
  readonly #spool: Spool | undefined;
  readonly #isRequired: boolean;
  readonly #log: Logger;
  readonly #lost;
  readonly #refused;
  #lostCount = 0;
  #lastLost: Date | undefined;
  #isTaken = false;
  readonly #now: () => Date;
  #waiting: QueuedEvent[] = [];
  #delivery: Promise<void> | undefined;
  readonly #stopped = new AbortController();
  #failure: string | undefined;
  #isSpoolFailing = false;

  constructor({ store, spool, isRequired = false, isSometimesRequired = isRequired, metrics, log, now }: IntakeOptions) {
    this.#now = now;
    this.#store = store;
    this.#isRequired = isRequired;
    this.#log = log;
    metrics.read({ name: 'atrium_audit_events_waiting', help: 'Audit events in memory that the store does not have yet.' }, () => [
      [{}, this.#waiting.length],
    ]);
    metrics.read({ name: 'atrium_audit_spool_bytes', help: 'Bytes of the audit events in the spool of this replica.' }, () => [
      [{}, this.#spool?.bytes ?? 0],
    ]);
    metrics.read({ name: 'atrium_audit_spool_failing', help: '1 while the spool of this replica takes no events, else 0.' }, () => [
      [{}, this.#spool?.failure === undefined ? 0 : 1],
    ]);
    this.#refused = metrics.counter({
      name: 'atrium_audit_writes_refused_total',
      help: 'Writes that were refused because events are required and theirs could not be kept.',
    });
    this.#lost = metrics.counter({
      name: 'atrium_audit_events_lost_total',
      help: 'Audit events that neither store nor spool could take. With a spool the number survives a restart of the container.',
    });
    if (spool === undefined) return;
    this.#spool = new Spool({
      ...spool,
      isDurable: isSometimesRequired,
      onOpen: ({ bytes, unknown, lost }) => {
        this.#lostCount += lost;
        this.#lost.inc(lost);
        if (bytes > 0) log.info({ bytes, unknown }, 'audit events of an earlier process are in the spool');
      },
      onDamage: (lines) => this.#lose(lines, { err: 'damaged lines in the spool' }),
    });
  }

  /** Sends what an earlier process has left in the spool. */
  start(): void {
    this.#spool?.open();
    this.#tellSpool();
    this.#send();
  }

  /**
   * Announces the event of a write. If the process ends before `record` or `end`, the event is kept with an unknown outcome. If events
   * are required, the call resolves when a power cut cannot take the announcement.
   *
   * @param bodyBytes bytes of a body that the event may have, too
   * @throws StatusError 503 if events are required and this one cannot be kept
   */
  async begin(event: AuditEvent, { isRequired = this.#isRequired, bodyBytes = 0 } = {}): Promise<void> {
    const isWritten = this.#spool?.begin(event, bodyBytes) === true;
    const isKept = !isRequired || (isWritten && (await this.#isSynced()));
    this.#tellSpool();
    if (isKept) return;
    this.end(event.auditID);
    this.#refused.inc();
    throw eventNotKept();
  }

  /** Ends the announcement of a write that has no event of that id. Never throws. */
  end(id: string): void {
    this.#spool?.end(id);
  }

  /** Never throws, and waits for no other process. */
  record(event: AuditEvent): void {
    const isFull = this.#waiting.length >= maxWaiting;
    const inMemory = !isFull && !this.#spool?.hasUnread;
    const segment = this.#spool?.add(event, { inMemory });
    // A failing spool must not cost an event for which memory has room.
    if (inMemory || (segment === undefined && !isFull)) this.#waiting.push({ event, segment });
    else if (segment === undefined && !this.#isAnnounced(event)) this.#lose(1);
    this.#tellSpool();
    this.#send();
  }

  /** Returns the reason why the store took no events at the last attempt, undefined if it took them. */
  readonly failure = (): string | undefined => this.#failure;

  /** Returns the reason why the spool takes no events, undefined if it does. */
  readonly spoolFailure = (): string | undefined =>
    this.#spool?.failure && `the spool ${this.#spool.failure}${this.#isRequired ? '; writes are refused' : ''}`;

  /** Returns the state of the delivery of this replica. */
  readonly state = (): DeliveryState => ({
    isRequired: this.#isRequired,
    isTaken: this.#isTaken,
    storeFailure: this.#failure,
    spoolFailure: this.#spool?.failure,
    waiting: this.#waiting.length,
    lost: this.#lostCount,
    lastLost: this.#lastLost,
  });

  /** Hands over what waits, for a bounded time. The next process sends what stays in the spool. */
  async stop(): Promise<void> {
    const end = globalThis.setTimeout(() => this.#stopped.abort(), handOverMs);
    while (this.#delivery) await this.#delivery;
    clearTimeout(end);
    const inMemory = this.#waiting.filter(({ event, segment }) => segment === undefined && !this.#isAnnounced(event)).length;
    if (inMemory > 0) this.#lose(inMemory);
    const bytes = this.#spool?.bytes ?? 0;
    if (bytes > 0) this.#log.warn({ bytes }, 'audit events are left in the spool');
    this.#spool?.close();
  }

  /** Reports whether the spool has the intent of an event, which the next process sends with an unknown outcome. */
  #isAnnounced({ auditID }: AuditEvent): boolean {
    return this.#spool?.hasIntent(auditID) === true;
  }

  #send(): void {
    this.#delivery ??= this.#deliver().finally(() => {
      this.#delivery = undefined;
      // An event may have come after the last look.
      const isMore = this.#waiting.length > 0 || this.#spool?.hasUnread;
      if (isMore && !this.#stopped.signal.aborted) this.#send();
    });
  }

  async #deliver(): Promise<void> {
    let size = batchSize;
    while (!this.#stopped.signal.aborted && this.#refill()) {
      const batch = this.#waiting.slice(0, size);
      try {
        await this.#append(batch.map(({ event }) => event));
        this.#remove(batch.length);
        this.#isTaken = true;
        size = batchSize;
        if (this.#failure !== undefined) this.#log.info({ waiting: this.#waiting.length }, 'audit store is available again');
        this.#failure = undefined;
      } catch (error) {
        if (isRefused(error)) {
          // Events that the store will never take must not keep the others waiting.
          const [first] = batch;
          if (first && batch.length === 1) {
            this.#remove(1);
            this.#lose(1, { err: error, event: stubOf(first.event) });
          }
          size = Math.ceil(batch.length / 2);
          continue;
        }
        // An outage is logged once, not at each attempt.
        if (this.#failure === undefined) this.#log.warn({ err: error, waiting: this.#waiting.length }, 'audit store is not available');
        this.#failure = failureReason(error);
        await sleep(retryMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
      }
    }
  }

  /** Hands events to the store. A single one that is refused goes without its details. @throws what the store throws */
  async #append(given: readonly AuditEvent[]): Promise<void> {
    const events = given.map(wellFormed);
    try {
      await this.#store.append(events);
    } catch (error) {
      const [first] = events;
      if (first === undefined || events.length > 1 || !isRefused(error)) throw error;
      const stub = stubOf(first);
      await this.#store.append([stub]);
      this.#log.warn({ err: error, event: stub }, 'audit event was stored without its details');
    }
  }

  /** Waits for the disk, for a bounded time. */
  async #isSynced(): Promise<boolean> {
    const over = new AbortController();
    const late = sleep(syncTimeoutMs, false, { signal: over.signal }).catch(() => false);
    const synced = this.#spool?.synced().then(
      () => true,
      () => false,
    );
    try {
      return (await Promise.race([synced, late])) === true;
    } finally {
      over.abort();
    }
  }

  /** Takes events that are in the spool alone into memory, once it has none. Returns whether there are any. */
  #refill(): boolean {
    while (this.#waiting.length === 0 && this.#spool?.hasUnread) this.#waiting = this.#spool.load();
    return this.#waiting.length > 0;
  }

  #remove(count: number): void {
    for (const sent of this.#waiting.splice(0, count)) this.#spool?.remove(sent);
  }

  /** Logs an outage of the spool once. */
  #tellSpool(): void {
    const failure = this.#spool?.failure;
    if ((failure !== undefined) === this.#isSpoolFailing) return;
    this.#isSpoolFailing = failure !== undefined;
    if (failure === undefined) this.#log.info('audit spool is available again');
    else this.#log.error({ reason: failure }, 'audit spool is not available');
  }

  #lose(count: number, details: { err?: unknown; event?: AuditEvent } = {}): void {
    this.#lostCount += count;
    this.#lastLost = this.#now();
    this.#lost.inc(count);
    this.#spool?.keepLost(this.#lostCount);
    this.#log.error({ count, ...details }, 'audit events are lost');
  }
}

function eventNotKept(): StatusError {
  const message =
    'this installation requires an audit event for each write, and none can be kept now: nothing was changed, try again later';
  const details = { causes: [{ reason: 'AuditNotAvailable', message }], retryAfterSeconds: eventRetrySeconds };
  return new StatusError(503, 'ServiceUnavailable', message, { details });
}

const isRefused = (error: unknown): boolean => error instanceof StatusError && error.status.code === 400;
