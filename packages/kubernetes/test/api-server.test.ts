import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { UpstreamError } from '@atrium/kubernetes/upstream-error.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { forSuite } from '../../../test/support/for-suite.ts';
import { get, ok, post, statusOf } from './calls.ts';
import { bearer, clientOf, FakeApiServer, failureOf, inTurn, json, status, statusBody } from './fake-api-server.ts';

describe('a call to the API server', () => {
  const server = forSuite(() => new FakeApiServer().start());
  beforeEach(() => {
    server.requests.length = 0;
  });

  it('has the rights of the caller or of the service, never of both', async () => {
    const client = clientOf(server);
    server.answer(ok);
    await client.asCaller(bearer('jane')).request(get());
    await client.asService.request(get());
    await client.asCaller(bearer('bob')).request(get());

    expect(server.requests.map(({ headers }) => headers.authorization)).to.deep.equal([
      'Bearer token-of-jane',
      'Bearer ours',
      'Bearer token-of-bob',
    ]);
    await client.close();
  });

  it('carries its method, path, query and body as JSON', async () => {
    const client = clientOf(server);
    server.answer((_request, response) => json(response, 201, { made: 1 }));
    const query = new URLSearchParams({ fieldManager: 'a b' });
    const answer = await client.asService.request(post({ method: 'PATCH', query, contentType: 'application/merge-patch+json' }));

    expect(answer).to.deep.equal({ made: 1 });
    expect(server.requests[0]).to.include({
      method: 'PATCH',
      target: '/api/v1/namespaces/shop/configmaps/logo?fieldManager=a+b',
      body: '{"a":1}',
    });
    expect(server.requests[0]?.headers).to.include({ 'content-type': 'application/merge-patch+json', accept: 'application/json' });
    await client.close();
  });

  it('goes below the path of an API server that has one', async () => {
    const client = clientOf({ url: `${server.url}/k8s/clusters/c-1` });
    server.answer(ok);
    await client.asService.request(get());

    expect(server.requests[0]?.path).to.equal('/k8s/clusters/c-1/api/v1/namespaces/shop/configmaps/logo');
    await client.close();
  });

  it('is not made for a path or query that could mean another path', async () => {
    const client = clientOf(server);
    server.answer(ok);
    for (const path of ['/api/v1/../../metrics', '/api/v1/%2e%2e/secrets', '/api/v1/namespaces//secrets', '/version']) {
      expect(statusOf(await failureOf(client.asService.request(get({ path })))).code, path).to.equal(404);
    }
    for (const query of ['a=b#c', 'a=b c', 'a=b\r\nHost: x']) {
      expect(statusOf(await failureOf(client.asService.request(get({ query })))).code, query).to.equal(400);
    }

    expect(server.requests).to.deep.equal([]);
    await client.close();
  });

  it('passes a Status on unchanged, with Retry-After, Warning and Audit-Id', async () => {
    const client = clientOf(server);
    const body = {
      ...statusBody(409, 'Conflict', 'the object has been modified'),
      metadata: { x: 1 },
      details: { name: 'logo', kind: 'configmaps', more: [1] },
    };
    server.answer((_request, response) =>
      json(response, 409, body, { 'Audit-Id': 'id-1', Warning: ['299 - "a"', '299 - "b"'], 'X-Other': 'no' }),
    );
    const error = await failureOf(client.asCaller(bearer('jane')).request(post()));

    expect(error).to.be.instanceOf(UpstreamError);
    expect(error).to.have.deep.property('status', body);
    expect(error).to.have.deep.property('headers', { 'Audit-Id': 'id-1', Warning: '299 - "a", 299 - "b"' });
    await client.close();
  });

  const bodies: [string, number, string][] = [
    ['a page of a proxy', 502, '<html>nginx at 10.0.0.1</html>'],
    ['nothing', 403, ''],
    ['a Status of another code', 404, JSON.stringify(statusBody(500, 'InternalError'))],
    ['a Success', 500, JSON.stringify({ ...statusBody(500, 'x'), status: 'Success' })],
    ['more than 64 KiB', 500, JSON.stringify(statusBody(500, 'InternalError', 'x'.repeat(70_000)))],
  ];
  for (const [what, code, body] of bodies) {
    it(`makes a Status with cause UnexpectedServerResponse of ${what}`, async () => {
      const client = clientOf(server);
      server.answer((_request, response) => response.writeHead(code).end(body));
      const error = await failureOf(client.asCaller(bearer('jane')).request(post()));

      expect(error).to.have.nested.property('status.code', code);
      expect(error).to.have.nested.property('status.details.causes[0].reason', 'UnexpectedServerResponse');
      expect(JSON.stringify(error)).not.to.include('10.0.0.1');
      await client.close();
    });
  }

  it('is 503 for a redirect and for a success that is not JSON', async () => {
    const client = clientOf(server);
    server.answer((_request, response) => response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end());
    expect(statusOf(await failureOf(client.asService.request(get()))).code).to.equal(503);
    server.answer((_request, response) => response.end('hello'));
    expect(statusOf(await failureOf(client.asService.request(get()))).code).to.equal(503);

    expect(server.requests).to.have.length(2);
    await client.close();
  });

  it('answers 401 to a caller whose token is refused, and 503 if the service account is refused', async () => {
    const client = clientOf(server);
    server.answer((_request, response) => status(response, 401, 'Unauthorized'));
    const asCaller = statusOf(await failureOf(client.asCaller(bearer('jane')).request(get())));
    const asService = statusOf(await failureOf(client.asService.request(get())));
    server.answer((_request, response) => status(response, 403, 'Forbidden'));
    const forbidden = statusOf(await failureOf(client.asService.request(get())));

    expect(asCaller).to.deep.include({ code: 401, headers: { 'WWW-Authenticate': 'Bearer realm="atrium", error="invalid_token"' } });
    for (const refusal of [asService, forbidden]) expect(refusal).to.deep.include({ code: 503, headers: { 'Retry-After': '1' } });
    await client.close();
  });

  it('FLT-03 is 503 at once when connections are refused, and works again when they are not', async () => {
    const down = await new FakeApiServer().start();
    down.answer(ok);
    const client = clientOf(down, 60_000);
    expect(client.failure()).to.equal(undefined);
    await client.asService.request(get());
    await down.stop();
    expect(statusOf(await failureOf(client.asCaller(bearer('jane')).request(post())))).to.deep.equal({
      code: 503,
      reason: 'ServiceUnavailable',
      headers: { 'Retry-After': '1' },
    });
    await failureOf(client.asService.request(get()));
    expect(client.failure()).to.equal('ECONNREFUSED');
    await down.start();

    expect(await client.asService.request(get())).to.deep.equal({ fine: true });
    expect(client.failure()).to.equal(undefined);
    await client.close();
    await down.stop();
  });

  it('FLT-04 is 504 after the deadline, also when the answer stops half-way', async () => {
    const client = clientOf(server, 100);
    server.answer(() => undefined);
    expect(statusOf(await failureOf(client.asService.request(get())))).to.deep.equal({
      code: 504,
      reason: 'Timeout',
      headers: { 'Retry-After': '1' },
    });
    server.answer((_request, response) => response.writeHead(200).write('{"half":'));
    expect(statusOf(await failureOf(client.asService.request(get()))).code).to.equal(504);
    server.answer((_request, response) => response.writeHead(500).write('{"half":'));
    expect(statusOf(await failureOf(client.asService.request(get()))).code).to.equal(504);
    await client.close();
  });

  it('ends when the caller goes away, upstream too, and throws the reason of the signal', async () => {
    const client = clientOf(server, 60_000);
    const goingAway = new AbortController();
    const upstreamClosed = new Promise((resolve) => {
      server.answer((_request, response) => {
        response.on('close', () => resolve(true));
        goingAway.abort(new Error('gone'));
      });
    });
    const error = await failureOf(client.asCaller(bearer('jane')).request(get({ signal: goingAway.signal })));

    expect(error).to.equal(goingAway.signal.reason);
    expect(await upstreamClosed).to.equal(true);
    expect(client.failure()).to.equal(undefined);
    expect(await failureOf(client.asService.request(get({ signal: goingAway.signal })))).to.equal(goingAway.signal.reason);
    await client.close();
  });

  it('ends when the caller goes away while the TLS handshake goes unanswered', async () => {
    const goingAway = new AbortController();
    const sockets: Socket[] = [];
    const silent = createServer((socket) => {
      sockets.push(socket);
      goingAway.abort(new Error('gone'));
    });
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    // Without the abort the call would outlast this test.
    const client = clientOf({ url: `https://127.0.0.1:${(silent.address() as AddressInfo).port}` }, 600_000);
    const error = await failureOf(client.asService.request(get({ signal: goingAway.signal })));

    expect(error).to.equal(goingAway.signal.reason);
    await client.close();
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('does not quote a body that is not JSON', async () => {
    const client = clientOf(server);
    server.answer((_request, response) => response.end('{"data":{"password":s3cret'));
    const error = await failureOf(client.asService.request(get()));

    expect(error).to.be.instanceOf(StatusError);
    expect(String((error as StatusError).cause)).to.equal('Error: the body is not JSON');
    await client.close();
  });

  it('FLT-04 is 503 at once when too many wait already', async () => {
    const client = clientOf(server, 60_000);
    server.answer(() => undefined);
    const goingAway = new AbortController();
    const waiting = Array.from({ length: 2048 }, () => failureOf(client.asService.request(get({ signal: goingAway.signal }))));
    await Promise.resolve();

    expect(statusOf(await failureOf(client.asService.request(get())))).to.deep.include({ code: 503 });
    goingAway.abort(new Error('gone'));
    expect(new Set(await Promise.all(waiting))).to.deep.equal(new Set([goingAway.signal.reason]));
    server.answer(ok);
    expect(await client.asService.request(get())).to.deep.equal({ fine: true });
    await client.close();
  });

  it('keeps its connections', async () => {
    const client = clientOf(server);
    const ports = new Set<number | undefined>();
    server.answer((_request, response) => {
      ports.add(response.socket?.remotePort);
      json(response, 200, {});
    });
    for (let turn = 0; turn < 5; turn += 1) await client.asCaller(bearer(`person-${turn}`)).request(get());

    expect(ports.size).to.be.at.most(2);
    await client.close();
  });

  it('separates concurrent calls of callers on shared connections', async () => {
    const client = clientOf(server);
    server.answer(({ headers }, response) => setTimeout(() => json(response, 200, { for: headers.authorization }), Math.random() * 5));
    const answers = await Promise.all(Array.from({ length: 300 }, (_, index) => client.asCaller(bearer(`p${index}`)).request(get())));

    expect(answers).to.deep.equal(answers.map((_, index) => ({ for: `Bearer token-of-p${index}` })));
    await client.close();
  });

  it('is counted by its name and how it ended', async () => {
    const metrics = new Metrics();
    const client = clientOf(server, 60_000, metrics);
    const impatient = clientOf(server, 100, metrics);
    server.answer(inTurn(ok, (_request, response) => status(response, 404, 'NotFound')));
    await client.asService.request(get());
    await failureOf(client.asService.request(get()));
    server.answer(() => undefined);
    await failureOf(impatient.asService.request(get()));
    const text = await metrics.registry.metrics();

    for (const outcome of ['200', '404', 'timeout']) {
      expect(text).to.include(`atrium_kubernetes_request_duration_seconds_count{call="get configmaps",outcome="${outcome}"} 1`);
    }
    await client.close();
    await impatient.close();
  });
});
