import { setTimeout as sleep } from 'node:timers/promises';
import { countEvents } from './counts.ts';
import type { AuditEvent } from './event.ts';
import { exportedThrough, rememberExported } from './exports.ts';
import { appendEvents, joinEvents, settleEvents } from './joins.ts';
import { type EventDatabase, indexEvents, listEvents, unindexed } from './queries.ts';
import { recordingsOf } from './recordings.ts';
import { chainedEvents, proposeCheckpoints, removableEvents, removeSlice } from './retention.ts';
import type {
  ApiServerEvent,
  AuditCounts,
  AuditDatabase,
  AuditPage,
  AuditRetention,
  AuditStore,
  ChainPart,
  ExpiredEvents,
  IndexState,
  Joined,
  Proposal,
} from './store.ts';

const retryMs = 5_000;

/** Events in a database that kysely speaks to. The segments that it lacks are made while it takes and answers calls. */
export class SqlStore implements AuditDatabase {
  readonly recordings = recordingsOf(() => this.#database);
  readonly #opened: EventDatabase;
  readonly #stopping = new AbortController();
  readonly #indexing: Promise<void>;
  #indexFailure: string | undefined;

  constructor(database: EventDatabase) {
    this.#opened = database;
    this.#indexing = this.#index();
  }

  async append(events: readonly AuditEvent[]): Promise<void> {
    await appendEvents(this.#database, events);
  }

  async join(events: readonly ApiServerEvent[]): Promise<Joined> {
    return await joinEvents(this.#database, events, new Date());
  }

  async settle(waitedMs: number): Promise<number> {
    return await settleEvents(this.#database, Date.now() - waitedMs);
  }

  async list(...[filter, page]: Parameters<AuditStore['list']>): Promise<AuditPage> {
    return await listEvents(this.#database, filter, page);
  }

  async count(...[filter, by]: Parameters<AuditStore['count']>): Promise<AuditCounts> {
    return await countEvents(this.#database.db, filter, by);
  }

  async chain(after: number, limit: number): Promise<ChainPart> {
    return await chainedEvents(this.#database, after, limit);
  }

  async propose(kept: readonly number[], retention: AuditRetention = {}): Promise<Proposal> {
    return await proposeCheckpoints(this.#database, { kept, retention, now: new Date() });
  }

  async expired(retention: AuditRetention): Promise<ExpiredEvents | undefined> {
    return await removableEvents(this.#database, retention);
  }

  async remove(through: number): Promise<number> {
    return await removeSlice(this.#database, through);
  }

  async bytes(): Promise<number | undefined> {
    return this.#database.bytes?.();
  }

  async indexing(): Promise<IndexState> {
    const database = this.#database;
    const left = database.isIndexing ? await unindexed(database) : 0;
    return { left: left < database.segmentSize ? 0 : left, failure: this.#indexFailure };
  }

  async exported(): Promise<number> {
    return await exportedThrough(this.#database.db);
  }

  async setExported(sequence: number): Promise<void> {
    await rememberExported(this.#database, sequence);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#indexing;
    await this.#opened.db.destroy();
  }

  get #database(): EventDatabase {
    if (this.#stopping.signal.aborted) throw new Error('the audit store has stopped');
    return this.#opened;
  }

  async #index(): Promise<void> {
    const { signal } = this.#stopping;
    while (this.#opened.isIndexing && !signal.aborted) {
      try {
        await indexEvents(this.#opened, () => signal.aborted);
        this.#indexFailure = undefined;
      } catch (error) {
        // A full disk or a lost connection may end.
        this.#indexFailure = error instanceof Error ? error.message : 'unknown error';
        await sleep(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }
}
