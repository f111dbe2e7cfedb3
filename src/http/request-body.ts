import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { entityTooLarge } from '../api/status.ts';

/** Streams the body of a request no faster than it is read. Fails with 413 at the limit. */
export const requestBody = (request: IncomingMessage, limit: number): Readable =>
  Readable.from(atMost(request, limit), { objectMode: false });

async function* atMost(request: IncomingMessage, limit: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  // The request stays as it is when a Service wants no more of it: it still has to be answered.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > limit) throw entityTooLarge(`the body is larger than ${limit} bytes`);
    yield chunk;
  }
}
