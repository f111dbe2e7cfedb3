import { connect } from 'node:net';
import { operation } from '@atrium/http/operation.ts';
import { forbiddenPath } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { forSuite } from '../../../test/support/for-suite.ts';
import { rawGet, sendRaw } from '../../../test/support/raw-http.ts';
import { startBareService } from './bare-service.ts';

const common = { tag: 'test', summary: 'test', answers: { 200: { description: 'done' } } };
let begun = 0;

const operations = [
  operation({
    ...common,
    id: 'Write',
    method: 'POST',
    paths: ['/api/write'],
    credential: 'required',
    body: z.object({ name: z.string() }),
    handle({ ctx, body }) {
      ctx.body = body;
    },
  }),
  operation({
    ...common,
    id: 'Forbidden',
    method: 'POST',
    paths: ['/api/forbidden'],
    credential: 'required',
    described: { body: { 'application/json': z.unknown() } },
    handle() {
      throw forbiddenPath({ user: 'jane', verb: 'post', path: '/api/forbidden' });
    },
  }),
  operation({
    ...common,
    id: 'Read',
    method: 'GET',
    paths: ['/api/read'],
    credential: 'none',
    handle({ ctx }) {
      ctx.body = { a: 1 };
    },
  }),
  operation({
    ...common,
    id: 'Slow',
    method: 'GET',
    paths: ['/api/slow'],
    credential: 'none',
    handle: ({ signal }) =>
      new Promise<void>((_resolve, reject) => {
        begun += 1;
        signal.addEventListener('abort', () => reject(new Error('upstream was given up')), { once: true });
      }),
  }),
];

const isStatus = (text: string, code: number) => expect(JSON.parse(text)).to.include({ kind: 'Status', status: 'Failure', code });

describe('the HTTP server', () => {
  const service = forSuite(() => startBareService(operations, { basePath: '/console', isSecure: true }));

  it('makes browsers use https only if the public address is https, with failures too', async () => {
    for (const path of ['/console/api/read', '/console/api/nothing', '/elsewhere', '/console'])
      expect((await rawGet(service.port, path)).headers['strict-transport-security'], path).to.equal('max-age=31536000');
    const plain = await startBareService(operations);
    try {
      expect((await rawGet(plain.port, '/api/read')).headers).to.not.have.property('strict-transport-security');
    } finally {
      await plain.stop();
    }
  });

  for (const [what, hosts] of Object.entries({
    'two Host headers': ['a.example', 'b.example'],
    'the same Host twice': ['a.example', 'a.example'],
    'no Host': [],
    'an empty Host': [''],
    'a Host with a path': ['a.example/x'],
    'a Host with a user': ['jane@a.example'],
    'a list of Hosts': ['a.example, b.example'],
    'a Host with a bad port': ['a.example:http'],
    'a Host with a blank': ['a example'],
  }))
    it(`LIM-05 refuses ${what} with 400, and ends the connection`, async () => {
      const lines = hosts.map((host) => `Host: ${host}\r\n`).join('');
      const answer = await sendRaw(service.port, `GET /console/api/read HTTP/1.1\r\n${lines}\r\n`);
      expect(answer.status).to.equal(400);
      isStatus(answer.body, 400);
      expect(answer.headers.connection).to.equal('close');
      expect(answer.headers).to.include.keys('x-request-id', 'x-content-type-options');
    });

  it('takes every Host that names one', async () => {
    for (const host of ['console.example.com', 'console:8443', '127.0.0.1:80', '[::1]:8080', 'my_service.ns.svc', 'XN--BCHER-KVA.example'])
      expect(
        (await sendRaw(service.port, `GET /console/api/read HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).status,
        host,
      ).to.equal(200);
    expect((await sendRaw(service.port, 'GET /console/api/read HTTP/1.0\r\n\r\n')).status).to.equal(200);
  });

  it('leads from the base path without its slash to the one with it', async () => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await rawGet(service.port, '/console?lang=de', method);
      expect(answer.status).to.equal(308);
      expect(answer.headers.location).to.equal('/console/?lang=de');
    }
    const post = await rawGet(service.port, '/console', 'POST');
    expect(post.status).to.equal(405);
    expect(post.headers.allow).to.equal('GET, HEAD');
    expect((await rawGet(service.port, '/')).status).to.equal(404);
  });

  it('ignores an upgrade that nothing here offers', async () => {
    for (const protocol of ['websocket', 'h2c', 'TLS/1.0', 'unheard-of'])
      expect((await rawGet(service.port, '/console/api/read', 'GET', `Upgrade: ${protocol}\r\n`)).status, protocol).to.equal(200);
  });

  const body = '{"name":"jane"}';
  const expecting = (line: string, headers: string) =>
    sendRaw(service.port, `${line} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n${headers}Connection: close\r\n\r\n`);
  const announced = `Content-Length: ${body.length}\r\n`;
  const json = 'Content-Type: application/json\r\n';
  const good = 'Authorization: Bearer good\r\n';

  for (const [code, line, headers] of [
    [401, 'POST /console/api/write', announced + json],
    [401, 'POST /console/api/write', `${announced}${json}Authorization: Bearer bad\r\n`],
    [403, 'POST /console/api/forbidden', announced + json + good],
    [404, 'POST /console/api/nothing', announced + json + good],
    [405, 'PUT /console/api/write', announced + json + good],
    [413, 'POST /console/api/write', `Content-Length: 5000\r\n${json}${good}`],
    [415, 'POST /console/api/write', `${announced}Content-Type: text/plain\r\n${good}`],
    [415, 'POST /console/api/write', `${announced}${json}Content-Encoding: gzip\r\n${good}`],
    [400, 'POST /console/api/write', `${announced}${json}${good}Host: y\r\n`],
  ] as const)
    it(`refuses with ${code} before a body is asked for (${line}, ${headers.replaceAll('\r\n', ' ').trim()})`, async () => {
      const answer = await expecting(line, headers);
      expect(answer.status).to.equal(code);
      isStatus(answer.body, code);
      expect(answer.headers.connection).to.equal('close');
    });

  for (const [code, line, headers] of [
    [401, 'POST /console/api/write', 'Content-Length: 0\r\n'],
    [404, 'GET /console/api/nothing', ''],
    [405, 'DELETE /console/api/read', ''],
  ] as const)
    it(`refuses with ${code} and keeps the connection where there is no body (${line})`, async () => {
      const {
        status,
        headers: first,
        body: next,
      } = await sendRaw(
        service.port,
        `${line} HTTP/1.1\r\nHost: x\r\n${headers}\r\nGET /console/api/read HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      expect(status).to.equal(code);
      expect(first.connection).to.equal('keep-alive');
      expect(next).to.match(/\}HTTP\/1\.1 200 OK\r\n/);
    });

  it('requests the body that it reads, once', async () => {
    const answer = await sendRaw(
      service.port,
      `POST /console/api/write HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n${announced}${json}${good}Connection: close\r\n\r\n`,
      body,
    );
    expect(answer.status).to.equal(100);
    expect(answer.body).to.match(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer.body.match(/HTTP\/1\.1/g)).to.have.length(1);
    expect(answer.body).to.include(body);
  });

  it('ignores an expectation that it does not know', async () => {
    expect((await rawGet(service.port, '/console/api/read', 'GET', 'Expect: coffee\r\n')).status).to.equal(200);
  });

  it('logs a caller that goes away as 499, and as no failure', async () => {
    const [lines, before] = [service.logLines.length, begun];
    const socket = connect(service.port, '127.0.0.1');
    socket.write('GET /console/api/slow HTTP/1.1\r\nHost: x\r\n\r\n');
    await eventually(
      () => begun,
      (count) => count === before + 1,
    );
    socket.destroy();
    const written = await eventually(
      () => service.logLines.slice(lines).map((line): Record<string, unknown> => JSON.parse(line)),
      (entries) => entries.some(({ code }) => code === 499),
    );
    // Further log lines would be written before the answer to this request.
    await rawGet(service.port, '/console/api/read');
    expect(written.map(({ level, msg, operation: id }) => ({ level, msg, id }))).to.deep.equal([
      { level: 'info', msg: 'request', id: 'Slow' },
    ]);
    const all = service.logLines.slice(lines).map((line): Record<string, unknown> => JSON.parse(line));
    expect(all.filter(({ level }) => level !== 'info')).to.deep.equal([]);
  });
});
