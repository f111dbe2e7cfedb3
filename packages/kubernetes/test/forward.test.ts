import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorAnswers } from '@atrium/http/middleware/error-answers.ts';
import { requestState } from '@atrium/http/middleware/request-state.ts';
import { Tracing } from '@atrium/http/telemetry/tracing.ts';
import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { expect } from 'chai';
import Koa from 'koa';
import { type Dispatcher, request } from 'undici';
import { forSuite } from '../../../test/support/for-suite.ts';
import { bearer, clientOf, FakeApiServer, json, silentLog, status } from './fake-api-server.ts';

const path = '/apis/auth.platform.io/v1/users';

describe('forwarding a read', () => {
  const upstream = forSuite(() => new FakeApiServer().start());
  const clients: KubernetesClient[] = [];
  const consoles: Server[] = [];
  let url: string;

  /** @returns the URL of a service whose requests have that deadline */
  const serve = async (requestTimeoutMs: number): Promise<string> => {
    const client = clientOf(upstream, requestTimeoutMs);
    clients.push(client);
    const app = new Koa();
    app.silent = true;
    app.use(requestState({ sourceOf: () => '127.0.0.1', requestTimeoutMs: 60_000, tracing: new Tracing() }));
    app.use(errorAnswers(silentLog));
    app.use((ctx) =>
      client.asCaller(bearer('jane')).forward(ctx, {
        call: 'list users',
        path,
        query: ctx.querystring,
        signal: ctx.state.signal,
        isLong: ctx.query.watch === 'true',
      }),
    );
    const console = createServer(app.callback()).listen(0, '127.0.0.1');
    consoles.push(console);
    await once(console, 'listening');
    return `http://127.0.0.1:${(console.address() as AddressInfo).port}`;
  };

  before(async () => {
    url = await serve(60_000);
  });
  beforeEach(() => {
    upstream.requests.length = 0;
  });
  after(async () => {
    for (const console of consoles) {
      console.closeAllConnections();
      console.close();
    }
    for (const client of clients) await client.close();
  });

  it('gives back media type and bytes as they are', async () => {
    const bytes = '{ "kind" : "Table",\n  "n": 1.0 }';
    upstream.answer((_request, response) =>
      response
        .writeHead(200, {
          'Content-Type': 'application/json;as=Table',
          Warning: ['299 - "a"', '299 - "b"'],
          'Audit-Id': 'id-1',
          'Set-Cookie': 'a=b',
          'Cache-Control': 'public',
          'X-Kubernetes-Pf-Flowschema-Uid': 'x',
        })
        .end(bytes),
    );
    const answer = await fetch(url, { headers: { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } });

    expect(answer.status).to.equal(200);
    expect(await answer.text()).to.equal(bytes);
    expect(answer.headers.get('content-type')).to.equal('application/json;as=Table');
    expect(answer.headers.get('warning')).to.equal('299 - "a", 299 - "b"');
    expect(answer.headers.get('audit-id')).to.equal('id-1');
    for (const name of ['set-cookie', 'cache-control', 'x-kubernetes-pf-flowschema-uid'])
      expect(answer.headers.has(name), name).to.equal(false);
    expect(upstream.requests[0]?.headers.accept).to.equal('application/json;as=Table;v=v1;g=meta.k8s.io');
  });

  it("AUZ-04 forwards no header of the caller but Accept, and the caller's verified identity", async () => {
    upstream.answer((_request, response) => json(response, 200, {}));
    const headers = {
      Authorization: 'Bearer somebody-else',
      Cookie: 'a=b',
      'Impersonate-User': 'admin',
      'IMPERSONATE-GROUP': 'system:masters',
      'impersonate-uid': '0',
      'Impersonate-Extra-scopes': 'x',
      'X-Remote-User': 'admin',
      'X-Remote-Group': 'system:masters',
      X_Remote_User: 'admin',
      'X-Console-Impersonate-Groups': 'x',
      'X-Forwarded-For': '10.0.0.1',
      'Accept-Encoding': 'gzip',
      'If-None-Match': '"x"',
      Accept: 'application/json',
    };
    await (await request(url, { headers })).body.dump();
    const { host, connection, ...sent } = upstream.requests[0]?.headers ?? {};

    expect(host).to.equal(new URL(upstream.url).host);
    expect(connection).to.equal('keep-alive');
    expect(sent).to.deep.equal({ accept: 'application/json', authorization: 'Bearer token-of-jane', 'user-agent': 'atrium' });
  });

  it('sends the query on byte for byte, and it never reaches the path', async () => {
    upstream.answer((_request, response) => json(response, 200, {}));
    const queries = [
      'labelSelector=a%3Db,c%21=d&limit=1&limit=2',
      'x=../../secrets',
      '/../../x',
      '?a=?b',
      'a+b=c;d&&=',
      'fieldSelector=%zz%2f%00',
    ];
    for (const query of queries) await (await rawGet(`/?${query}`)).body.dump();

    expect(upstream.requests.map(({ target }) => target)).to.deep.equal(queries.map((query) => `${path}?${query}`));
  });

  it('answers a refusal with the Status of the API server, or with one of the service if it sent none', async () => {
    upstream.answer((_request, response) => status(response, 403, 'Forbidden', { 'Audit-Id': 'id-2' }));
    const refusal = await fetch(url);
    upstream.answer((_request, response) => response.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>10.1.2.3</h1>'));
    const page = await fetch(url);

    expect(refusal.status).to.equal(403);
    expect(refusal.headers.get('audit-id')).to.equal('id-2');
    expect(await refusal.json()).to.include({ kind: 'Status', reason: 'Forbidden', code: 403 });
    expect(page.status).to.equal(502);
    expect(await page.json()).to.have.nested.property('details.causes[0].reason', 'UnexpectedServerResponse');
  });

  it('is 504 when the answer does not begin within the deadline', async () => {
    upstream.answer(() => undefined);

    expect((await fetch(await serve(200))).status).to.equal(504);
  });

  it('is 503 when a short answer breaks off', async () => {
    upstream.answer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', ETag: '"x"' });
      response.write('{"items":[', () => response.destroy());
    });
    const answer = await fetch(url);

    expect(answer.status).to.equal(503);
    expect(answer.headers.has('etag')).to.equal(false);
    expect(await answer.json()).to.include({ kind: 'Status', reason: 'ServiceUnavailable', code: 503 });
  });

  it('never makes a whole answer of half a long one', async () => {
    let cut: (() => void) | undefined;
    upstream.answer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.write(`{"items":["${'x'.repeat(100_000)}`);
      cut = () => response.destroy();
    });
    const { body } = await request(url);
    cut?.();

    const outcome = await body.text().then(
      () => 'complete',
      () => 'cut',
    );
    expect(outcome).to.equal('cut');
  });

  it('lets a watch last longer than the deadline, and shows at once that it has begun', async () => {
    let event: ((text: string) => void) | undefined;
    upstream.answer((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.flushHeaders();
      event = (text) => void response.write(text);
    });
    const impatient = await serve(3_000);
    const { statusCode, body } = await request(`${impatient}/?watch=true`);
    expect(statusCode).to.equal(200);
    // A read that began later has ended by now.
    upstream.answer(() => undefined);
    expect((await fetch(impatient)).status).to.equal(504);
    const read = once(body, 'data');
    event?.('{"type":"ADDED"}\n');

    expect(String((await read)[0])).to.equal('{"type":"ADDED"}\n');
    body.destroy();
  });

  for (const [where, begin, query] of [
    ['amid a long answer', 'x'.repeat(100_000), ''],
    ['from a watch', '{"items":[', '?watch=true'],
  ] as const) {
    it(`ends upstream when the caller goes away ${where}`, async () => {
      const closed = new Promise((resolve) => {
        upstream.answer((_request, response) => {
          response.on('close', () => resolve(true));
          response.writeHead(200).write(begin);
        });
      });
      const { body } = await request(`${url}/${query}`);
      body.on('error', () => undefined);
      await once(body, 'data');
      body.destroy();

      expect(await closed).to.equal(true);
    });
  }

  it('ends upstream when the caller goes away before the answer is sent on', async () => {
    const leaving = new AbortController();
    const closed = new Promise((resolve) => {
      upstream.answer((_request, response) => {
        response.on('close', () => resolve(true));
        response.writeHead(200).write('{"items":[', () => leaving.abort());
      });
    });
    await request(url, { signal: leaving.signal }).catch(() => undefined);

    expect(await closed).to.equal(true);
  });

  it('answers HEAD without a body, and does not leave one waiting upstream', async () => {
    const closed = new Promise((resolve) => {
      upstream.answer((_request, response) => {
        response.on('close', () => resolve(true));
        response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"items":[');
      });
    });
    const answer = await fetch(url, { method: 'HEAD' });

    expect(answer.status).to.equal(200);
    expect(await answer.text()).to.equal('');
    expect(await closed).to.equal(true);
  });

  /** Sends a target unchanged, which `fetch` and undici's `request` would normalize. */
  async function rawGet(target: string): Promise<Dispatcher.ResponseData> {
    const { Client } = await import('undici');
    const raw = new Client(url);
    const answer = await raw.request({ path: target, method: 'GET' });
    void raw.close();
    return answer;
  }
});
