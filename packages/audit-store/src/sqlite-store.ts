import { Worker } from 'node:worker_threads';
import type { AuditEvent } from './event.ts';
import type { RecordingDatabase } from './recording.ts';
import type { openSqlite } from './sqlite-database.ts';
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

/** Call of the thread that owns the file. */
export type WorkerCall = ({ of: 'events'; method: EventMethod } | { of: 'recordings'; method: keyof RecordingDatabase }) & {
  values: unknown[];
};

type EventMethod = Exclude<keyof AuditDatabase, 'recordings' | 'stop' | 'usage'>;

interface Pending {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** In a built program the worker is a part beside this one. */
const workerFile = import.meta.url.endsWith('.ts') ? 'sqlite-worker.ts' : 'sqlite-worker.js';

/** Events in a file of SQLite, which a thread of its own reads and writes. */
export class SqliteStore implements AuditDatabase {
  readonly recordings: RecordingDatabase = {
    keep: this.#ofRecordings('keep'),
    list: this.#ofRecordings('list'),
    get: this.#ofRecordings('get'),
    read: this.#ofRecordings('read'),
    delete: this.#ofRecordings('delete'),
    expired: this.#ofRecordings('expired'),
    lastPart: this.#ofRecordings('lastPart'),
  };
  readonly #worker: Worker;
  /** Calls that are not answered yet. The start of the thread has the id 0. */
  readonly #pending = new Map<number, Pending>();
  #lastID = 0;
  /** Set once the thread has ended. */
  #failure: Error | undefined;

  private constructor(...opened: Parameters<typeof openSqlite>) {
    this.#worker = new Worker(new URL(workerFile, import.meta.url), { workerData: opened, execArgv: [] });
    this.#worker.on('message', ({ id, error, result }: { id: number; error?: unknown; result?: unknown }) => {
      const { resolve, reject } = this.#pending.get(id) ?? {};
      this.#pending.delete(id);
      if (error === undefined) resolve?.(result);
      else reject?.(error);
    });
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new Error('the audit store has stopped')));
  }

  /** @throws Error if the file cannot be opened */
  static async open(...opened: Parameters<typeof openSqlite>): Promise<SqliteStore> {
    const store = new SqliteStore(...opened);
    await new Promise((resolve, reject) => store.#pending.set(0, { resolve, reject }));
    return store;
  }

  append(events: readonly AuditEvent[]): Promise<void> {
    return this.#call('append', events);
  }

  join(events: readonly ApiServerEvent[]): Promise<Joined> {
    return this.#call('join', events);
  }

  settle(waitedMs: number): Promise<number> {
    return this.#call('settle', waitedMs);
  }

  list(...[filter, page]: Parameters<AuditStore['list']>): Promise<AuditPage> {
    return this.#call('list', filter, page);
  }

  count(...[filter, by]: Parameters<AuditStore['count']>): Promise<AuditCounts> {
    return this.#call('count', filter, by);
  }

  chain(after: number, limit: number): Promise<ChainPart> {
    return this.#call('chain', after, limit);
  }

  propose(kept: readonly number[], retention: AuditRetention = {}): Promise<Proposal> {
    return this.#call('propose', kept, retention);
  }

  expired(retention: AuditRetention): Promise<ExpiredEvents | undefined> {
    return this.#call('expired', retention);
  }

  remove(through: number): Promise<number> {
    return this.#call('remove', through);
  }

  bytes(): Promise<number | undefined> {
    return this.#call('bytes');
  }

  indexing(): Promise<IndexState> {
    return this.#call('indexing');
  }

  exported(): Promise<number> {
    return this.#call('exported');
  }

  setExported(sequence: number): Promise<void> {
    return this.#call('setExported', sequence);
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #call<Method extends EventMethod>(method: Method, ...values: Parameters<AuditDatabase[Method]>): ReturnType<AuditDatabase[Method]> {
    return this.#send({ of: 'events', method, values }) as ReturnType<AuditDatabase[Method]>;
  }

  #ofRecordings<Method extends keyof RecordingDatabase>(method: Method): RecordingDatabase[Method] {
    const call = (...values: unknown[]) => this.#send({ of: 'recordings', method, values });
    return call as RecordingDatabase[Method];
  }

  #send(call: WorkerCall): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) throw this.#failure;
      this.#lastID += 1;
      this.#pending.set(this.#lastID, { resolve, reject });
      this.#worker.postMessage({ id: this.#lastID, ...call });
    });
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
