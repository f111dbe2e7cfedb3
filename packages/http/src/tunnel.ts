import type { Socket } from 'node:net';
import type { StatusError } from '@atrium/objects/status.ts';
import { endSoon } from './upgrade.ts';
import { closingFrames, WebSocketPings } from './websocket.ts';
import { refusalOf } from './while-permitted.ts';

/** Follows the bytes of a tunnel. */
export interface Tap {
  /** Takes bytes of the upstream, none at the begin. Returns the bytes for the client. */
  received(chunk: Buffer): Buffer[];
  /** Takes bytes of the client. */
  sent(chunk: Buffer): void;
  /** False while further bytes of the upstream must wait. */
  readonly hasRoom: boolean;
  /** @param goOn to be called when there is room again */
  onRoom(goOn: () => void): void;
  /** Reason for which the tap has ended the tunnel by its signal. */
  readonly failure: StatusError | undefined;
}

export interface Tunnel {
  client: Socket;
  /** Bytes that the client has sent after its request. */
  clientHead: Buffer;
  upstream: Socket;
  upstreamHead: Buffer;
  /** Milliseconds of silence in both directions after which the tunnel is cut. */
  idleMs: number;
  /** Interval of pings; undefined for a connection that is not a WebSocket. */
  pingMs: number | undefined;
  /** Sub-protocol of a WebSocket. */
  protocol: string | undefined;
  /** Cuts the tunnel. A WebSocket receives a 401 or 403 before, or the failure of the tap. */
  signal: AbortSignal;
  tap?: Tap | undefined;
}

/** Bytes in each direction, and whether silence ended the tunnel. */
export interface Carried {
  /** Bytes to the upstream. */
  sent: number;
  received: number;
  /** True for a tunnel that was cut because it was silent. */
  isIdle: boolean;
}

const keepAliveMs = 30_000;
/** Bound of the time in which the client gets the rest of a frame and the reason of the end. */
const closingMs = 1_000;

/** Carries bytes between two connections with backpressure. The end of one connection ends the other. */
export function relay({ client, clientHead, upstream, upstreamHead, idleMs, pingMs, protocol, signal, tap }: Tunnel): Promise<Carried> {
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
  // All bytes are read from or written to the upstream socket.
  let isIdle = false;
  upstream.setTimeout(idleMs, () => {
    isIdle = true;
    cut();
  });
  if (clientHead.length > 0) client.unshift(clientHead);
  if (upstreamHead.length > 0) upstream.unshift(upstreamHead);
  const pings = pingMs === undefined ? undefined : new WebSocketPings(client, pingMs);
  const refuse = () => {
    const refusal = refusalOf(signal) ?? tap?.failure;
    if (refusal === undefined || pings === undefined) return cut();
    stopInput();
    stopOutput();
    pings.close(closingFrames(refusal, protocol), () => {
      upstream.destroy();
      endSoon(client);
    });
    setTimeout(cut, closingMs).unref();
  };
  signal.addEventListener('abort', refuse, { once: true });
  const stopInput = pings === undefined ? forwardInput(client, upstream) : passWithoutPongs(client, upstream, pings);
  if (tap !== undefined) client.on('data', (chunk) => tap.sent(chunk));
  const stopOutput = tap === undefined ? forwardOutput(upstream, client) : passThroughTap(upstream, client, tap);
  // Added after the listener that writes, so that the bytes are already written, unless the tunnel is being closed.
  if (pings !== undefined) upstream.on('data', (chunk) => pings.passed(chunk));
  if (signal.aborted || client.destroyed || upstream.destroyed) cut();
  return Promise.all([closed(client), closed(upstream)]).then(() => {
    signal.removeEventListener('abort', refuse);
    pings?.end();
    const received = client.bytesWritten - before.received - (pings?.bytes ?? 0);
    return { sent: upstream.bytesWritten - before.sent, received, isIdle };
  });
}

/** @returns a function that drops further output */
function forwardOutput(upstream: Socket, client: Socket): () => void {
  upstream.pipe(client);
  return () => void upstream.unpipe(client).resume();
}

/** @returns a function that drops further output */
function passThroughTap(upstream: Socket, client: Socket, tap: Tap): () => void {
  const pass = (chunk: Buffer) => {
    if (!client.writable) return;
    for (const piece of tap.received(chunk)) if (piece.length > 0) client.write(piece);
    if (client.writableNeedDrain || !tap.hasRoom) upstream.pause();
  };
  const goOn = () => {
    if (!client.writableNeedDrain && tap.hasRoom) upstream.resume();
  };
  client.on('drain', goOn);
  tap.onRoom(goOn);
  pass(Buffer.alloc(0));
  upstream.on('data', pass);
  return () => void upstream.off('data', pass).resume();
}

/** @returns a function that drops further input */
function forwardInput(client: Socket, upstream: Socket): () => void {
  client.pipe(upstream);
  return () => client.unpipe(upstream);
}

/** @returns a function that drops further input */
function passWithoutPongs(client: Socket, upstream: Socket, pings: WebSocketPings): () => void {
  const pass = (chunk: Buffer) => {
    if (!upstream.writable) return;
    for (const piece of pings.withoutPongs(chunk)) if (!upstream.write(piece)) client.pause();
  };
  client.on('data', pass);
  upstream.on('drain', () => client.resume());
  return () => void client.off('data', pass).resume();
}

const closed = (socket: Socket) => new Promise<void>((resolve) => (socket.closed ? resolve() : socket.once('close', () => resolve())));
