/** The thread that reads batches of the audit webhook, for `BatchReader`. */
import { parentPort } from 'node:worker_threads';
import { readBatch } from './api-server-batch.ts';

parentPort?.on('message', (body: Uint8Array) => {
  const batch = readBatch(body);
  parentPort?.postMessage(batch, typeof batch === 'object' && 'parts' in batch ? batch.parts.map(({ buffer }) => buffer) : []);
});
