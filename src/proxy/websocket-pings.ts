import type { Socket } from 'node:net';
import { WebSocketFrames } from './websocket-frames.ts';

/** Payload that pongs repeat (RFC 6455, 5.5.3), which identifies the answers to these pings. */
const payload = Buffer.from('atrium');
const ping = Buffer.concat([Buffer.from([0x89, payload.length]), payload]);
/** Length of a pong with the mask of a client. */
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
  #closing: { frames: Buffer; done: () => void } | undefined;
  #bytes = 0;

  constructor(client: Socket, intervalMs: number) {
    this.#client = client;
    this.#timer = setInterval(() => this.#ping(), intervalMs).unref();
  }

  /** Bytes of all pings. */
  get bytes(): number {
    return this.#bytes;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  /** Sends the last frames after the current frame, whose rest `passed` receives. @param done called once they are sent */
  close(frames: Buffer, done: () => void): void {
    this.end();
    this.#isDue = false;
    this.#closing = { frames, done };
    this.#close();
  }

  /** Follows the bytes that were written to the client. After `close` it writes the rest of the current frame itself. */
  passed(chunk: Buffer): void {
    if (this.#closing !== undefined) {
      this.#client.write(this.#fromServer.takeFrame(chunk));
      this.#close();
      return;
    }
    this.#fromServer.take(chunk);
    if (this.#isDue) this.#ping();
  }

  /** Returns the client's bytes without pongs, for the API server. */
  withoutPongs(chunk: Buffer): Buffer[] {
    return this.#fromClient.take(chunk);
  }

  #close(): void {
    if (this.#closing === undefined || !this.#fromServer.isBetweenFrames) return;
    const { frames, done } = this.#closing;
    this.#closing = undefined;
    this.#client.write(frames);
    this.#bytes += frames.length;
    done();
  }

  #ping(): void {
    // Pending bytes for the client mean that the connection is not silent.
    if (!this.#client.writable || this.#client.writableLength > 0) return;
    this.#isDue = !this.#fromServer.isBetweenFrames;
    if (this.#isDue) return;
    this.#client.write(ping);
    this.#bytes += ping.length;
  }
}

/** First byte of a complete pong. */
const pong = 0x8a;

function isPong(frame: Buffer): boolean {
  if (frame[0] !== pong || frame[1] !== (0x80 | payload.length)) return false;
  const mask = frame.subarray(2, 6);
  return payload.every((byte, index) => byte === ((frame[6 + index] ?? 0) ^ (mask[index % 4] ?? 0)));
}
