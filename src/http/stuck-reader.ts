import type { Socket } from 'node:net';

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
