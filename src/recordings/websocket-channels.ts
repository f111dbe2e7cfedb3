import { type ChannelReader, type Channels, maxSizeBytes } from './channels.ts';

const [out, err, resize] = [1, 2, 4];
/** Opcodes of frames (RFC 6455, 5.2). */
const opcodes = { continuation: 0, text: 1, binary: 2 } as const;

/** Sub-protocols of exec and attach; the first byte of a message is its channel. Without a sub-protocol the API server sends the oldest. */
const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io', ''];
/** The first character of a message is its channel, and the rest is base64. */
const base64Protocols = ['base64.channel.k8s.io', 'v4.base64.channel.k8s.io'];

interface Options {
  /** Sub-protocol that the API server has chosen. */
  protocol: string;
  reader: ChannelReader;
  /** Text for the terminal at its begin. */
  banner: string | undefined;
}

/** @throws Error for an unknown sub-protocol */
export function webSocketChannels({ protocol, reader, banner }: Options): Channels {
  const isBase64 = base64Protocols.includes(protocol);
  if (!isBase64 && !protocols.includes(protocol)) throw new Error(`the sub-protocol ${protocol} is unknown`);
  const fromServer = new ChannelFrames(isBase64, [out, err], (channel, bytes) => reader.output(channel === out ? 'out' : 'err', bytes));
  let size = Buffer.alloc(0);
  const fromClient = new ChannelFrames(isBase64, [resize], (_channel, bytes, isLast) => {
    if (size.length + bytes.length <= maxSizeBytes) size = Buffer.concat([size, bytes]);
    if (!isLast) return;
    reader.size(size.toString());
    size = Buffer.alloc(0);
  });
  let greeting = banner === undefined ? undefined : bannerFrame(Buffer.from(banner), isBase64);
  return {
    sent: (chunk) => fromClient.take(chunk),
    received(chunk) {
      fromServer.take(chunk);
      if (greeting === undefined) return [chunk];
      const pieces = [greeting, chunk];
      greeting = undefined;
      reader.output('out', Buffer.from(banner ?? ''));
      return pieces;
    },
  };
}

/** Returns an unmasked frame. The text is shorter than 126 bytes. */
function bannerFrame(text: Buffer, isBase64: boolean): Buffer {
  const payload = isBase64 ? Buffer.from(`${out}${text.toString('base64')}`) : Buffer.concat([Buffer.of(out), text]);
  return Buffer.concat([Buffer.of(0x80 | (isBase64 ? opcodes.text : opcodes.binary), payload.length), payload]);
}

interface Frame {
  headerLength: number;
  length: number;
  opcode: number;
  isFinal: boolean;
  mask: Buffer | undefined;
}

type Take = (channel: number, bytes: Buffer, isLast: boolean) => void;

/** Reads the payloads of some channels as they arrive. Buffers at most the header of a frame. */
class ChannelFrames {
  readonly #isBase64: boolean;
  readonly #channels: readonly number[];
  readonly #take: Take;
  #held: Buffer = Buffer.alloc(0);
  #frame: Frame | undefined;
  /** Bytes of the payload that were read. */
  #read = 0;
  /** Channel of the current message; undefined before its first byte. */
  #channel: number | undefined;
  /** Characters of base64 that are no whole group yet. */
  #encoded = '';

  constructor(isBase64: boolean, channels: readonly number[], take: Take) {
    this.#isBase64 = isBase64;
    this.#channels = channels;
    this.#take = take;
  }

  take(chunk: Buffer): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let at = 0;
    for (;;) {
      if (this.#frame === undefined) {
        this.#frame = frameAt(bytes, at);
        if (this.#frame === undefined) break;
        at += this.#frame.headerLength;
        this.#read = 0;
        if (this.#frame.opcode === opcodes.text || this.#frame.opcode === opcodes.binary) this.#channel = undefined;
      }
      const end = Math.min(at + this.#frame.length - this.#read, bytes.length);
      this.#payload(this.#frame, bytes.subarray(at, end));
      this.#read += end - at;
      at = end;
      if (this.#read < this.#frame.length) break;
      this.#frame = undefined;
    }
    this.#held = Buffer.from(bytes.subarray(at));
  }

  #payload({ opcode, isFinal, length, mask }: Frame, bytes: Buffer): void {
    // Control frames may stand between the frames of a message.
    if (opcode > opcodes.binary) return;
    let payload = bytes;
    if (this.#channel === undefined) {
      const first = bytes[0];
      if (first === undefined) return;
      const byte = mask === undefined ? first : first ^ (mask[0] ?? 0);
      this.#channel = this.#isBase64 ? byte - 0x30 : byte;
      payload = bytes.subarray(1);
    }
    if (!this.#channels.includes(this.#channel)) return;
    const at = this.#read + bytes.length - payload.length;
    const isLast = isFinal && this.#read + bytes.length === length;
    const plain = mask === undefined ? payload : unmasked(payload, mask, at);
    this.#take(this.#channel, this.#isBase64 ? this.#decoded(plain, isLast) : plain, isLast);
  }

  #decoded(bytes: Buffer, isLast: boolean): Buffer {
    const text = this.#encoded + bytes.toString('latin1');
    const whole = isLast ? text.length : text.length - (text.length % 4);
    this.#encoded = text.slice(whole);
    return Buffer.from(text.slice(0, whole), 'base64');
  }
}

const unmasked = (bytes: Buffer, mask: Buffer, from: number): Buffer =>
  Buffer.from(bytes.map((byte, index) => byte ^ (mask[(from + index) % 4] ?? 0)));

/** Returns undefined for an incomplete header. */
function frameAt(bytes: Buffer, at: number): Frame | undefined {
  const available = bytes.length - at;
  if (available < 2) return undefined;
  const [first, second] = [bytes.readUInt8(at), bytes.readUInt8(at + 1)];
  // Bits of an extension that compresses messages. The service does not pass a request for one on.
  if ((first & 0x70) !== 0) throw new Error('the connection has a WebSocket extension');
  const short = second & 0x7f;
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
  const maskBytes = second & 0x80 ? 4 : 0;
  const headerLength = 2 + lengthBytes + maskBytes;
  if (available < headerLength) return undefined;
  const length = short === 127 ? Number(bytes.readBigUInt64BE(at + 2)) : short === 126 ? bytes.readUInt16BE(at + 2) : short;
  const mask = maskBytes === 0 ? undefined : Buffer.from(bytes.subarray(at + headerLength - 4, at + headerLength));
  return { headerLength, length, opcode: first & 0x0f, isFinal: (first & 0x80) !== 0, mask };
}
