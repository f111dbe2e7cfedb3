import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { rawGet, sendRaw } from '../../support/raw-http.ts';
import { startServer } from '../../support/server.ts';
import { socketBuffers } from '../../support/socket-buffers.ts';
import { ApiServerBetween } from './api-server-between.ts';

const base = '/api/kubernetes';
const path = `${base}/apis/between/v1/things`;

describe('the proxy of the API server', () => {
  const between = new ApiServerBetween();
  const server = forSuite(() => startServer({ between: between.start }));
  let token: string;

  before(async () => {
    token = await server.token('alice');
  });
  beforeEach(() => {
    between.received.length = 0;
    between.handle = (_request, response) => response.setHeader('Content-Type', 'application/json').end('{}');
  });

  const get = (options = {}, query = '') => server.request(`${path}${query}`, { token, ...options });

  it('AUZ-04 forwards content negotiation headers and no identity header but Authorization', async () => {
    await rawGet(
      server.port,
      `${path}?a=%2e%2e&a=b&&c`,
      'GET',
      [
        `Authorization: bearer ${token}`,
        'Accept: application/json;as=Table',
        'Accept-Encoding: gzip',
        'User-Agent: a-client',
        'Kubectl-Command: kubectl get',
        'If-None-Match: "x"',
        'X-Remote-User: admin',
        'X_Remote_User: admin',
        'X-Remote-Group: system:masters',
        'X-Console-Impersonate-Groups: system:masters',
        'Cookie: a=b',
        'Forwarded: for=10.0.0.1',
        'X-Forwarded-For: 10.0.0.1',
        'X-Forwarded-Uri: /',
        'X-Original-URL: /api/v1/secrets',
        'X-Http-Method-Override: DELETE',
        'Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.YQ',
        'X-Stream-Protocol-Version: v4.channel.k8s.io',
        'Range: bytes=0-1',
        'Connection: Range',
        '',
      ].join('\r\n'),
    );
    const { url, headers } = between.last;
    const { host, connection, ...sent } = headers;
    expect(url).to.equal('/apis/between/v1/things?a=%2e%2e&a=b&&c');
    expect(sent).to.deep.equal({
      authorization: `Bearer ${token}`,
      accept: 'application/json;as=Table',
      'accept-encoding': 'gzip',
      'user-agent': 'a-client',
      'kubectl-command': 'kubectl get',
      'if-none-match': '"x"',
    });
  });

  it('sends bodies as they come, of any media type, and refuses more than 3 MiB', async () => {
    let body = '';
    between.handle = async (request, response) => {
      body = '';
      for await (const chunk of request) body += chunk;
      response.writeHead(201).end();
    };
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const headers = { 'Content-Type': 'application/apply-patch+yaml' };
      expect((await get({ method, body: 'a: [1', headers })).status, method).to.equal(201);
      expect(body).to.equal('a: [1');
      expect(between.last).to.deep.include({ method });
      expect(between.last.headers).to.include({ 'content-type': 'application/apply-patch+yaml', 'content-length': '5' });
    }
    const large = await get({ method: 'POST', body: 'x'.repeat(3 * 1024 * 1024 + 1) });
    expect(large.status).to.equal(413);
    expect(await large.json()).to.deep.include({ kind: 'Status', reason: 'RequestEntityTooLarge' });

    const chunk = Buffer.concat([Buffer.from('200000\r\n'), Buffer.alloc(0x200000, 'x'), Buffer.from('\r\n')]);
    const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expect((await sendRaw(server.port, head, chunk, chunk, '0\r\n\r\n')).status).to.equal(413);
  });

  it('KPX-01 gives back nothing that acts for the origin of the console', async () => {
    between.handle = (_request, response) =>
      response
        .writeHead(200, {
          'Content-Type': 'text/html; charset=utf-8',
          'Set-Cookie': '__Host-atrium_session=theirs',
          'Content-Security-Policy': 'script-src *',
          'Service-Worker-Allowed': '/',
          'Clear-Site-Data': '"*"',
          'Access-Control-Allow-Origin': '*',
          Refresh: '0; url=https://evil.example',
          Location: 'https://evil.example/',
          'WWW-Authenticate': 'Basic',
          'Strict-Transport-Security': 'max-age=0',
          'X-Accel-Redirect': '/etc/passwd',
          'Alt-Svc': 'h3=":443"',
          Server: 'theirs',
        })
        .end('<script>alert(1)</script>');
    const response = await get();
    const headers = Object.fromEntries(response.headers);
    expect(await response.text()).to.equal('<script>alert(1)</script>');
    expect(headers).to.include({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    const known = ['connection', 'content-length', 'date', 'keep-alive', 'referrer-policy', 'transfer-encoding', 'vary', 'x-request-id'];
    const others = ['content-disposition', 'content-security-policy', 'content-type', 'cross-origin-resource-policy', 'cache-control'];
    expect(Object.keys(headers).filter((name) => ![...known, ...others, 'x-content-type-options'].includes(name))).to.deep.equal([]);
  });

  it('KPX-01 keeps the types that nothing runs', async () => {
    const types: Record<string, boolean> = {
      'application/json;stream=watch': true,
      'application/strategic-merge-patch+json': true,
      'application/yaml': true,
      'text/plain; charset=utf-8': true,
      'application/cbor': true,
      'application/vnd.kubernetes.protobuf;stream=watch': true,
      'application/com.github.proto-openapi.spec.v2.v1.0+protobuf': true,
      'text/javascript': false,
      'image/svg+xml': false,
      'application/xhtml+xml': false,
      'text/event-stream': false,
      'text/html,application/json': false,
      'application/jsonx': false,
    };
    for (const [type, isKept] of Object.entries(types)) {
      between.handle = (_request, response) => response.setHeader('Content-Type', type).end('x');
      expect((await get()).headers.get('content-type'), type).to.equal(isKept ? type : 'application/octet-stream');
    }
  });

  it('rewrites a redirect within the API server, and drops any other', async () => {
    const locations: Record<string, string | null> = {
      '/apis/between/v1/others?x=1': `${base}/apis/between/v1/others?x=1`,
      '//evil.example/': null,
      '/\\evil.example': null,
      'https://evil.example/': null,
      other: null,
    };
    for (const [location, expected] of Object.entries(locations)) {
      between.handle = (_request, response) => response.writeHead(307, { Location: location }).end();
      const response = await get();
      expect([response.status, response.headers.get('location')], location).to.deep.equal([307, expected]);
    }
  });

  it('declares for which caches, and for how long, an answer is fresh', async () => {
    const cases: [Record<string, string>, string][] = [
      [{}, 'no-store'],
      [{ 'Cache-Control': 'public, max-age=999' }, 'no-store'],
      [{ ETag: '"1"' }, 'private, no-cache'],
      [{ ETag: '"1"', 'Cache-Control': 'public, immutable' }, 'private, max-age=31536000, immutable'],
    ];
    for (const [headers, expected] of cases) {
      between.handle = (_request, response) => response.writeHead(200, { 'Content-Type': 'application/json', ...headers }).end('{}');
      const response = await get();
      expect(response.headers.get('cache-control')).to.equal(expected);
      expect(response.headers.get('vary')).to.equal(
        'Impersonate-User, Impersonate-Group, Impersonate-Uid, Atrium-View-As-Groups, Authorization, Cookie, Accept',
      );
    }
    between.handle = (_request, response) => response.writeHead(404, { ETag: '"1"' }).end();
    expect((await get()).headers.get('cache-control')).to.equal('no-store');
    between.handle = (_request, response) => response.writeHead(304, { ETag: '"1"' }).end();
    expect((await get({ headers: { 'If-None-Match': '"1"' } })).status).to.equal(304);
  });

  it('answers HEAD and OPTIONS as the API server does', async () => {
    between.handle = (_request, response) => response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '7' }).end();
    const head = await get({ method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), head.headers.get('content-type')]).to.deep.equal([
      200,
      '7',
      'application/json',
    ]);
    between.handle = (_request, response) => response.writeHead(405).end();
    expect((await get({ method: 'OPTIONS' })).status).to.equal(405);
    expect(between.received.map(({ method }) => method)).to.deep.equal(['HEAD', 'OPTIONS']);
  });

  it('passes refusals on as they are, and 401 as every 401 here', async () => {
    const text = '{"kind":"Status", "odd" : 1}';
    for (const code of [400, 401, 403, 404, 409, 422, 429, 500, 503]) {
      between.handle = (_request, response) =>
        response.writeHead(code, { 'Content-Type': 'application/json', 'Retry-After': '7', 'Audit-Id': 'a' }).end(text);
      const response = await get();
      expect([response.status, await response.text()]).to.deep.equal([code, text]);
      expect(response.headers.get('retry-after')).to.equal('7');
      expect(response.headers.get('www-authenticate')).to.equal(code === 401 ? 'Bearer realm="atrium", error="invalid_token"' : null);
    }
    expect(between.received).to.have.lengthOf(9);
  });

  it('FLT-01 answers 503 with a Status where there is no answer, and cuts one that breaks off', async () => {
    between.handle = (request) => request.socket.destroy();
    const none = await get({ method: 'POST', body: '{}' });
    expect([none.status, none.headers.get('retry-after')]).to.deep.equal([503, '1']);
    expect(await none.json()).to.deep.include({ kind: 'Status', message: 'kubernetes is not available, try again' });
    expect(between.received).to.have.lengthOf(1);

    between.handle = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '100' });
      response.write('{"items":[', () => response.destroy());
    };
    expect((await get()).status, 'a short one that breaks off').to.equal(503);

    let breakOff = (): void => undefined;
    between.handle = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).write('x'.repeat(100_000));
      breakOff = () => response.destroy();
    };
    const half = await get();
    expect(half.status).to.equal(200);
    breakOff();
    expect(await half.text().catch(() => 'broke off')).to.equal('broke off');
  });

  it('KPX-01 sends a list that comes item by item in few parts, and a short one as a whole', async () => {
    for (const [items, length, sizes] of [
      [30, null, [65_536, 39_464]],
      [3, '10500', []],
      [0, '0', []],
    ] as const) {
      const texts = Array.from({ length: items }, (_, index) => String(index % 10).repeat(3_500));
      between.handle = async (_request, response) => {
        response.writeHead(200, { 'Content-Type': 'application/json' });
        for (const text of texts) await new Promise((resolve) => response.write(text, resolve));
        response.end();
      };
      const response = await get({ headers: { 'Accept-Encoding': 'identity' } });
      expect(response.headers.get('content-length')).to.equal(length);
      expect(await response.text()).to.equal(texts.join(''));
      const raw = await rawGet(server.port, path, 'GET', `Authorization: bearer ${token}\r\n`);
      const chunks = [...raw.body.matchAll(/(?:^|\r\n)([0-9a-f]+)\r\n(?=\d)/g)].map(([, size = '']) => Number.parseInt(size, 16));
      expect(chunks).to.deep.equal(sizes);
    }
  });

  it('KPX-01 streams the answer of a subresource unchanged', async () => {
    let end = (): void => undefined;
    between.handle = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/plain' }).write('a line\n');
      end = () => response.end('another\n');
    };
    const response = await server.request(`${base}/apis/between/v1/namespaces/x/things/y/log`, { token });
    const reader = response.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).to.equal('a line\n');
    end();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).to.equal('another\n');
  });

  for (const [name, head] of [
    ['a second length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 30\r\n\r\n{}'],
    ['a header that is none', 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX: a\rSet-Cookie: b\r\nContent-Length: 2\r\n\r\n{}'],
    ['another protocol that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'],
  ] as const)
    it(`LIM-05 lets no caller see an answer with ${name}`, async () => {
      between.handle = (request) => request.socket.write(head, 'latin1');
      const response = await get({ method: 'POST', body: '{}' });
      expect(response.status).to.equal(503);
      expect(response.headers.get('set-cookie')).to.equal(null);
    });

  it('ends the call when the caller goes, before and amid an answer', async () => {
    for (const isBegun of [false, true]) {
      let isOver = false;
      between.handle = (_request, response) => {
        if (isBegun) response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"a":');
        response.on('close', () => {
          isOver = true;
        });
      };
      const arrived = between.received.length;
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(`GET ${path}?watch=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
      if (isBegun) await once(socket, 'data');
      else
        await eventually(
          () => between.received.length,
          (count) => count > arrived,
        );
      socket.destroy();
      await eventually(() => isOver, Boolean);
    }
  });

  it('LIM-04 holds back the API server while a client reads nothing', async () => {
    let written = 0;
    let isHeldBack = false;
    between.handle = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json;stream=watch' });
      const more = () => {
        const chunk = Buffer.alloc(65_536, 'x');
        for (; response.write(chunk); ) written += chunk.length;
        written += chunk.length;
        isHeldBack = true;
        response.once('drain', more);
      };
      more();
    };
    const socket = connect({ port: server.port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(`GET ${path}?watch=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await eventually(() => isHeldBack, Boolean);
    let before = -1;
    await eventually(
      async () => {
        const grown = written !== before;
        before = written;
        await new Promise((resolve) => setTimeout(resolve, 300));
        return grown || written !== before;
      },
      (isGrowing) => !isGrowing,
    );
    // Buffers of the connections to the relay, from it to the service and from the service to the client, and of the programs between.
    expect(written).to.be.below(4 * (await socketBuffers()));
    socket.destroy();
  });

  it('LEAK-04 leaves no credential, query or body in the log', async () => {
    const { headers } = await get({ method: 'POST', body: '{"password":"in-the-body"}' }, '?command=in-the-query');
    const requestId = headers.get('x-request-id') ?? 'missing';
    await eventually(
      () => server.logLines.filter((line) => line.includes(requestId) && line.includes('PostKubernetes')),
      (lines) => lines.length > 0,
    );
    const log = [...server.logLines, ...server.auditLines].join('\n');
    for (const secret of [token, 'in-the-query', 'in-the-body']) expect(log).to.not.contain(secret);
    expect(log).to.contain(path).and.contain('"user":"alice"');
  });
});
