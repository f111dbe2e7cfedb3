import type { Socket } from 'node:net';
import type { StatusError } from '@atrium/objects/status.ts';

/** Payload that pongs repeat (RFC 6455, 5.5.3), which identifies the answers to these pings. */
const payload = Buffer.from('atrium');
const ping = Buffer.concat([Buffer.from([0x89, payload.length]), payload]);
/** Length of a pong with the mask of a client. */
const pongLength = 2 + 4 + payload.length;

/**
 * Pings the client of a WebSocket between the frames of the server, so that no proxy on the way sees a silent connection. The pongs
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

  /** Returns the client's bytes without pongs, for the server. */
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

/**
 * Follows the frames of a WebSocket (RFC 6455, 5.2) by their headers alone. Buffers at most one header, or one frame that may have to be
 * removed.
 */
export class WebSocketFrames {
  readonly #isRemoved: (frame: Buffer) => boolean;
  readonly #removedLength: number;
  #held: Buffer = Buffer.alloc(0);
  /** Bytes left of the current frame. */
  #missing = 0;
  #isClosing = false;

  /**
   * @param isRemoved tests whole frames of `removedLength` bytes
   */
  constructor({ removedLength, isRemoved }: { removedLength: number; isRemoved: (frame: Buffer) => boolean }) {
    this.#removedLength = removedLength;
    this.#isRemoved = isRemoved;
  }

  /** True between two frames and before the sender's Close frame, where a control frame may be inserted. */
  get isBetweenFrames(): boolean {
    return this.#missing === 0 && this.#held.length === 0 && !this.#isClosing;
  }

  /** Returns the bytes up to the end of the current frame. Follows no others. */
  takeFrame(chunk: Buffer): Buffer {
    let at = 0;
    while (at < chunk.length && !this.isBetweenFrames) {
      // A header is read byte by byte, because its length is unknown.
      const end = at + Math.max(1, this.#missing);
      this.take(chunk.subarray(at, end));
      at = Math.min(end, chunk.length);
    }
    return chunk.subarray(0, at);
  }

  /** Returns the bytes to pass on. */
  take(chunk: Buffer): Buffer[] {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const passed: Buffer[] = [];
    let begin = 0;
    let at = 0;
    while (at < bytes.length) {
      if (this.#missing === 0) {
        const length = frameLength(bytes, at);
        const isShort = length === undefined || (length === this.#removedLength && at + length > bytes.length);
        if (isShort) break;
        if (length === this.#removedLength && this.#isRemoved(bytes.subarray(at, at + length))) {
          passed.push(bytes.subarray(begin, at));
          at += length;
          begin = at;
          continue;
        }
        this.#isClosing ||= ((bytes[at] ?? 0) & 0x0f) === closeOpcode;
        this.#missing = length;
      }
      const step = Math.min(this.#missing, bytes.length - at);
      this.#missing -= step;
      at += step;
    }
    this.#held = Buffer.from(bytes.subarray(at));
    passed.push(bytes.subarray(begin, at));
    return passed.filter(({ length }) => length > 0);
  }
}

const closeOpcode = 8;

/** Returns undefined for an incomplete header. A length beyond exact numbers is never reached. */
function frameLength(bytes: Buffer, at: number): number | undefined {
  const available = bytes.length - at;
  if (available < 2) return undefined;
  const second = bytes.readUInt8(at + 1);
  const mask = second & 0x80 ? 4 : 0;
  const short = second & 0x7f;
  const header = 2 + mask + (short === 127 ? 8 : short === 126 ? 2 : 0);
  if (available < header) return undefined;
  if (short === 127) return header + Number(bytes.readBigUInt64BE(at + 2));
  return header + (short === 126 ? bytes.readUInt16BE(at + 2) : short);
}

/** Sub-protocols of exec and attach whose error channel takes a Status. */
const statusProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
const errorChannel = 3;
const [binaryFrame, closeFrame] = [0x82, 0x88];
/** Close code of a policy violation (RFC 6455, 7.4.1). */
const policyViolation = 1008;

/** Texts of at most 123 bytes. */
const closeReasons: Readonly<Record<number, string>> = { 401: 'the credential is no longer valid', 503: 'the shell cannot be recorded' };

/** Returns the last frames of a WebSocket that the service closes: a Status if the sub-protocol has a channel for it, and Close. */
export function closingFrames({ status }: StatusError, protocol: string | undefined): Buffer {
  const closing = Buffer.from(`xx${closeReasons[status.code ?? 403] ?? 'the permission was revoked'}`);
  closing.writeUInt16BE(policyViolation);
  const channel = Buffer.concat([Buffer.of(errorChannel), Buffer.from(JSON.stringify(status))]);
  const told = protocol !== undefined && statusProtocols.includes(protocol) ? [frame(binaryFrame, channel)] : [];
  return Buffer.concat([...told, frame(closeFrame, closing)]);
}

/** Returns a frame without a mask, as servers send it. Payloads are shorter than 64 KiB. */
function frame(first: number, payload: Buffer): Buffer {
  const { length } = payload;
  const header = length < 126 ? Buffer.of(first, length) : Buffer.of(first, 126, length >> 8, length & 0xff);
  return Buffer.concat([header, payload]);
}
