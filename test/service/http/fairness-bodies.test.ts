import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { operation } from '@atrium/http/operation.ts';
import { requestBody } from '@atrium/http/slow-clients.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { type BareService, startBareService } from '../../../packages/http/test/bare-service.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { Crowd, from, networks } from './crowd.ts';

const [network] = networks;
/** Strangers have a quarter of the places, and a network has a fifth of them. */
const maxInFlight = 200;
const ofNetwork = 10;
const ofStrangers = 50;
const common = { tag: 'test', summary: 'test', method: 'POST', answers: { 200: { description: 'done' } } } as const;
const body = z.object({ name: z.string() });
/** Larger than what Node.js reads ahead. */
const largeBody = JSON.stringify({ name: 'j'.repeat(300_000) });

describe('the limit of requests with a body', () => {
  let service: BareService;
  let crowd: Crowd;
  /** Requests whose handler, or the issuer's middleware, runs. */
  let running: number;
  let most: number;
  const sockets: Socket[] = [];

  const work = async () => {
    running += 1;
    most = Math.max(most, running);
    await crowd.isOver;
    running -= 1;
  };
  const operations = [
    operation({
      ...common,
      id: 'Json',
      paths: ['/api/json'],
      credential: 'none',
      body,
      async handle({ ctx }) {
        await work();
        ctx.body = 'done';
      },
    }),
    operation({
      ...common,
      id: 'Streamed',
      paths: ['/api/streamed'],
      credential: 'none',
      bodyLimit: 2 ** 20,
      async handle({ ctx }) {
        let bytes = 0;
        for await (const chunk of requestBody(ctx, 2 ** 20)) bytes += chunk.length;
        await work();
        ctx.body = String(bytes);
      },
    }),
    operation({
      ...common,
      id: 'Unread',
      paths: ['/api/unread'],
      credential: 'none',
      async handle({ ctx }) {
        await work();
        ctx.body = 'done';
      },
    }),
    operation({
      ...common,
      id: 'Known',
      paths: ['/api/known'],
      credential: 'required',
      body,
      handle({ ctx }) {
        ctx.body = 'done';
      },
    }),
  ];

  beforeEach(async () => {
    crowd = new Crowd();
    running = 0;
    most = 0;
    service = await startBareService(operations, {
      maxInFlight,
      bodyLimit: 2 ** 20,
      bodyTimeoutMs: 600_000,
      trustedProxies: ['127.0.0.1'],
      authenticate: work,
      before: {
        prefix: '/identity',
        middleware: async (ctx) => {
          await work();
          for await (const _ of ctx.req);
          ctx.body = 'done';
        },
      },
    });
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await crowd.end();
    await service.stop();
  });

  const post = (path: string, content: string, headers: Record<string, string> = {}) =>
    fetch(`${service.url}${path}`, {
      method: 'POST',
      headers: from(network, { 'content-type': 'application/json', ...headers }),
      body: content,
    }).then(async (response) => {
      await response.arrayBuffer();
      return response;
    });
  const smallBody = '{"name":"jane"}';
  const sent: Readonly<Record<string, (index: number) => Promise<Response>>> = {
    JSON: () => post('/api/json', smallBody),
    'large JSON': () => post('/api/json', largeBody),
    'a body that is passed on': () => post('/api/streamed', smallBody),
    'a large body that is passed on': () => post('/api/streamed', largeBody),
    'a body that no one reads': () => post('/api/unread', smallBody),
    'a large body that no one reads': () => post('/api/unread', largeBody),
    'a body beside an unknown token': (index) => post('/api/known', smallBody, { authorization: `Bearer unknown-${index}` }),
    'a form for the embedded issuer': () => post('/identity/token', smallBody),
  };
  for (const [what, ask] of Object.entries(sent))
    it(`LIM-14 serves no more requests with ${what} than the network has places`, async () => {
      crowd.send(100, ask);
      await eventually(
        () => crowd.count(429),
        (count) => count === 100 - ofStrangers,
      );
      expect({ running, most }).to.deep.equal({ running: ofNetwork, most: ofNetwork });
      expect(crowd.answers.map(({ headers }) => headers.get('retry-after'))).to.deep.equal(Array.from({ length: 50 }, () => '1'));
      await crowd.end();
      expect(most).to.equal(ofNetwork);
      expect(crowd.answers).to.have.length(100);
      expect(crowd.count(429)).to.equal(50);
      const further = await ask(100);
      expect(further.status).to.equal(what.includes('token') ? 401 : 200);
    });

  /** Sends a part of a body. */
  const begin = (path: string, bytes: number, headers: Record<string, string> = {}) => {
    const socket = connect(service.port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    const lines = Object.entries(
      from(network, { 'Content-Type': 'application/json', 'Content-Length': String(largeBody.length), ...headers }),
    );
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${head}\r\n${largeBody.slice(0, bytes)}`);
    return socket;
  };
  for (const [path, bytes] of [
    ['/api/json', 0],
    ['/api/json', 10],
    ['/api/json', 200_000],
    ['/api/streamed', 10],
    ['/api/streamed', 200_000],
  ] as const)
    it(`LIM-08 takes no place for ${bytes} bytes of a body to ${path} whose rest does not come`, async () => {
      const begun = Array.from({ length: ofStrangers }, () => begin(path, bytes));
      await eventually(
        () => service.inFlight('receiving'),
        (count) => count === ofStrangers,
      );
      await Promise.all(
        begun.map((socket) =>
          eventually(
            () => socket.bytesWritten,
            (written) => written > bytes,
          ),
        ),
      );
      const honest = [post('/api/json', smallBody), post('/api/streamed', largeBody)];
      await eventually(
        () => running,
        (count) => count === 2,
      );
      await crowd.end();
      expect((await Promise.all(honest)).map(({ status }) => status)).to.deep.equal([200, 200]);
    });

  it('LIM-08 takes a place for a large body once it has arrived', async () => {
    const late = begin('/api/json', 200_000);
    let answer = '';
    late.setEncoding('latin1').on('data', (text) => {
      answer += text;
    });
    await eventually(
      () => service.inFlight('receiving'),
      (count) => count === 1,
    );
    crowd.send(ofStrangers + 1, () => post('/api/json', smallBody));
    await crowd.refused(1);
    late.write(largeBody.slice(200_000));
    await eventually(
      () => answer,
      (text) => text !== '',
    );
    expect(answer).to.match(/^HTTP\/1\.1 429 /);
    expect(most).to.equal(ofNetwork);
  });

  it('keeps the connection of a large body that no one reads', async () => {
    const socket = begin('/api/unread', largeBody.length);
    let answer = '';
    socket.setEncoding('latin1').on('data', (text) => {
      answer += text;
    });
    await crowd.end();
    socket.write('POST /api/unread HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await once(socket, 'close');
    expect(answer.match(/HTTP\/1\.1 200 OK/g)).to.have.length(2);
  });

  it('LIM-08 refuses before the body of a request without a credential has arrived', async () => {
    const socket = begin('/api/known', 10);
    const [answer] = await once(socket.setEncoding('latin1'), 'data');
    expect(answer).to.match(/^HTTP\/1\.1 401 .*Connection: close/s);
  });
});
