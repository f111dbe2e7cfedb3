import { constants, inflateSync } from 'node:zlib';
import { type ChannelReader, type Channels, maxSizeBytes } from './channels.ts';
import { headerDictionary } from './spdy-dictionary.ts';

/** Types of control frames (SPDY/3.1, 2.6). */
const types = { synStream: 1, synReply: 2, headers: 8 } as const;
const headerLength = 8;
/** Bounds of what is kept of the headers of a connection: a remote command opens five streams, with two short headers each. */
const [maxControlBytes, maxHeaderBytes, maxInflatedBytes, maxStreams] = [65_536, 16_384, 65_536, 16];

interface Options {
  reader: ChannelReader;
  /** Text for the terminal at its begin. */
  banner: string | undefined;
}

/**
 * Follows the streams of a remote command over SPDY/3.1. The client opens each stream, and names it in the header `streamType`.
 *
 * @see https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/
 */
export function spdyChannels({ reader, banner }: Options): Channels {
  const streams = new Map<number, string>();
  const headers = new HeaderBlocks();
  let greeting = banner;
  let sizes = '';
  const fromClient = new SpdyFrames({
    control(type, body) {
      if (type !== types.synStream && type !== types.synReply && type !== types.headers) return;
      // All header blocks of a direction are one compressed stream.
      const named = headers.next(body.subarray(type === types.synStream ? 10 : 4));
      if (type !== types.synStream) return;
      const stream = body.readUInt32BE(0) & 0x7f_ff_ff_ff;
      // A server resets the second stream with a number, and goes on with the first.
      if (streams.has(stream)) throw new Error('the connection opens a stream twice');
      if (streams.size === maxStreams) throw new Error('the connection has too many streams');
      streams.set(stream, named.get('streamtype') ?? '');
    },
    data(stream, bytes) {
      if (streams.get(stream) !== 'resize') return;
      const lines = (sizes + bytes.toString()).split('\n');
      sizes = (lines.pop() ?? '').slice(0, maxSizeBytes);
      for (const line of lines) reader.size(line);
    },
  });
  let insertAt: { end: number; stream: number } | undefined;
  const fromServer = new SpdyFrames({
    control(type, body, end) {
      if (type !== types.synReply || greeting === undefined) return;
      const stream = body.readUInt32BE(0) & 0x7f_ff_ff_ff;
      // A client drops data before the reply.
      if (streams.get(stream) !== 'stdout') return;
      insertAt = { end, stream };
      reader.output('out', Buffer.from(greeting));
    },
    data(stream, bytes) {
      const type = streams.get(stream);
      if (type === 'error') return;
      // Output that is not recognized must not be missing in silence.
      if (type !== 'stdout' && type !== 'stderr') throw new Error('the output is of an unknown stream');
      reader.output(type === 'stdout' ? 'out' : 'err', bytes);
    },
  });
  return {
    sent: (chunk) => fromClient.take(chunk),
    received(chunk) {
      fromServer.take(chunk);
      if (insertAt === undefined || greeting === undefined) return [chunk];
      const { end, stream } = insertAt;
      const frame = dataFrame(stream, Buffer.from(greeting));
      [insertAt, greeting] = [undefined, undefined];
      return [chunk.subarray(0, end), frame, chunk.subarray(end)];
    },
  };
}

function dataFrame(stream: number, bytes: Buffer): Buffer {
  const header = Buffer.alloc(headerLength);
  header.writeUInt32BE(stream);
  header.writeUIntBE(bytes.length, 5, 3);
  return Buffer.concat([header, bytes]);
}

interface FrameReader {
  /** @param end place behind the frame in the chunk that was taken */
  control(type: number, body: Buffer, end: number): void;
  data(stream: number, bytes: Buffer): void;
}

/** Reads frames as they arrive. Buffers at most a control frame. */
class SpdyFrames {
  readonly #reader: FrameReader;
  #held: Buffer = Buffer.alloc(0);
  #stream = 0;
  /** Bytes left of the current data frame. */
  #left = 0;

  constructor(reader: FrameReader) {
    this.#reader = reader;
  }

  take(chunk: Buffer): void {
    const before = this.#held.length;
    const bytes = before === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let at = 0;
    while (at < bytes.length) {
      if (this.#left > 0) {
        const end = Math.min(at + this.#left, bytes.length);
        this.#reader.data(this.#stream, bytes.subarray(at, end));
        this.#left -= end - at;
        at = end;
        continue;
      }
      if (bytes.length - at < headerLength) break;
      const length = bytes.readUIntBE(at + 5, 3);
      const begin = at + headerLength;
      if ((bytes.readUInt8(at) & 0x80) === 0) {
        [this.#stream, this.#left, at] = [bytes.readUInt32BE(at), length, begin];
        continue;
      }
      if (length > maxControlBytes) throw new Error('a control frame is too long');
      if (bytes.length < begin + length) break;
      this.#reader.control(bytes.readUInt16BE(at + 2), bytes.subarray(begin, begin + length), begin + length - before);
      at = begin + length;
    }
    this.#held = Buffer.from(bytes.subarray(at));
  }
}

/** Reads header blocks, which one zlib stream compresses. All of it is kept and inflated again: it is short, and the call is synchronous. */
class HeaderBlocks {
  #compressed: Buffer = Buffer.alloc(0);
  #inflated = 0;

  /** Returns the headers of the next block, by names in lower case. @throws Error if it cannot be read, or all blocks are too long */
  next(block: Buffer): Map<string, string> {
    this.#compressed = Buffer.concat([this.#compressed, block]);
    if (this.#compressed.length > maxHeaderBytes) throw new Error('the headers of the connection are too long');
    const all = inflateSync(this.#compressed, {
      dictionary: headerDictionary,
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: maxInflatedBytes,
    });
    const headers = headersIn(all.subarray(this.#inflated));
    this.#inflated = all.length;
    return headers;
  }
}

/**
 * Reads the headers of a block. Servers take the first of several values, and the next block from what one has behind its headers: the
 * type of a stream would be another one for them.
 *
 * @throws Error for a block that is not exactly its headers, and for a header with several values
 */
function headersIn(block: Buffer): Map<string, string> {
  let at = 4;
  const text = () => {
    const length = block.readUInt32BE(at);
    const value = block.subarray(at + 4, at + 4 + length);
    if (value.length < length) throw new Error('a header is cut off');
    at += 4 + length;
    return value.toString('latin1');
  };
  const headers = new Map<string, string>();
  for (let left = block.readUInt32BE(0); left > 0; left -= 1) {
    const [name, value] = [text().toLowerCase(), text()];
    if (headers.has(name) || value.includes('\0')) throw new Error('a header has several values');
    headers.set(name, value);
  }
  if (at !== block.length) throw new Error('a block is longer than its headers');
  return headers;
}
