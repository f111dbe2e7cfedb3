import { Readable } from 'node:stream';
import { refusalOf } from '@atrium/http/while-permitted.ts';
import type { Context } from 'koa';
import { codeOf, failureOf, type StreamCall, type UpstreamResponse } from './transport.ts';

/** A read that the API server answers itself. */
export interface ForwardCall {
  /** Label in the metrics. */
  call: string;
  /** Path, built by `resourcePath`. */
  path: string;
  /** Raw query (`ctx.querystring`), which is sent byte for byte. */
  query: string;
  signal: AbortSignal;
  /** Set for a watch, which has no deadline. */
  isLong?: boolean;
}

/** Headers of the answer that callers receive. Cache-Control is missing, because that of the service is stricter. */
const passedOn = ['Content-Type', 'Content-Encoding', 'ETag', 'Warning', 'Audit-Id', 'Retry-After'];

/**
 * Answers with the answer of the API server. Accept is the only header that is forwarded; without Accept-Encoding the answer is not
 * compressed.
 */
export async function forward(ctx: Context, call: ForwardCall, open: (call: StreamCall) => Promise<UpstreamResponse>): Promise<void> {
  const { isLong = false, ...rest } = call;
  const accept = ctx.get('Accept');
  const { statusCode, headers, body } = await open({ ...rest, method: 'GET', isLong, ...(accept && { accept }) });
  // HEAD is sent as GET, and only the headers of the answer are used.
  const content = ctx.method === 'HEAD' ? body : isLong ? watchBody(headers, body, call.signal) : await gathered(body, call.signal);
  ctx.status = statusCode;
  for (const name of passedOn) {
    const value = headers[name.toLowerCase()];
    if (value !== undefined) ctx.set(name, value);
  }
  ctx.body = content;
  // Headers are sent at once, because the first event of a watch may take long.
  if (isLong) ctx.flushHeaders();
}

const watchBody = (headers: UpstreamResponse['headers'], body: UpstreamResponse['body'], signal: AbortSignal) =>
  isJson(headers) ? withErrorEvent(body, signal) : body;

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

/** Bytes of an answer that are collected and sent at once. */
const partBytes = 64 * 1024;

/**
 * Collects a finite answer for few writes, because the API server sends a list item by item. Not for a watch or a log, whose reader waits
 * for each piece.
 *
 * @returns a short answer as a whole, a longer one in parts
 * @throws the reason of the signal if it aborts; StatusError 503, 504 if the answer breaks off within the first part
 */
export function gathered(body: Readable, signal: AbortSignal): Promise<Buffer | Readable> {
  return new Parts(body).begun.catch((error: unknown) => {
    throw failureOf(error, signal, { hasPassed: codeOf(error) === 'UND_ERR_BODY_TIMEOUT' });
  });
}

/**
 * Collects pieces into parts. Pieces are copied, because references from an old object would keep them in memory until a full garbage
 * collection.
 */
class Parts extends Readable {
  readonly #source: Readable;
  readonly #begun = Promise.withResolvers<Buffer | Readable>();
  #part: Buffer | undefined;
  #filled = 0;

  constructor(source: Readable) {
    super({ highWaterMark: partBytes });
    this.#source = source;
    // The reader receives the error, too.
    this.on('error', () => undefined);
    source.on('data', (chunk: Buffer) => this.#take(chunk));
    source.once('end', () => this.#end());
    source.once('error', (error: Error) => this.#fail(error));
    source.once('close', () => this.#fail(new Error('the answer broke off')));
  }

  /** Resolves with the answer if it fits into one part, otherwise with this stream. */
  get begun(): Promise<Buffer | Readable> {
    return this.#begun.promise;
  }

  override _read(): void {
    this.#source.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#source.destroy();
    done(error);
  }

  #take(chunk: Buffer): void {
    for (let taken = 0; taken < chunk.length; ) {
      if (this.#filled === partBytes) this.#send();
      this.#part ??= Buffer.allocUnsafeSlow(partBytes);
      const length = chunk.copy(this.#part, this.#filled, taken);
      taken += length;
      this.#filled += length;
    }
  }

  #send(): void {
    const isWanted = this.push(this.#rest());
    this.#part = undefined;
    this.#filled = 0;
    this.#begun.resolve(this);
    if (!isWanted) this.#source.pause();
  }

  #rest(): Buffer {
    return this.#part?.subarray(0, this.#filled) ?? Buffer.alloc(0);
  }

  #end(): void {
    const rest = this.#rest();
    this.#begun.resolve(rest);
    this.push(rest);
    this.push(null);
  }

  #fail(error: Error): void {
    if (this.#source.readableEnded) return;
    this.#begun.reject(error);
    this.destroy(error);
  }
}
