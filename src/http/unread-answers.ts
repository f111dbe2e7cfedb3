import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { EvictionQueue } from '../limits/eviction-queue.ts';
import { networkOf } from '../limits/rate-limit.ts';

export interface StuckReaderOptions {
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

export interface UnreadAnswersOptions {
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
