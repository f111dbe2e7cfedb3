import { connect } from 'node:net';
import { expect } from 'chai';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { forSuite } from '../../../test/support/for-suite.ts';
import { rawGet, sendRaw } from '../../../test/support/raw-http.ts';
import { startBareService } from './bare-service.ts';

import { operations, post, slow, startFrame, statusOf } from './frame-operations.ts';

describe('the frame around every request', () => {
  const service = forSuite(startFrame);
  beforeEach(() => {
    slow.aborted.splice(0);
    slow.waiting.splice(0);
  });

  it('LIM-02 refuses bodies that are not strict JSON with 400, and no prototype is polluted', async () => {
    const bad: Record<string, string> = {
      'half an object': '{"name":',
      'a comment': '{"name":"a"/*x*/}',
      'a trailing comma': '{"name":"a",}',
      'a key twice': '{"name":"a","name":"b"}',
      'a key twice, once escaped': '{"name":"a","\\u006eame":"b"}',
      'too deep': `${'['.repeat(100_000)}${']'.repeat(100_000)}`.slice(0, 1000),
      'a number out of range': '{"name":"a","count":1e999}',
      'a lone surrogate': '{"name":"\\ud800"}',
      'a prototype': '{"name":"a","__proto__":{"polluted":true}}',
      'a constructor': '{"name":"a","constructor":{"prototype":{"polluted":true}}}',
      'no UTF-8': Buffer.from([0x22, 0xff, 0x22]).toString('latin1'),
      'two values': '{"name":"a"} {}',
    };
    for (const [what, body] of Object.entries(bad)) {
      expect((await statusOf(await post(service, body))).reason, what).to.equal('BadRequest');
    }
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined);
    expect((await post(service, '{"name":"a"}')).status).to.equal(200);
  });

  it('LIM-01 refuses a large body unread: by its length, and without a length at the limit; also on paths that take none', async () => {
    const announced = await sendRaw(
      service.port,
      'POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n{',
    );
    const onGet = await sendRaw(service.port, 'GET /api/tagged HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n');
    const chunked = await sendRaw(
      service.port,
      `POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n${' '.repeat(0x800)}\r\n`,
    );

    expect([announced.status, onGet.status, chunked.status]).to.deep.equal([413, 413, 413]);
    expect(announced.headers.connection).to.equal('close');
    expect(JSON.parse(announced.body)).to.include({ kind: 'Status', reason: 'RequestEntityTooLarge' });
  });

  it('LIM-01 refuses large and many headers with 431', async () => {
    const large = await rawGet(service.port, '/api/tagged', 'GET', `X-Large: ${'x'.repeat(20_000)}\r\n`);
    const many = await rawGet(service.port, '/api/tagged', 'GET', Array.from({ length: 500 }, (_, index) => `x${index}: 1\r\n`).join(''));
    const longURL = await rawGet(service.port, `/api/tagged?x=${'x'.repeat(20_000)}`);

    expect([large.status, many.status, longURL.status]).to.deep.equal([431, 431, 431]);
    for (const { body } of [large, many, longURL]) expect(JSON.parse(body)).to.include({ kind: 'Status', code: 431 });
  });

  it('LIM-05 ends the connection where the end of a message could be read in two ways', async () => {
    const forms = [
      'POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'POST /api/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
      'POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n{"a"}',
      'GET /api/tagged HTTP/1.1\nHost: x\n\n',
      'GET /api/tagged HTTP/1.1\r\nHost: x\r\nX-Folded: a\r\n b\r\n\r\n',
    ];
    for (const form of forms) {
      const answer = await sendRaw(service.port, form);
      expect(answer.status, form).to.equal(400);
      expect(answer.headers.connection, form).to.equal('close');
    }
  });

  it('answers 504 at the deadline, and aborts the handler', async () => {
    const hurried = await startBareService(operations, { requestTimeoutMs: 300, arrivalTimeoutMs: 60_000 });
    try {
      const response = await fetch(`${hurried.url}/api/slow`);

      expect(await statusOf(response)).to.include({ code: 504, reason: 'Timeout' });
      expect(response.headers.get('retry-after')).to.equal('1');
      expect(slow.aborted).to.have.length(1);
    } finally {
      await hurried.stop();
    }
  });

  it('aborts the handler when the caller disconnects', async () => {
    const controller = new AbortController();
    const request = fetch(`${service.url}/api/slow`, { signal: controller.signal }).catch((error: unknown) => error);
    await eventually(
      () => service.inFlight('short'),
      (count) => count === 1,
    );
    controller.abort();
    await request;

    await eventually(
      () => slow.aborted.length,
      (count) => count === 1,
    );
  });

  it('answers 429 with Retry-After when too many are in flight, and probes all the same', async () => {
    const held = Array.from({ length: 3 }, () => fetch(`${service.url}/api/slow`));
    await eventually(
      () => service.inFlight('short'),
      (count) => count === 3,
    );
    const refused = await fetch(`${service.url}/api/tagged`);
    const probe = await fetch(`${service.url}/healthz`);

    expect(await statusOf(refused)).to.include({ code: 429, reason: 'TooManyRequests' });
    expect(refused.headers.get('retry-after')).to.equal('1');
    expect(probe.status).to.equal(200);
    slow.release();
    expect((await Promise.all(held)).map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    expect((await fetch(`${service.url}/api/tagged`)).status).to.equal(200);
  });

  it('LIM-04 cuts a sender that is slower than the deadline', async () => {
    const hurried = await startBareService(operations, { requestTimeoutMs: 300 });
    try {
      const answer = await sendRaw(
        hurried.port,
        'POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
      );

      expect(answer.status).to.be.oneOf([408, 504]);
      expect(JSON.parse(answer.body)).to.include({ kind: 'Status' });
    } finally {
      await hurried.stop();
    }
  });

  const halfSent = ({ port }: { port: number }) =>
    Array.from({ length: 500 }, () => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      socket.resume().write('GET /api/tagged HTTP/1.1\r\nX: ');
      return socket;
    });

  it('LIM-04 keeps answering while many connections send no bytes', async () => {
    const idle = halfSent(service);

    expect((await fetch(`${service.url}/api/tagged`)).status).to.equal(200);
    for (const socket of idle) socket.destroy();
  });

  it('LIM-04 ends many connections that send nothing', async () => {
    const hurried = await startBareService(operations, { requestTimeoutMs: 300 });
    const idle = halfSent(hurried);
    try {
      await eventually(
        () => idle.filter((socket) => !socket.destroyed && !socket.readableEnded).length,
        (open) => open === 0,
      );
    } finally {
      for (const socket of idle) socket.destroy();
      await hurried.stop();
    }
  });

  it('LIM-04 ends an unused connection without an answer, which a browser could take for that to its next request', async () => {
    const hurried = await startBareService(operations, { requestTimeoutMs: 300 });
    try {
      const [unused, begun] = await Promise.all([sendRaw(hurried.port), sendRaw(hurried.port, 'GET /api/tagged HTTP/1.1\r\nX: ')]);

      expect(unused).to.deep.equal({ status: Number.NaN, headers: {}, body: '' });
      expect(begun.status).to.equal(504);
      expect(JSON.parse(begun.body)).to.include({ kind: 'Status', reason: 'Timeout' });
    } finally {
      await hurried.stop();
    }
  });

  it('LIM-06 reviews no more than 600 refused tokens a minute from one address, and keeps serving accepted ones', async () => {
    // The clock stands still, so that the minute never ends.
    const guarded = await startBareService(operations, { clock: () => 0 });
    const codes: Record<number, number> = {};
    const ask = async (token: string) => {
      const response = await fetch(`${guarded.url}/api/echo`, { headers: { authorization: `Bearer ${token}` } });
      await response.arrayBuffer();
      return response;
    };
    try {
      expect((await ask('good')).status).to.equal(200);
      for (let batch = 0; batch < 140; batch++) {
        for (const { status } of await Promise.all([0, 1, 2, 3, 4].map((index) => ask(`bad-${batch}-${index}`))))
          codes[status] = (codes[status] ?? 0) + 1;
      }
      const refused = await ask('bad-again');

      // Requests in progress with the 600th are counted when they are refused.
      expect(codes[401]).to.be.within(600, 604);
      expect((codes[401] ?? 0) + (codes[429] ?? 0)).to.equal(700);
      expect(guarded.judged).to.equal(1 + (codes[401] ?? 0));
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
      expect((await ask('good')).status).to.equal(200);
    } finally {
      await guarded.stop();
    }
  });

  it('LIM-10 counts refused tokens of an IPv6 /64 together', async () => {
    const guarded = await startBareService(operations, { trustedProxies: ['127.0.0.1'], clock: () => 0 });
    const ask = async (address: string, token: string) => {
      const headers = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': address };
      const response = await fetch(`${guarded.url}/api/echo`, { headers });
      await response.arrayBuffer();
      return response.status;
    };
    try {
      for (let index = 0; index < 600; index += 50)
        await Promise.all(Array.from({ length: 50 }, (_, more) => ask(`2001:db8::${(index + more).toString(16)}`, `bad-${index + more}`)));
      expect(await ask('2001:db8:0:0:ffff::1', 'bad-more')).to.equal(429);
      expect(guarded.judged).to.equal(600);
      expect(await ask('2001:db8:0:1::1', 'bad-more')).to.equal(401);
    } finally {
      await guarded.stop();
    }
  });

  it('lets a request in flight finish when it stops, and accepts no new one', async () => {
    const stopping = await startBareService(operations);
    const held = fetch(`${stopping.url}/api/slow`);
    await eventually(
      () => stopping.inFlight('short'),
      (count) => count === 1,
    );
    const stopped = stopping.stop(60_000);
    const refused = await fetch(`${stopping.url}/api/tagged`).catch((error: unknown) => error);
    slow.release();

    expect(refused).to.be.instanceOf(Error);
    expect(await (await held).json()).to.deep.equal({ released: true });
    await stopped;
  });
});
