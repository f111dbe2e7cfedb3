import { countEvents } from './counts.ts';
import type { AuditEvent } from './event.ts';
import { appendEvents, type EventDatabase, listEvents } from './queries.ts';
import type { AuditCounts, AuditPage, AuditStore } from './store.ts';

/** Events in a database that kysely speaks to. */
export class SqlStore implements AuditStore {
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

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#opened.db.destroy();
  }

  get #database(): EventDatabase {
    if (this.#isStopped) throw new Error('the audit store has stopped');
    return this.#opened;
  }
}
