/** Bounds of clients that send a body slowly, or do not read their answer: both hold memory of all callers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { entityTooLarge } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { leavePlaceUntilArrival } from './body.ts';
import { networkOf } from './client-address.ts';
import { EvictionQueue } from './limits/eviction-queue.ts';

/** Streams the body of a request no faster than it is read. Fails with 413 at the limit. */
export const requestBody = (ctx: Context, limit: number): Readable => Readable.from(atMost(ctx, limit), { objectMode: false });

async function* atMost(ctx: Context, limit: number): AsyncGenerator<Uint8Array> {
  const arrived = leavePlaceUntilArrival(ctx);
  let bytes = 0;
  // The request stays as it is when a Service wants no more of it: it still has to be answered.
  for await (const chunk of ctx.req.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    ctx.state.bodyBytes = bytes;
    if (bytes > limit) throw entityTooLarge(`the body is larger than ${limit} bytes`);
    yield chunk;
  }
  await arrived();
}

const defaultCutAfterMs = 10_000;
/** Least progress of a streamed body in each such period. */
const minBytes = 16 * 1024;
const maxPerNetwork = 200;

export interface UnfinishedBody {
  request: IncomingMessage;
  /** Client network. */
  network: string;
  /** True for an operation that takes long bodies: they must only go on arriving. */
  isStreamed: () => boolean;
  /** The body has arrived. */
  done(): void;
  /** The body takes too long, or other requests need its place. */
  cut(reason: 'slow' | 'crowded'): void;
}

/**
 * Requests whose body has not arrived. They are not in flight: a client that announces a body and sends none must keep no other client
 * out. Beyond a bound the oldest of the same network is cut, else the oldest of all, so that a body that comes at once is always taken.
 */
export class UnfinishedBodies {
  readonly #cutAfterMs: number;
  readonly #queue: EvictionQueue<UnfinishedBody>;
  readonly #timers = new Map<UnfinishedBody, NodeJS.Timeout>();

  /** @param cutAfterMs milliseconds until a body that is not streamed must have arrived */
  constructor(max: number, cutAfterMs = defaultCutAfterMs) {
    this.#queue = new EvictionQueue({ perNetwork: maxPerNetwork, inAll: max }, (body) => this.#makeRoom(body));
    this.#cutAfterMs = cutAfterMs;
  }

  add(body: UnfinishedBody): void {
    this.#timers.set(body, this.#watch(body));
    body.request.once('end', () => this.#settle(body));
    this.#queue.add(body);
  }

  /** @returns whether the body was unfinished */
  remove(body: UnfinishedBody): boolean {
    this.#queue.remove(body);
    clearTimeout(this.#timers.get(body));
    return this.#timers.delete(body);
  }

  #settle(body: UnfinishedBody): void {
    if (this.remove(body)) body.done();
  }

  /** A body that has arrived, and is only not read yet, is not cut. */
  #makeRoom(body: UnfinishedBody): void {
    if (body.request.complete) this.#settle(body);
    else if (this.remove(body)) body.cut('crowded');
  }

  #watch(body: UnfinishedBody): NodeJS.Timeout {
    const { request } = body;
    let seen = request.socket.bytesRead;
    const look = () => {
      if (request.complete) return this.#settle(body);
      const { bytesRead } = request.socket;
      // Bytes that have arrived and are not read yet wait for the service, not for the caller.
      const goesOn = body.isStreamed() && (bytesRead - seen >= minBytes || request.readableLength > 0);
      seen = bytesRead;
      if (goesOn) timer.refresh();
      else if (this.remove(body)) body.cut('slow');
    };
    const timer = setTimeout(look, this.#cutAfterMs).unref();
    return timer;
  }
}

interface StuckReaderOptions {
  /** Milliseconds in which a reader must take some of the waiting bytes. */
  stuckMs: number;
  /** Aborts when the answer is over: a twelfth of the time is enough then. */
  over: AbortSignal;
}

/** Closes a connection whose reader has stopped. A connection without waiting bytes stays open. */
export function cutWhenStuck(socket: Socket, { stuckMs, over }: StuckReaderOptions): { end(): void } {
  let written = socket.bytesWritten;
  let since = performance.now();
  const look = () => {
    const isMoving = socket.bytesWritten !== written || socket.writableLength === 0;
    if (isMoving) since = performance.now();
    written = socket.bytesWritten;
    if (performance.now() - since > (over.aborted ? stuckMs / 12 : stuckMs)) socket.destroy();
  };
  const timer = setInterval(look, stuckMs / 12);
  return { end: () => clearInterval(timer) };
}

interface UnreadAnswersOptions {
  /** Client address. */
  source: string;
  /** Returns whether the answer is long-running: other limits apply to its reader. */
  isLong: () => boolean;
  onChange: (isUnread: boolean) => void;
}

/**
 * Complete answers that wait for their reader. They are not in flight: a client that does not read must keep no other client out.
 * Beyond a bound the connection of the oldest is cut, so that an answer gets less time the more of them are unread.
 */
export class UnreadAnswers {
  readonly #queue: EvictionQueue<UnreadAnswer>;

  /** @param max in all; a network has a fifth of it */
  constructor(max: number) {
    this.#queue = new EvictionQueue({ perNetwork: Math.ceil(max / 5), inAll: max }, ({ response }) => response.destroy());
  }

  /**
   * @param response has its socket, and no headers are sent
   * @returns a function to call once the response is closed
   */
  watch(response: ServerResponse, { source, isLong, onChange }: UnreadAnswersOptions): () => void {
    let unread: UnreadAnswer | undefined;
    const begin = () => {
      if (unread !== undefined || isLong()) return;
      unread = { network: networkOf(source), response };
      onChange(true);
      this.#queue.add(unread);
    };
    const end = () => {
      if (unread === undefined) return;
      this.#queue.remove(unread);
      unread = undefined;
      onChange(false);
    };
    response.once('prefinish', () => {
      if (response.socket?.writableLength) begin();
    });
    response.once('pipe', (body: Readable) => {
      body.on('pause', () => {
        if (response.writableNeedDrain) begin();
      });
      response.on('drain', end);
    });
    return end;
  }
}

interface UnreadAnswer {
  network: string;
  response: ServerResponse;
}
