/** The thread that owns a file of SQLite, for `SqliteStore`: statements hold a thread while they run. */
import { parentPort, workerData } from 'node:worker_threads';
import { SqlStore } from './sql-store.ts';
import { openSqlite } from './sqlite-database.ts';
import type { WorkerCall } from './sqlite-store.ts';

const store = new SqlStore(await openSqlite(...(workerData as Parameters<typeof openSqlite>)));

parentPort?.on('message', async ({ id, values, ...asked }: WorkerCall & { id: number }) => {
  try {
    const call = (asked.of === 'events' ? store[asked.method] : store.recordings[asked.method]) as (
      ...values: unknown[]
    ) => Promise<unknown>;
    parentPort?.postMessage({ id, result: await call.apply(store, values) });
  } catch (error) {
    parentPort?.postMessage({ id, error });
  }
});
parentPort?.postMessage({ id: 0 });
