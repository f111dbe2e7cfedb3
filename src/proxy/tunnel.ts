import type { Socket } from 'node:net';
import { endSoon } from '../http/upgrade.ts';
import { WebSocketPings } from './websocket-pings.ts';

export interface Tunnel {
  client: Socket;
  /** What the client has sent behind its request. */
  clientHead: Buffer;
  upstream: Socket;
  upstreamHead: Buffer;
  /** Silent in both directions for so long, it is cut. */
  idleMs: number;
  /** Undefined for a connection that is no WebSocket. */
  pingMs: number | undefined;
  /** Cuts it. */
  signal: AbortSignal;
}

/** How many bytes went each way. */
export interface Carried {
  /** To the API server. */
  sent: number;
  received: number;
}

const keepAliveMs = 30_000;

/** Carries bytes between two connections, no faster than either takes them, until one ends or is cut: then both are. */
export function carry({ client, clientHead, upstream, upstreamHead, idleMs, pingMs, signal }: Tunnel): Promise<Carried> {
  const before = { sent: upstream.bytesWritten, received: client.bytesWritten };
  const cut = () => {
    client.destroy();
    upstream.destroy();
  };
  const left = (one: Socket, other: Socket) => {
    one.once('end', () => endSoon(other));
    one.once('close', () => {
      one.unpipe(other);
      if (!other.destroyed) endSoon(other);
    });
  };
  left(client, upstream);
  left(upstream, client);
  for (const socket of [client, upstream]) {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveMs);
  }
  // Whatever goes through is read or written there.
  upstream.setTimeout(idleMs, cut);
  signal.addEventListener('abort', cut, { once: true });
  if (clientHead.length > 0) client.unshift(clientHead);
  if (upstreamHead.length > 0) upstream.unshift(upstreamHead);
  const pings = pingMs === undefined ? undefined : new WebSocketPings(client, pingMs);
  if (pings === undefined) client.pipe(upstream);
  else passWithoutPongs(client, upstream, pings);
  upstream.pipe(client);
  // Behind the listener of the pipe: the bytes are written by then.
  if (pings !== undefined) upstream.on('data', (chunk) => pings.passed(chunk));
  if (signal.aborted || client.destroyed || upstream.destroyed) cut();
  return Promise.all([closed(client), closed(upstream)]).then(() => {
    signal.removeEventListener('abort', cut);
    pings?.end();
    const received = client.bytesWritten - before.received - (pings?.bytes ?? 0);
    return { sent: upstream.bytesWritten - before.sent, received };
  });
}

function passWithoutPongs(client: Socket, upstream: Socket, pings: WebSocketPings): void {
  client.on('data', (chunk) => {
    if (!upstream.writable) return;
    for (const piece of pings.withoutPongs(chunk)) if (!upstream.write(piece)) client.pause();
  });
  upstream.on('drain', () => client.resume());
}

const closed = (socket: Socket) => new Promise<void>((resolve) => (socket.closed ? resolve() : socket.once('close', () => resolve())));
