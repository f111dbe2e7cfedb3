import { Readable } from 'node:stream';
import { refusalOf } from '../http/while-permitted.ts';
import type { UpstreamResponse } from './transport.ts';

const lineFeed = 10;

/** Reports whether an answer has one JSON object a line, if it is a watch. Logs are plain text. */
export const isJson = (headers: UpstreamResponse['headers']): boolean => /^application\/json(?:;|$)/.test(String(headers['content-type']));

/**
 * Passes on the JSON events of a watch. If the signal aborts with a 401 or 403, the last event is an ERROR with its Status, as API servers
 * report that a watch has failed. Other ends are passed on.
 */
export function withErrorEvent(body: Readable, signal: AbortSignal): Readable {
  return Readable.from(eventsOf(body, signal), { objectMode: false });
}

async function* eventsOf(body: Readable, signal: AbortSignal): AsyncGenerator<Buffer> {
  let last = lineFeed;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      last = chunk.at(-1) ?? last;
      yield chunk;
    }
  } catch (error) {
    const refusal = refusalOf(signal);
    // An event cannot follow a part of another one.
    if (refusal === undefined || last !== lineFeed) throw error;
    yield Buffer.from(`${JSON.stringify({ type: 'ERROR', object: refusal.status })}\n`);
  }
}
