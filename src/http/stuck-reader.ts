import type { Socket } from 'node:net';

export interface StuckReaderOptions {
  /** For so long a reader may take nothing of what waits for it. */
  stuckMs: number;
  /** Aborts when the answer is over: a twelfth of the time is enough then. */
  over: AbortSignal;
}

/** Cuts a connection that takes nothing any more of what waits for it. One that nothing is sent to is left alone. */
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
