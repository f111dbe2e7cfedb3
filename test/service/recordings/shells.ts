/** Containers that print what a test says, and clients of both protocols of remote commands. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { constants, createDeflate, type Deflate } from 'node:zlib';
import { WebSocket } from 'ws';
import { headerDictionary } from '../../../src/recordings/spdy-dictionary.ts';
import type { TestServer } from '../../support/server.ts';
import { openUpgrade } from '../proxy/support.ts';

/** Output of a container: 1 is its standard output, 2 that of errors. */
export interface Output {
  channel: 1 | 2;
  bytes: Buffer;
}

export const protocols = ['WebSocket', 'SPDY'] as const;
export type Protocol = (typeof protocols)[number];

/** The container's end of a shell. */
export interface Container {
  /** Writes bytes to the connection as they are. */
  socket: Duplex;
  /** Encodes output. */
  encode(output: Output): Buffer;
  /** Returns the bytes that have arrived, with sizes of the terminal. */
  input(): string;
}

/** Accepts a request for a shell. Resolves when output can be sent. */
export async function accept(request: IncomingMessage, socket: Duplex): Promise<Container> {
  const { upgrade = '', 'sec-websocket-key': key = '', 'sec-websocket-protocol': protocol = '' } = request.headers;
  const isWebSocket = upgrade === 'websocket';
  const digest = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    `Upgrade: ${upgrade}`,
    'Connection: Upgrade',
    ...(isWebSocket
      ? [`Sec-WebSocket-Accept: ${digest}`, `Sec-WebSocket-Protocol: ${protocol.split(',')[0]}`]
      : ['X-Stream-Protocol-Version: v4.channel.k8s.io']),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  socket.on('error', () => socket.destroy());
  let seen: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    seen = Buffer.concat([seen, chunk]);
  });
  if (isWebSocket)
    return { socket, encode: ({ channel, bytes }) => frame(0x82, Buffer.concat([Buffer.of(channel), bytes])), input: () => unmasked(seen) };
  // The client opens its streams first, and each is answered.
  while (streamsIn(seen).length < Object.keys(streams).length) await once(socket, 'data');
  for (const stream of streamsIn(seen)) socket.write(control(types.synReply, Buffer.concat([uint32(stream), emptyHeaders])));
  const encode = ({ channel, bytes }: Output) => data(channel === 1 ? streams.stdout : streams.stderr, bytes);
  return { socket, encode, input: () => seen.toString('latin1') };
}

/** Returns the payloads of short frames of a client. */
function unmasked(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at + 6 <= bytes.length; ) {
    const end = at + 6 + ((bytes[at + 1] ?? 0) & 0x7f);
    const mask = bytes.subarray(at + 2, at + 6);
    text += Buffer.from(bytes.subarray(at + 6, end).map((byte, index) => byte ^ (mask[index % 4] ?? 0))).toString('latin1');
    at = end;
  }
  return text;
}

/** Returns a frame of a server. */
function frame(first: number, payload: Buffer): Buffer {
  const { length } = payload;
  const long = Buffer.alloc(8);
  long.writeBigUInt64BE(BigInt(length));
  const header = length < 126 ? [first, length] : length < 65_536 ? [first, 126, ...long.subarray(6)] : [first, 127, ...long];
  return Buffer.concat([Buffer.from(header), payload]);
}

const types = { synStream: 1, synReply: 2 };
export const streams = { error: 1, stdin: 3, stdout: 5, stderr: 7, resize: 9 } as const;

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function control(type: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0x80, 3, 0, type), uint32(body.length), body]);
}

function data(stream: number, bytes: Buffer): Buffer {
  return Buffer.concat([uint32(stream), uint32(bytes.length), bytes]);
}

/** No headers, compressed; nobody reads those of the server. */
const emptyHeaders = Buffer.from([0, 0, 0, 0]);

/** Splits frames of SPDY. */
function* framesIn(bytes: Buffer): Generator<{ isControl: boolean; type: number; stream: number; body: Buffer; end: number }> {
  for (let at = 0; at + 8 <= bytes.length; ) {
    const end = at + 8 + (bytes.readUInt32BE(at + 4) & 0xff_ff_ff);
    if (end > bytes.length) return;
    const isControl = (bytes[at] ?? 0) >= 0x80;
    const body = bytes.subarray(at + 8, end);
    yield { isControl, type: bytes.readUInt16BE(at + 2), stream: isControl ? body.readUInt32BE(0) : bytes.readUInt32BE(at), body, end };
    at = end;
  }
}

const streamsIn = (bytes: Buffer): number[] =>
  [...framesIn(bytes)].filter(({ isControl, type }) => isControl && type === types.synStream).map(({ stream }) => stream);

/** A user's end of a shell. */
export interface Client {
  /** Returns the output that has arrived, of both channels in its order. */
  seen(): Buffer;
  /** Status of the end, if the container or the service has sent one. */
  status(): { reason?: string; message?: string } | undefined;
  resize(columns: number, rows: number): void;
  type(text: string): void;
  close(): void;
  closed: Promise<unknown>;
}

/** Stream that a client opens over SPDY, with its headers before they are compressed. */
export interface Opened {
  stream: number;
  block: Buffer;
}

interface Shell {
  token: string;
  path: string;
  /** Returns the streams that a client opens over SPDY in place of the usual ones. */
  opening?: (usual: readonly Opened[]) => readonly Opened[];
}

export const connect = (protocol: Protocol, server: TestServer, shell: Shell): Promise<Client> =>
  protocol === 'WebSocket' ? byWebSocket(server, shell) : bySpdy(server, shell);

async function byWebSocket({ url }: TestServer, { token, path }: Shell): Promise<Client> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, ['v5.channel.k8s.io'], {
    headers: { Authorization: `Bearer ${token}` },
  });
  const closed = once(socket, 'close');
  const seen: Buffer[] = [];
  let status: { reason?: string } | undefined;
  socket.on('message', (message: Buffer) => {
    if (message[0] === 1 || message[0] === 2) seen.push(message.subarray(1));
    else if (message[0] === 3) status = JSON.parse(message.subarray(1).toString());
  });
  await once(socket, 'open');
  const send = (channel: number, text: string) => socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(text)]));
  return {
    seen: () => Buffer.concat(seen),
    status: () => status,
    resize: (Width, Height) => send(4, JSON.stringify({ Width, Height })),
    type: (text) => send(0, text),
    close: () => socket.terminate(),
    closed,
  };
}

async function bySpdy(server: TestServer, { token, path, opening = (usual) => usual }: Shell): Promise<Client> {
  const headers = { 'X-Stream-Protocol-Version': 'v4.channel.k8s.io', Authorization: `Bearer ${token}`, 'Content-Length': '0' };
  const { socket, status, body } = await openUpgrade(server, headers, { method: 'POST', path, protocol: 'SPDY/3.1' });
  if (socket === undefined) throw new Error(`no connection: ${status} ${body}`);
  const closed = once(socket, 'close');
  const blocks = createDeflate({ dictionary: headerDictionary });
  const usual = Object.entries(streams).map(([name, stream]) => ({ stream, block: headerBlock(['streamtype', name]) }));
  for (const { stream, block } of opening(usual))
    socket.write(control(types.synStream, Buffer.concat([uint32(stream), uint32(0), Buffer.of(0, 0), await compressed(blocks, block)])));
  const seen: Buffer[] = [];
  let held = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    let end = 0;
    for (const one of framesIn(held)) {
      if (!one.isControl && (one.stream === streams.stdout || one.stream === streams.stderr)) seen.push(one.body);
      end = one.end;
    }
    held = held.subarray(end);
  });
  return {
    seen: () => Buffer.concat(seen),
    status: () => undefined,
    resize: (Width, Height) => socket.write(data(streams.resize, Buffer.from(`${JSON.stringify({ Width, Height })}\n`))),
    type: (text) => socket.write(data(streams.stdin, Buffer.from(text))),
    close: () => socket.end(),
    closed,
  };
}

/** Returns headers as SPDY has them before they are compressed. */
export function headerBlock(...headers: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string) => Buffer.concat([uint32(value.length), Buffer.from(value)]);
  return Buffer.concat([uint32(headers.length), ...headers.flatMap(([name, value]) => [text(name), text(value)])]);
}

/** Returns the next block of headers, as a client compresses it. */
async function compressed(blocks: Deflate, block: Buffer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const take = (chunk: Buffer) => chunks.push(chunk);
  blocks.on('data', take);
  blocks.write(block);
  await new Promise<void>((resolve) => blocks.flush(constants.Z_SYNC_FLUSH, resolve));
  blocks.off('data', take);
  return Buffer.concat(chunks);
}
