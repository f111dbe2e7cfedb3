import { Worker } from 'node:worker_threads';
import type { AuditEvent } from './event.ts';
import type { AuditCounts, AuditDimension, AuditFilter, AuditPage, AuditStore } from './store.ts';

/** Call of the thread that owns the file. */
export type WorkerCall =
  | { append: readonly AuditEvent[] }
  | { list: Parameters<AuditStore['list']> }
  | { count: Parameters<AuditStore['count']> };

interface Pending {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Events in a file of SQLite, which a thread of its own reads and writes. */
export class SqliteStore implements AuditStore {
  readonly #worker: Worker;
  /** Calls that are not answered yet. The start of the thread has the id 0. */
  readonly #pending = new Map<number, Pending>();
  #lastID = 0;
  /** Set once the thread has ended. */
  #failure: Error | undefined;

  private constructor(file: string) {
    this.#worker = new Worker(new URL('sqlite-worker.ts', import.meta.url), { workerData: file, execArgv: [] });
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
  static async open(file: string): Promise<SqliteStore> {
    const store = new SqliteStore(file);
    await new Promise((resolve, reject) => store.#pending.set(0, { resolve, reject }));
    return store;
  }

  async append(events: readonly AuditEvent[]): Promise<void> {
    await this.#call({ append: events });
  }

  async list(filter: AuditFilter, page: Parameters<AuditStore['list']>[1]): Promise<AuditPage> {
    return (await this.#call({ list: [filter, page] })) as AuditPage;
  }

  async count(filter: AuditFilter, by: AuditDimension): Promise<AuditCounts> {
    return (await this.#call({ count: [filter, by] })) as AuditCounts;
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #call(call: WorkerCall): Promise<unknown> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#lastID += 1;
    const id = this.#lastID;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#worker.postMessage({ id, call });
    });
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
