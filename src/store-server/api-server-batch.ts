/** A batch of the audit webhook, which a thread of its own reads: 33 MiB of JSON hold a thread for a second. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ApiServerEvent } from '@atrium/audit-store/store.ts';
import { type Violation, validate } from '@atrium/objects/validation.ts';
import { eventList, keptEvents } from './api-server-events.ts';

/** Events that one transaction takes: few enough to be handed to the store within a turn of the event loop. */
const partSize = 250;
/** Violations that an answer has. */
const maxViolations = 10;

export type Batch =
  | {
      /** Parts of the events that are kept, as JSON: bytes need no copy between threads. */
      parts: Uint8Array<ArrayBuffer>[];
      /** Number of the other events. */
      ignored: number;
    }
  | { violations: Violation[] }
  | 'no JSON';

const encoder = new TextEncoder();
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a batch in the thread. A batch may have more values than other bodies, and bodies of any objects, which are not read. */
export function readBatch(body: Uint8Array): Batch {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body));
  } catch {
    return 'no JSON';
  }
  const list = validate(eventList, value);
  // A value may be as large as the batch.
  if (!list.success) return { violations: list.violations.slice(0, maxViolations).map((one) => ({ ...one, value: undefined })) };
  const { items } = list.data;
  const events = keptEvents(items);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let from = 0; from < events.length; from += partSize)
    parts.push(encoder.encode(JSON.stringify(events.slice(from, from + partSize))));
  return { parts, ignored: items.length - events.length };
}

export const eventsOf = (part: Uint8Array): ApiServerEvent[] => JSON.parse(utf8.decode(part)) as ApiServerEvent[];

/** In a built program the worker is a part beside this one. */
const workerFile = import.meta.url.endsWith('.ts') ? 'api-server-worker.ts' : 'api-server-worker.js';

/**
 * The thread that reads batches, one after the other: memory holds the body of one batch, however many arrive. The first batch starts the
 * thread, and so does the next one after a failure.
 */
export class BatchReader {
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** @param arrival reads the body; called when the batches before are read */
  read(arrival: () => Promise<Uint8Array>): Promise<Batch> {
    const batch = this.#last.then(async () => this.#read(await arrival()));
    this.#last = batch.catch(() => undefined);
    return batch;
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }

  async #read(body: Uint8Array): Promise<Batch> {
    this.#worker ??= new Worker(new URL(workerFile, import.meta.url), { execArgv: [] });
    try {
      const answer = once(this.#worker, 'message');
      // Small bodies share their memory with others.
      const { buffer } = body;
      const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === body.byteLength;
      this.#worker.postMessage(body, isAlone ? [buffer] : []);
      const [batch] = await answer;
      return batch as Batch;
    } catch (error) {
      // The thread has ended.
      this.#worker = undefined;
      throw error;
    }
  }
}
