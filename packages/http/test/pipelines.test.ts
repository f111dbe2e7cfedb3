import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { operation } from '@atrium/http/operation.ts';
import { expect } from 'chai';
import type { Context } from 'koa';
import { z } from 'zod';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { socketBuffers } from '../../../test/support/socket-buffers.ts';
import { type BareService, startBareService } from './bare-service.ts';

import { operations as frameOperations, slow } from './frame-operations.ts';

const common = { tag: 'test', summary: 'test', credential: 'none', answers: { 200: { description: 'done' } } } as const;
const maxInFlight = 20;
/** Milliseconds that no test takes. */
const longMs = 600_000;

describe('a server with pipelined requests and unread answers', () => {
  let service: BareService;
  const sockets: Socket[] = [];
  const numbers: string[] = [];

  before(async () => {
    const large = Buffer.alloc((await socketBuffers()) + 1024 * 1024, 'x');
    const parts = () =>
      Readable.from(Array.from({ length: large.length / (64 * 1024) }, (_, index) => large.subarray(index << 16, (index + 1) << 16)));
    const answer = (ctx: Context, body: unknown) => {
      ctx.body = body;
    };
    const operations = [
      operation({ ...common, id: 'Large', method: 'GET', paths: ['/api/large'], handle: ({ ctx }) => answer(ctx, large) }),
      operation({ ...common, id: 'Streamed', method: 'GET', paths: ['/api/streamed'], handle: ({ ctx }) => answer(ctx, parts()) }),
      operation({
        ...common,
        id: 'Number',
        method: 'GET',
        paths: ['/api/numbers/:number'],
        params: z.object({ number: z.string() }),
        handle({ ctx, params: { number } }) {
          numbers.push(number);
          ctx.body = { number };
        },
      }),
      ...frameOperations,
    ];
    service = await startBareService(operations, { maxInFlight, trustedProxies: ['127.0.0.1'], requestTimeoutMs: longMs });
  });
  afterEach(async () => {
    slow.release();
    numbers.splice(0);
    for (const socket of sockets.splice(0)) socket.destroy();
    await eventually(
      async () => (await Promise.all(['short', 'receiving', 'unread'].map(inFlight))).reduce((sum, count) => sum + count),
      (count) => count === 0,
    );
    service.logLines.splice(0);
  });
  after(() => service.stop());

  const open = (text: string) => {
    const socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    socket.write(text);
    return socket;
  };
  const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
  const textOf = (socket: Socket) => {
    const read = { text: '' };
    socket.setEncoding('latin1').on('data', (chunk) => {
      read.text += chunk;
    });
    return read;
  };
  const inFlight = (kind: string) => service.inFlight(kind);
  const statuses = () =>
    Promise.all(Array.from({ length: maxInFlight }, () => fetch(`${service.url}/api/tagged`).then(({ status }) => status)));
  const all200 = Array.from({ length: maxInFlight }, () => 200);

  it('S13 handles one request of a connection at a time, and keeps the order of the answers', async () => {
    const socket = open(get('/api/slow') + Array.from({ length: 1_200 }, (_, index) => get(`/api/numbers/${index}`)).join(''));
    const read = textOf(socket);
    await eventually(
      () => slow.waiting.length,
      (count) => count === 1,
    );
    expect(await statuses()).to.deep.equal(all200);
    expect(numbers).to.deep.equal([]);
    expect(await inFlight('short')).to.equal(1);
    slow.release();
    await eventually(
      () => read.text.includes('{"number":"1199"}'),
      (isThere) => isThere,
    );
    const expected = Array.from({ length: 1_200 }, (_, index) => String(index));
    expect(numbers).to.deep.equal(expected);
    expect(Array.from(read.text.matchAll(/\{"number":"(\d+)"\}/g), ([, number]) => number)).to.deep.equal(expected);
    expect(read.text).not.to.include(' 429 ');
  });

  it('S13 serves other clients while 1,200 pipelined requests wait behind answers that are not read', async () => {
    open(get('/api/large').repeat(3) + get('/api/numbers/1').repeat(1_200)).pause();
    await eventually(
      () => inFlight('unread'),
      (count) => count === 1,
    );
    expect(await inFlight('short')).to.equal(0);
    expect(await statuses()).to.deep.equal(all200);
    expect(numbers).to.deep.equal([]);
  });

  /** Returns the X-Request-Id of requests whose connection was closed. */
  const cut = () => service.logLines.map((line) => JSON.parse(line)).flatMap(({ code, requestId }) => (code === 499 ? [requestId] : []));
  const openUnread = async (path: string, id: string, address: string) => {
    const before = await inFlight('unread');
    open(get(path, `X-Request-Id: ${id}\r\nX-Forwarded-For: ${address}\r\n`)).pause();
    await eventually(
      () => inFlight('unread'),
      (count) => count === before + 1,
    );
  };

  for (const path of ['/api/large', '/api/streamed'])
    it(`S13 cuts the oldest of many connections that do not read ${path}, and serves other clients`, async () => {
      await openUnread(path, 'other-network', '203.0.113.1');
      await openUnread(path, 'oldest', '203.0.113.2');
      for (let index = 0; index < 3 * maxInFlight; index += 1) open(get(path, 'X-Forwarded-For: 203.0.113.2\r\n')).pause();
      await eventually(cut, (ids) => ids.length === 3 * maxInFlight + 1 - maxInFlight / 5);

      expect(cut()).to.include('oldest').and.not.include('other-network');
      expect(await inFlight('unread')).to.equal(1 + maxInFlight / 5);
      expect(await inFlight('short')).to.equal(0);
      expect(await statuses()).to.deep.equal(all200);
    });

  it('S13 bounds unread answers of many networks, and serves other clients', async () => {
    await openUnread('/api/large', 'oldest', '203.0.113.1');
    for (let index = 0; index < 2 * maxInFlight; index += 1) open(get('/api/large', `X-Forwarded-For: 198.51.100.${index}\r\n`)).pause();
    await eventually(cut, (ids) => ids.length === maxInFlight + 1);

    expect(cut()).to.include('oldest');
    expect(await inFlight('unread')).to.equal(maxInFlight);
    expect(await statuses()).to.deep.equal(all200);
  });

  it('S13 answers a malformed request after the requests before it', async () => {
    const read = textOf(open(`${get('/api/slow')}BAD\r\n\r\n`));
    await eventually(
      () => slow.waiting.length,
      (count) => count === 1,
    );
    expect(read.text).to.equal('');
    slow.release();
    await eventually(
      () => read.text,
      (text) => /^HTTP\/1\.1 200 .*HTTP\/1\.1 400 .*"kind":"Status"/s.test(text),
    );
  });

  it('S13 reads the body of a pipelined request once it is its turn', async () => {
    const body = JSON.stringify({ name: 'jane'.padEnd(1_000) });
    const socket = open(
      `${get('/api/slow')}POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    const read = textOf(socket);
    await eventually(
      () => slow.waiting.length,
      (count) => count === 1,
    );
    expect(await inFlight('receiving')).to.equal(0);
    socket.write(body + get('/api/numbers/7'));
    slow.release();
    await eventually(
      () => read.text,
      (text) => /^HTTP\/1\.1 200 .*"released".*HTTP\/1\.1 200 .*jane.*HTTP\/1\.1 200 .*"number":"7"/s.test(text),
    );
  });

  it('S13 drops pipelined requests when their client is gone', async () => {
    const socket = open(get('/api/slow') + get('/api/numbers/1').repeat(10));
    await eventually(
      () => slow.waiting.length,
      (count) => count === 1,
    );
    socket.destroy();
    slow.release();
    expect(await statuses()).to.deep.equal(all200);
    await eventually(
      () => inFlight('short'),
      (count) => count === 0,
    );
  });

  it('S13 ends the connection after an answer that is the last, and does not handle the requests behind it', async () => {
    const read = textOf(open(get('/api/slow', 'Connection: close\r\n') + get('/api/numbers/1').repeat(10)));
    await eventually(
      () => slow.waiting.length,
      (count) => count === 1,
    );
    slow.release();
    await eventually(
      () => read.text,
      (text) => text.includes('released'),
    );
    expect(numbers).to.deep.equal([]);
  });
});
