import type { RecordingDatabase, RecordingStore } from '@atrium/audit-store/recording.ts';
import type { ApiServerEvent, AuditDatabase, AuditStore, Joined } from '@atrium/audit-store/store.ts';
import type { Counter, Metrics } from '@atrium/http/telemetry/metrics.ts';
import { StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import type { Retention } from '../audit-chain/retention.ts';

interface ReportedStoreOptions {
  store: AuditDatabase;
  /** Recordings, whose parts may be elsewhere than in the store. */
  recordings: RecordingDatabase;
  retention: Pick<Retention, 'propose' | 'requireRoom' | 'usage'>;
  metrics: Metrics;
}

/** A store whose failures are answered with 503, and told by a check and metrics. */
export class ReportedStore implements AuditStore {
  readonly recordings: RecordingStore = {
    keep: (...step) => this.#reported(this.#recordings.keep(...step)),
    list: (...query) => this.#reported(this.#recordings.list(...query)),
    get: (...id) => this.#reported(this.#recordings.get(...id)),
    read: (...place) => this.#reported(this.#recordings.read(...place)),
    delete: (...id) => this.#reported(this.#recordings.delete(...id)),
  };
  readonly #store: AuditDatabase;
  readonly #recordings: RecordingDatabase;
  readonly #retention: ReportedStoreOptions['retention'];
  readonly #appended: Counter<'outcome'>;
  #failure: string | undefined;

  constructor({ store, recordings, retention, metrics }: ReportedStoreOptions) {
    this.#store = store;
    this.#recordings = recordings;
    this.#retention = retention;
    this.#appended = metrics.counter({
      name: 'atrium_audit_store_events_total',
      help: 'Events that replicas handed to the audit store, by outcome (stored, failed).',
      labelNames: ['outcome'],
    });
  }

  /** Returns the reason why the last call failed, undefined if it did not. */
  readonly failure = (): string | undefined => this.#failure;

  async append(...[events]: Parameters<AuditStore['append']>): Promise<void> {
    try {
      await this.#reported(this.#withRoom(() => this.#store.append(events)));
      this.#appended.inc({ outcome: 'stored' }, events.length);
    } catch (error) {
      this.#appended.inc({ outcome: 'failed' }, events.length);
      throw error;
    }
  }

  join(events: readonly ApiServerEvent[]): Promise<Joined> {
    return this.#reported(this.#withRoom(() => this.#store.join(events)));
  }

  list(...query: Parameters<AuditStore['list']>): ReturnType<AuditStore['list']> {
    return this.#reported(this.#store.list(...query));
  }

  count(...query: Parameters<AuditStore['count']>): ReturnType<AuditStore['count']> {
    return this.#reported(this.#store.count(...query));
  }

  chain(...part: Parameters<AuditStore['chain']>): ReturnType<AuditStore['chain']> {
    return this.#reported(this.#store.chain(...part));
  }

  propose(...asked: Parameters<AuditStore['propose']>): ReturnType<AuditStore['propose']> {
    return this.#reported(this.#retention.propose(...asked));
  }

  usage(): ReturnType<Retention['usage']> {
    return this.#reported(this.#retention.usage());
  }

  stop(): Promise<void> {
    return this.#store.stop();
  }

  async #withRoom<T>(call: () => Promise<T>): Promise<T> {
    await this.#retention.requireRoom();
    return await call();
  }

  async #reported<T>(call: Promise<T>): Promise<T> {
    try {
      const result = await call;
      this.#failure = undefined;
      return result;
    } catch (error) {
      this.#failure = error instanceof Error ? error.message : 'unknown error';
      throw error instanceof StatusError ? error : serviceUnavailable('the audit store', { cause: error });
    }
  }
}
