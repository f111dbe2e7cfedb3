import type { AuditEvent } from '@atrium/audit-store/event.ts';
import type { ExpiredRecording, RecordingDatabase } from '@atrium/audit-store/recording.ts';
import type { AuditDatabase, AuditRetention, ExpiredEvents, Proposal, RemovableEvents, StoreUsage } from '@atrium/audit-store/store.ts';
import type { Counter, Metrics } from '@atrium/http/telemetry/metrics.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import type { Logger } from 'pino';
import type { AuditName } from '../audit/audit-events.ts';
import type { Config } from '../config/schema.ts';

interface RetentionOptions {
  store: AuditDatabase;
  recordings: Pick<RecordingDatabase, 'expired' | 'delete'>;
  retention: Config['auditStore']['retention'];
  /** Client whose clock decides about ages. */
  client: Pick<ServiceClient, 'serverClock'>;
  metrics: Metrics;
  log: Logger;
}

/** Part of the bound from which a store is nearly full. */
const nearlyFull = 0.9;
/** Time for the event of a door to arrive after that of the API server. */
const joinMs = 120_000;

/**
 * Removes expired events from a store once a signed checkpoint that is kept outside allows it: without it the removal would be taken for a
 * gap. An event tells of each removal. Slices are removed one by one, and the store takes and answers other calls between them.
 */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #removed: Counter;
  /** Bytes of the database at the last look. */
  #bytes: number | undefined;
  #sweeping: Promise<void> | undefined;
  #isStopping = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#removed = options.metrics.counter({
      name: 'atrium_audit_store_removed_total',
      help: 'Events that the audit store removed, by age, number or size.',
    });
    const { maxSize } = options.retention;
    options.metrics.read({ name: 'atrium_audit_store_bytes', help: 'Bytes of the events in the file of the audit store.' }, () =>
      this.#bytes === undefined ? [] : [[{}, this.#bytes]],
    );
    options.metrics.read({ name: 'atrium_audit_store_max_bytes', help: 'Bound of the bytes of the events, if there is one.' }, () =>
      maxSize === undefined ? [] : [[{}, maxSize]],
    );
  }

  /** Takes the numbers of kept checkpoints, and proposes further ones. A sweep begins, unless one runs. */
  readonly propose = async (kept: readonly number[], removable?: RemovableEvents): Promise<Proposal> => {
    const { store } = this.#options;
    await store.settle(joinMs);
    this.#bytes = await store.bytes();
    const proposal = await store.propose(kept, this.#bounds());
    if (!this.#isStopping)
      this.#sweeping ??= this.#sweep(removable).finally(() => {
        this.#sweeping = undefined;
      });
    return proposal;
  };

  /** Returns how full a store is that refuses events at its bound, once it is nearly full; undefined otherwise. */
  readonly shortage = (): string | undefined => {
    const { maxSize, whenFull } = this.#options.retention;
    if (maxSize === undefined || whenFull !== 'refuse' || (this.#bytes ?? 0) < nearlyFull * maxSize) return undefined;
    return `${this.#bytes} of ${maxSize} bytes are used; at the bound events are refused (auditStore.retention.maxSize)`;
  };

  /** Returns the room of the store; undefined without a bound, or if the database does not tell its bytes. */
  async usage(): Promise<StoreUsage | undefined> {
    const { store, retention } = this.#options;
    const { maxSize, whenFull } = retention;
    if (maxSize === undefined) return undefined;
    const bytes = await store.bytes();
    if (bytes === undefined) return undefined;
    this.#bytes = bytes;
    const oldest = (await store.chain(0, 1)).events[0]?.event.requestReceivedTimestamp;
    return {
      ...{ bytes, maxBytes: maxSize, isNearlyFull: bytes >= nearlyFull * maxSize, whenFull },
      ...(typeof oldest === 'string' && { oldest }),
    };
  }

  /** @throws Error if further events are refused */
  async requireRoom(): Promise<void> {
    const { store, retention } = this.#options;
    const { maxSize, whenFull } = retention;
    if (maxSize === undefined || whenFull !== 'refuse') return;
    this.#bytes = await store.bytes();
    if ((this.#bytes ?? 0) >= maxSize) throw new Error(`is full: it has ${maxSize} bytes (auditStore.retention.maxSize)`);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#sweeping;
  }

  /** Returns the bounds at this time. Without a trusted clock no event is too old. */
  #bounds(): AuditRetention {
    const { retention, client } = this.#options;
    const { age, maxEvents, maxSize, whenFull } = retention;
    const maxBytes = whenFull === 'removeOldest' ? maxSize : undefined;
    const { serverClock } = client;
    return { maxEvents, maxBytes, before: age !== undefined && serverClock.isTrusted ? serverClock.now().getTime() - age : undefined };
  }

  /** Removes recordings, which have bounds of their own beside the age. An event tells of each, so that no one is missed. */
  async #sweepRecordings(): Promise<void> {
    const { store, recordings, log, retention, client } = this.#options;
    const bounds = { before: this.#bounds().before, maxBytes: retention.maxRecordingsSize };
    let total = 0;
    while (!this.#isStopping) {
      const expired = await recordings.expired(bounds);
      if (expired.length === 0) break;
      const time = client.serverClock.now();
      await store.append(expired.map((recording) => expiryOf(recording, time)));
      for (const { id } of expired) await recordings.delete(id);
      total += expired.length;
    }
    if (total > 0) log.info({ removed: total }, 'expired recordings of shells were removed');
  }

  async #sweep(removable: RemovableEvents = {}): Promise<void> {
    const { store, log, client } = this.#options;
    let total = 0;
    try {
      const expired = await store.expired({ ...this.#bounds(), ...removable });
      if (expired !== undefined) await store.append([removalOf(expired, client.serverClock.now())]);
      for (let count = -1; expired !== undefined && count !== 0 && !this.#isStopping; ) {
        count = await store.remove(expired.last);
        this.#removed.inc(count);
        total += count;
      }
      if (total > 0) log.info({ removed: total, through: expired?.last }, 'expired audit events were removed');
      await this.#sweepRecordings();
    } catch (error) {
      log.warn({ err: error, removed: total }, 'removal of expired audit events failed');
    }
  }
}

/** Returns the event of a removal. A repeated removal has the same id. */
const expiryOf = ({ id, cluster, user, objectRef: { namespace, name: pod }, reason }: ExpiredRecording, time: Date): AuditEvent => ({
  ...{ auditID: `expired-${id}`, cluster, event: 'RecordingExpired' satisfies AuditName, shell: { user: user.username, pod } },
  ...removalBy({ resource: 'recordings', namespace, name: id, reason, time }),
});

/** Returns the event of the removal of events. A removal that was interrupted has the same id again. */
const removalOf = ({ first, last, reason }: ExpiredEvents, time: Date): AuditEvent => ({
  ...{ auditID: `expired-through-${last}`, cluster: 'local', event: 'AuditExpired' satisfies AuditName },
  ...removalBy({ resource: 'audits', name: `${first}-${last}`, reason, time }),
});

interface Removal {
  resource: string;
  namespace?: string;
  name: string;
  reason: string;
  time: Date;
}

const removalBy = ({ resource, namespace, name, reason, time }: Removal) =>
  ({
    ...{ source: 'service', verb: 'delete', sourceIPs: [], outcome: 'success', reason },
    objectRef: { apiGroup: 'auth.platform.io', resource, ...(namespace !== undefined && { namespace }), name },
    requestReceivedTimestamp: time.toISOString(),
  }) as const satisfies Partial<AuditEvent>;
