import { expect } from 'chai';
import { z } from 'zod';
import { operation } from '../../../src/http/operation.ts';
import { startBareService } from '../../support/bare-service.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { rawGet, sendRaw } from '../../support/raw-http.ts';

const answers = { 200: { description: 'done' } };
const common = { tag: 'test', summary: 'test', answers };

/** What the operations below saw, for tests that end a request early. */
let aborted: unknown[] = [];
let release: () => void = () => undefined;

const operations = [
  operation({
    ...common,
    id: 'Echo',
    method: 'POST',
    paths: ['/api/echo'],
    credential: 'none',
    query: z.object({ limit: z.coerce.number().int().min(1).optional(), tag: z.array(z.string()).optional() }),
    body: z.object({ name: z.string(), count: z.number().optional() }),
    handle({ ctx, query, body }) {
      ctx.body = { query, body };
    },
  }),
  operation({
    ...common,
    id: 'Read',
    method: 'GET',
    paths: ['/api/echo'],
    credential: 'optional',
    handle({ ctx, caller }) {
      ctx.body = { name: caller?.identity.name ?? 'anonymous' };
    },
  }),
  operation({
    ...common,
    id: 'Tagged',
    method: 'GET',
    paths: ['/api/tagged'],
    credential: 'none',
    handle({ ctx }) {
      ctx.set('ETag', '"1"');
      ctx.body = { a: 1 };
    },
  }),
  operation({
    ...common,
    id: 'Broken',
    method: 'GET',
    paths: ['/api/broken'],
    credential: 'none',
    handle() {
      throw new Error('password=hunter2 at /srv/secret/path');
    },
  }),
  operation({
    ...common,
    id: 'Slow',
    method: 'GET',
    paths: ['/api/slow'],
    credential: 'none',
    handle: ({ ctx, signal }) =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => aborted.push(signal.reason));
        release = () => {
          ctx.body = { released: true };
          resolve();
        };
      }),
  }),
  operation({
    ...common,
    id: 'Page',
    method: 'GET',
    paths: ['/{*subpath}'],
    credential: 'none',
    handle({ ctx }) {
      ctx.body = 'page';
    },
  }),
];

async function statusOf(response: Response) {
  expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
  const body = z
    .looseObject({ kind: z.literal('Status'), status: z.literal('Failure'), code: z.number(), reason: z.string(), message: z.string() })
    .parse(await response.json());
  expect(body.code).to.equal(response.status);
  return body;
}

describe('the frame around every request', () => {
  const service = forSuite(() =>
    startBareService(operations, {
      requestTimeoutMs: 1_500,
      maxInFlight: 3,
      corsOrigins: ['https://console.example.com'],
      trustedProxies: ['127.0.0.1'],
    }),
  );
  beforeEach(() => {
    aborted = [];
  });

  const post = (body: string | null, headers: Record<string, string> = { 'content-type': 'application/json' }, query = '') =>
    fetch(`${service.url}/api/echo${query}`, { method: 'POST', headers, body });

  it('gives every answer an id, and takes a well-formed one from the caller', async () => {
    const own = await fetch(`${service.url}/api/tagged`);
    const taken = await fetch(`${service.url}/api/nothing`, { headers: { 'X-Request-Id': 'trace-1.a_B' } });
    const refused = await fetch(`${service.url}/api/tagged`, { headers: { 'X-Request-Id': 'a b' } });

    expect(own.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/);
    expect(taken.headers.get('x-request-id')).to.equal('trace-1.a_B');
    expect(refused.headers.get('x-request-id')).not.to.equal('a b');
    for (const { headers } of [own, taken])
      expect([headers.get('x-content-type-options'), headers.get('referrer-policy'), headers.get('cache-control')]).to.deep.equal([
        'nosniff',
        'no-referrer',
        'no-store',
      ]);
  });

  it('answers an unknown path of the API with 404, never with a page', async () => {
    for (const path of ['/api', '/api/x', '/apis/x', '/auth/x', '/openapi/x', '/plugins/x/y']) {
      expect((await statusOf(await fetch(`${service.url}${path}`))).reason, path).to.equal('NotFound');
    }
    expect(await (await fetch(`${service.url}/apiary`)).text()).to.equal('page');
  });

  it('answers another method with 405 and Allow, and OPTIONS with 204', async () => {
    const wrong = await fetch(`${service.url}/api/echo`, { method: 'DELETE' });
    const options = await fetch(`${service.url}/api/echo`, { method: 'OPTIONS' });

    expect(await statusOf(wrong)).to.include({ code: 405, reason: 'MethodNotAllowed', message: 'DELETE is not allowed on this path' });
    expect(wrong.headers.get('allow')).to.equal('GET, HEAD, OPTIONS, POST');
    expect([options.status, options.headers.get('allow')]).to.deep.equal([204, 'GET, HEAD, OPTIONS, POST']);
    expect((await rawGet(service.port, '/api/echo', 'TRACE')).status).to.equal(405);
  });

  it('answers HEAD as GET, without a body', async () => {
    const head = await fetch(`${service.url}/api/tagged`, { method: 'HEAD' });

    expect([head.status, head.headers.get('etag'), await head.text()]).to.deep.equal([200, '"1"', '']);
  });

  it('answers 304 to an equal If-None-Match', async () => {
    const response = await fetch(`${service.url}/api/tagged`, { headers: { 'If-None-Match': '"1"' } });

    expect([response.status, await response.text()]).to.deep.equal([304, '']);
  });

  it('indents with pretty=true, as another representation', async () => {
    const response = await fetch(`${service.url}/api/tagged?pretty=true`);

    expect(await response.text()).to.equal('{\n  "a": 1\n}\n');
    expect(response.headers.get('etag')).to.equal('"1.pretty"');
  });

  it('refuses a parameter that is given twice, names the wrong ones, ignores the unknown ones', async () => {
    const twice = await statusOf(await post('{"name":"a"}', undefined, '?limit=1&limit=2'));
    const wrong = await statusOf(await post('{"name":"a"}', undefined, '?limit=x'));
    const fine = await post('{"name":"a"}', undefined, '?tag=a&tag=b&other=1&other=2');

    expect(twice.details).to.deep.equal({ causes: [{ reason: 'FieldValueDuplicate', message: 'may be given only once', field: 'limit' }] });
    expect(wrong).to.have.nested.property('details.causes[0].field', 'limit');
    expect(await fine.json()).to.deep.equal({ query: { tag: ['a', 'b'] }, body: { name: 'a' } });
  });

  it('refuses other media types and any Content-Encoding with 415', async () => {
    for (const headers of [{}, { 'content-type': 'text/plain' }, { 'content-type': 'application/json', 'content-encoding': 'gzip' }]) {
      expect((await statusOf(await post('{"name":"a"}', headers))).code, JSON.stringify(headers)).to.equal(415);
    }
    expect((await post('{"name":"a"}', { 'content-type': 'Application/JSON; charset=utf-8' })).status).to.equal(200);
  });

  it('LIM-02 refuses what is not strict JSON with 400, and nothing is polluted', async () => {
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
      expect((await statusOf(await post(body))).reason, what).to.equal('BadRequest');
    }
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined);
    expect((await post('{"name":"a"}')).status).to.equal(200);
  });

  it('names every field of a body that does not fit', async () => {
    const body = await statusOf(await post('{"count":"x"}'));

    expect(body.details).to.have.property('causes').that.has.length(2);
    expect(body).to.have.nested.property('details.causes[0].reason', 'FieldValueRequired');
    expect(body).to.have.nested.property('details.causes[1].field', 'count');
  });

  it('LIM-01 refuses a large body unread: by its length, and where there is none at the limit; also on paths that take none', async () => {
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

  it('refuses every Authorization that is not one bearer token, where a token is optional too', async () => {
    const refused = ['Bearer', 'Bearer ', 'Bearer a b', 'Basic dTpw', 'good', 'Bearer bad', 'Bearer good, Bearer good'];
    for (const authorization of refused) {
      const response = await fetch(`${service.url}/api/echo`, { headers: { authorization } });
      expect((await statusOf(response)).code, authorization).to.equal(401);
      expect(response.headers.get('www-authenticate'), authorization).to.equal('Bearer realm="atrium", error="invalid_token"');
    }
    expect(
      (await rawGet(service.port, '/api/echo', 'GET', 'Authorization: Bearer good\r\nAuthorization: Bearer good\r\n')).status,
    ).to.equal(401);
    for (const authorization of ['Bearer good', 'bearer good', 'BEARER  good']) {
      expect(await (await fetch(`${service.url}/api/echo`, { headers: { authorization } })).json()).to.deep.equal({ name: 'jane' });
    }
    expect(await (await fetch(`${service.url}/api/echo`)).json()).to.deep.equal({ name: 'anonymous' });
  });

  it('tells nothing of a defect but that there was one, and logs it once', async () => {
    const before = service.logLines.length;
    const response = await fetch(`${service.url}/api/broken`, { headers: { 'X-Request-Id': 'defect' } });
    const text = JSON.stringify(await statusOf(response));

    expect(response.status).to.equal(500);
    expect(text).not.to.match(/hunter2|secret|path|at /);
    expect(service.logLines.slice(before).filter((line) => line.includes('request failed') && line.includes('defect'))).to.have.length(1);
  });

  it('answers 504 at the deadline, and tells the handler to stop', async () => {
    const response = await fetch(`${service.url}/api/slow`);

    expect(await statusOf(response)).to.include({ code: 504, reason: 'Timeout' });
    expect(response.headers.get('retry-after')).to.equal('1');
    expect(aborted).to.have.length(1);
  });

  it('tells the handler to stop when the caller goes away', async () => {
    const controller = new AbortController();
    const request = fetch(`${service.url}/api/slow`, { signal: controller.signal }).catch((error: unknown) => error);
    await eventually(
      async () => (await service.metrics.inFlight.get()).values.find(({ labels }) => labels.kind === 'short')?.value,
      (count) => count === 1,
    );
    controller.abort();
    await request;

    await eventually(
      () => aborted.length,
      (count) => count === 1,
    );
  });

  it('answers 429 with Retry-After when too many are in flight, and probes all the same', async () => {
    const held = Array.from({ length: 3 }, () => fetch(`${service.url}/api/slow`));
    await eventually(
      async () => (await service.metrics.inFlight.get()).values.find(({ labels }) => labels.kind === 'short')?.value,
      (count) => count === 3,
    );
    const refused = await fetch(`${service.url}/api/tagged`);
    const probe = await fetch(`${service.url}/healthz`);

    expect(await statusOf(refused)).to.include({ code: 429, reason: 'TooManyRequests' });
    expect(refused.headers.get('retry-after')).to.equal('1');
    expect(probe.status).to.equal(200);
    expect((await Promise.all(held)).map(({ status }) => status)).to.deep.equal([504, 504, 504]);
    expect((await fetch(`${service.url}/api/tagged`)).status).to.equal(200);
  });

  it('LIM-04 cuts a sender that is slower than the deadline', async () => {
    const answer = await sendRaw(
      service.port,
      'POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );

    expect(answer.status).to.be.oneOf([408, 504]);
    expect(JSON.parse(answer.body)).to.include({ kind: 'Status' });
  });

  it('lets only listed origins read answers', async () => {
    const listed = await fetch(`${service.url}/api/tagged`, { headers: { origin: 'https://console.example.com' } });
    const preflight = await fetch(`${service.url}/api/echo`, {
      method: 'OPTIONS',
      headers: { origin: 'https://console.example.com', 'access-control-request-method': 'POST' },
    });

    expect(listed.headers.get('access-control-allow-origin')).to.equal('https://console.example.com');
    expect(preflight.headers.get('access-control-allow-methods')).to.contain('POST');
    for (const origin of ['https://evil.example', 'null', 'https://sub.console.example.com', 'http://console.example.com']) {
      expect(
        (await fetch(`${service.url}/api/tagged`, { headers: { origin } })).headers.get('access-control-allow-origin'),
        origin,
      ).to.equal(null);
    }
  });

  it('LEAK-04 logs one JSON line for a request, with nothing secret in it, whatever its headers say', async () => {
    const before = service.logLines.length;
    await fetch(`${service.url}/api/echo?code=canary-code&refresh_token=canary-refresh`, {
      headers: {
        authorization: 'Bearer canary-token',
        cookie: 'session=canary-cookie',
        'user-agent': 'a"\\nlevel=error msg=x',
        'X-Request-Id': 'logged',
      },
    });
    const lines = await eventually(
      () => service.logLines.slice(before).filter((line) => line.includes('"logged"')),
      (found) => found.length > 0,
    );

    expect(lines).to.have.length(1);
    expect(JSON.parse(lines[0] ?? '')).to.include({ method: 'GET', path: '/api/echo', code: 401, operation: 'Read', source: '127.0.0.1' });
    expect(service.logLines.join('')).not.to.contain('canary');
  });

  it('LEAK-04 adds no metric series for 1,000 unknown paths', async () => {
    const series = async () =>
      (await service.metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('atrium_http_request_duration_seconds_count'))
        .length;
    await fetch(`${service.url}/api/random`);
    const before = await series();
    for (let batch = 0; batch < 500; batch++)
      await Promise.all([0, 1].map((index) => fetch(`${service.url}/api/random-${batch}-${index}`)));

    expect(await series()).to.equal(before);
  });

  it('believes X-Forwarded-For as far as trusted proxies vouch for it', async () => {
    const before = service.logLines.length;
    await fetch(`${service.url}/api/tagged`, { headers: { 'x-forwarded-for': '1.1.1.1, 203.0.113.7', 'X-Request-Id': 'forwarded' } });
    const [line = ''] = await eventually(
      () => service.logLines.slice(before).filter((text) => text.includes('"forwarded"')),
      (found) => found.length > 0,
    );

    expect(JSON.parse(line)).to.include({ source: '203.0.113.7' });
  });

  it('LIM-04 goes on answering while many connections send nothing', async () => {
    const { connect } = await import('node:net');
    const idle = Array.from({ length: 500 }, () =>
      connect(service.port, '127.0.0.1')
        .on('error', () => undefined)
        .resume(),
    );
    for (const socket of idle) socket.write('GET /api/tagged HTTP/1.1\r\nX: ');

    expect((await fetch(`${service.url}/api/tagged`)).status).to.equal(200);
    await eventually(
      () => idle.filter((socket) => !socket.destroyed && !socket.readableEnded).length,
      (open) => open === 0,
    );
    for (const socket of idle) socket.destroy();
  });

  it('LIM-06 asks about no more than 600 refused tokens a minute from one address, and goes on serving accepted ones', async () => {
    const guarded = await startBareService(operations);
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

      // Requests under way together with the 600th are counted once they are refused.
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
    const guarded = await startBareService(operations, { trustedProxies: ['127.0.0.1'] });
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

  it('lives below the base path of the public URL', async () => {
    const mounted = await startBareService(operations, { basePath: '/console' });
    try {
      expect((await fetch(`${mounted.url}/console/api/tagged`)).status).to.equal(200);
      expect((await fetch(`${mounted.url}/api/tagged`)).status).to.equal(404);
      expect((await fetch(`${mounted.url}/consoles/api/tagged`)).status).to.equal(404);
    } finally {
      await mounted.stop();
    }
  });

  it('lets a request in flight finish when it stops, and takes no new one', async () => {
    const stopping = await startBareService(operations);
    const held = fetch(`${stopping.url}/api/slow`);
    await eventually(
      async () => (await stopping.metrics.inFlight.get()).values.find(({ labels }) => labels.kind === 'short')?.value,
      (count) => count === 1,
    );
    const stopped = stopping.stop(5_000);
    const refused = await fetch(`${stopping.url}/api/tagged`).catch((error: unknown) => error);
    release();

    expect(refused).to.be.instanceOf(Error);
    expect(await (await held).json()).to.deep.equal({ released: true });
    await stopped;
  });
});
