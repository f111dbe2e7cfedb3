/** The thread that owns a file of SQLite, for `SqliteStore`: statements hold a thread while they run. */
import { parentPort, workerData } from 'node:worker_threads';
import { appendEvents, listEvents } from './queries.ts';
import { openSqlite } from './sqlite-database.ts';
import type { WorkerCall } from './sqlite-store.ts';

const db = await openSqlite(workerData as string);

parentPort?.on('message', async ({ id, call }: { id: number; call: WorkerCall }) => {
  try {
    const result = 'append' in call ? await appendEvents(db, call.append) : await listEvents(db, ...call.list);
    parentPort?.postMessage({ id, result });
  } catch (error) {
    parentPort?.postMessage({ id, error });
  }
});
parentPort?.postMessage({ id: 0 });
