/** The thread that owns a file of SQLite, for `SqliteStore`: statements hold a thread while they run. */
import { parentPort, workerData } from 'node:worker_threads';
import { countEvents } from './counts.ts';
import { appendEvents, listEvents } from './queries.ts';
import { openSqlite } from './sqlite-database.ts';
import type { WorkerCall } from './sqlite-store.ts';

const db = await openSqlite(workerData as string);

parentPort?.on('message', async ({ id, call }: { id: number; call: WorkerCall }) => {
  try {
    parentPort?.postMessage({ id, result: await answerTo(call) });
  } catch (error) {
    parentPort?.postMessage({ id, error });
  }
});
parentPort?.postMessage({ id: 0 });

function answerTo(call: WorkerCall): Promise<unknown> {
  if ('append' in call) return appendEvents(db, call.append);
  return 'list' in call ? listEvents(db, ...call.list) : countEvents(db, ...call.count);
}
