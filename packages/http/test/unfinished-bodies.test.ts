import { connect, type Socket } from 'node:net';
import { operation } from '@atrium/http/operation.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { type BareService, startBareService } from './bare-service.ts';

const operations = [
  operation({
    id: 'Echo',
    method: 'POST',
    paths: ['/api/echo'],
    tag: 'test',
    summary: 'test',
    credential: 'none',
    body: z.object({ name: z.string() }),
    answers: { 200: { description: 'done' } },
    handle({ ctx, body }) {
      ctx.body = body;
    },
  }),
  operation({
    id: 'Read',
    method: 'GET',
    paths: ['/api/echo'],
    tag: 'test',
    summary: 'test',
    credential: 'none',
    answers: { 200: { description: 'done' } },
    handle({ ctx }) {
      ctx.body = { a: 1 };
    },
  }),
];

const maxInFlight = 20;
/** Milliseconds that no test takes. */
const longMs = 600_000;

describe('LIM-08 bodies that do not come', () => {
  let service: BareService;
  const sockets: Socket[] = [];
  /** Answers of the connections, in the order of their ends. */
  let answered: string[];
  const timers: NodeJS.Timeout[] = [];

  const start = async (bodyTimeoutMs: number) => {
    service = await startBareService(operations, { maxInFlight, bodyTimeoutMs, trustedProxies: ['127.0.0.1'] });
    answered = [];
  };
  afterEach(async () => {
    for (const timer of timers.splice(0)) clearInterval(timer);
    for (const socket of sockets.splice(0)) socket.destroy();
    await service.stop();
  });

  /** Announces a body, and sends none of it. */
  const announce = (address: string, length = 'Content-Length: 100') => {
    const socket = connect(service.port, '127.0.0.1');
    const ended = answered;
    sockets.push(socket);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk;
    });
    socket.on('close', () => ended.push(text));
    socket.on('error', () => undefined);
    socket.write(
      `POST /api/echo HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nContent-Type: application/json\r\n${length}\r\n\r\n`,
    );
    return socket;
  };
  const inFlight = (kind: string) => service.inFlight(kind);
  const honest = async (address: string) => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': address };
    const write = await fetch(`${service.url}/api/echo`, { method: 'POST', headers, body: '{"name":"jane"}' });
    const read = await fetch(`${service.url}/api/echo`, { headers: { 'x-forwarded-for': address } });
    return [write.status, read.status];
  };

  it('keep no client out that shares their address or not, and are bounded', async () => {
    await start(longMs);
    for (let index = 0; index < 300; index += 1) announce('203.0.113.1');
    await eventually(
      () => answered.length,
      (count) => count === 300 - maxInFlight,
    );
    expect(await inFlight('receiving')).to.equal(maxInFlight);
    expect(await inFlight('short')).to.equal(0);
    for (let round = 0; round < 5; round += 1)
      for (const address of ['203.0.113.1', '203.0.113.2']) expect(await honest(address)).to.deep.equal([200, 200]);
    for (const text of answered.slice(0, 100)) expect(text).to.match(/^HTTP\/1\.1 429 .*Connection: close/s);
  });

  it('keep no client out from 200 networks either', async () => {
    await start(longMs);
    for (let index = 0; index < 400; index += 1) announce(`198.51.100.${index % 200}`, 'Transfer-Encoding: chunked');
    await eventually(
      () => answered.length,
      (count) => count >= 400 - maxInFlight,
    );
    for (let round = 0; round < 5; round += 1) expect(await honest('203.0.113.2')).to.deep.equal([200, 200]);
  });

  it('are cut, also where a byte comes now and then, with a Status', async () => {
    await start(1_000);
    for (let index = 0; index < 5; index += 1) announce('203.0.113.1');
    for (let index = 0; index < 5; index += 1) {
      const socket = announce('203.0.113.3');
      timers.push(setInterval(() => socket.writable && socket.write(' '), 100));
    }
    await eventually(
      () => answered.length,
      (count) => count === 10,
    );
    for (const text of answered) {
      expect(text).to.match(/^HTTP\/1\.1 504 .*Retry-After: 1/s);
      expect(text).to.include('"kind":"Status"');
    }
    expect(await inFlight('receiving')).to.equal(0);
  });

  it('count in flight once they are there', async () => {
    await start(longMs);
    const late = announce('203.0.113.1', 'Content-Length: 15');
    await eventually(
      () => inFlight('receiving'),
      (count) => count === 1,
    );
    late.write('{"name":"jane"}');
    await eventually(
      () => inFlight('receiving'),
      (count) => count === 0,
    );
    expect(await honest('203.0.113.1')).to.deep.equal([200, 200]);
  });
});
