import type { ChainedEvent, Checkpoint } from './chain.ts';
import { countEvents } from './counts.ts';
import type { AuditEvent } from './event.ts';
import { appendEvents, type EventDatabase, listEvents } from './queries.ts';
import { chainedEvents, expiredThrough, lastCheckpoint, makeCheckpoint, removeSlice } from './retention.ts';
import type { AuditCounts, AuditDatabase, AuditPage, AuditRetention, AuditStore } from './store.ts';

/** Events in a database that kysely speaks to. */
export class SqlStore implements AuditDatabase {
  readonly #opened: EventDatabase;
  #isStopped = false;

  constructor(database: EventDatabase) {
    this.#opened = database;
  }

  async append(events: readonly AuditEvent[]): Promise<void> {
    await appendEvents(this.#database, events);
  }

  async list(...[filter, page]: Parameters<AuditStore['list']>): Promise<AuditPage> {
    return await listEvents(this.#database, filter, page);
  }

  async count(...[filter, by]: Parameters<AuditStore['count']>): Promise<AuditCounts> {
    return await countEvents(this.#database.db, filter, by);
  }

  async chain(after: number, limit: number): Promise<ChainedEvent[]> {
    return await chainedEvents(this.#database, after, limit);
  }

  async checkpoint(): Promise<Checkpoint | undefined> {
    return await makeCheckpoint(this.#database, new Date());
  }

  async lastCheckpoint(): Promise<number | undefined> {
    return await lastCheckpoint(this.#database);
  }

  async expired(kept: AuditRetention): Promise<Checkpoint | undefined> {
    return await expiredThrough(this.#database, kept, new Date());
  }

  async remove(through: number): Promise<number> {
    return await removeSlice(this.#database, through);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#opened.db.destroy();
  }

  get #database(): EventDatabase {
    if (this.#isStopped) throw new Error('the audit store has stopped');
    return this.#opened;
  }
}
