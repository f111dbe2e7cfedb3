import type { Socket } from 'node:net';
import { WebSocketFrames } from './websocket-frames.ts';

/** A payload that pongs repeat (RFC 6455, 5.5.3): it tells the answers to these pings from other pongs. */
const payload = Buffer.from('atrium');
const ping = Buffer.concat([Buffer.from([0x89, payload.length]), payload]);
/** With the mask of a client. */
const pongLength = 2 + 4 + payload.length;

/**
 * Pings the client of a WebSocket between the frames of the API server, so that no proxy on the way sees a silent connection. The pongs
 * are removed: they would keep an unused terminal open beyond its idle timeout.
 */
export class WebSocketPings {
  readonly #client: Socket;
  readonly #timer: NodeJS.Timeout;
  readonly #fromServer = new WebSocketFrames({ removedLength: 0, isRemoved: () => false });
  readonly #fromClient = new WebSocketFrames({ removedLength: pongLength, isRemoved: isPong });
  #isDue = false;
  #bytes = 0;

  constructor(client: Socket, intervalMs: number) {
    this.#client = client;
    this.#timer = setInterval(() => this.#ping(), intervalMs).unref();
  }

  /** The bytes of all pings. */
  get bytes(): number {
    return this.#bytes;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  /** Follows what was written to the client. */
  passed(chunk: Buffer): void {
    this.#fromServer.take(chunk);
    if (this.#isDue) this.#ping();
  }

  /** Returns what the API server gets of these bytes of the client. */
  withoutPongs(chunk: Buffer): Buffer[] {
    return this.#fromClient.take(chunk);
  }

  #ping(): void {
    // Bytes that wait for the client are no silence.
    if (!this.#client.writable || this.#client.writableLength > 0) return;
    this.#isDue = !this.#fromServer.isBetweenFrames;
    if (this.#isDue) return;
    this.#client.write(ping);
    this.#bytes += ping.length;
  }
}

/** The first byte of a pong that is whole. */
const pong = 0x8a;

function isPong(frame: Buffer): boolean {
  if (frame[0] !== pong || frame[1] !== (0x80 | payload.length)) return false;
  const mask = frame.subarray(2, 6);
  return payload.every((byte, index) => byte === ((frame[6 + index] ?? 0) ^ (mask[index % 4] ?? 0)));
}
