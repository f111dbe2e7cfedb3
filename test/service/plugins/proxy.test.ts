import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { startServer } from '../../support/server.ts';
import { ServiceAuthority } from './plugin-service.ts';
import { consolePlugin, startPluginSuite } from './support.ts';

const mebibyte = 2 ** 20;

describe('the proxy of plugins', () => {
  const suite = forSuite(() => startPluginSuite());
  let token: string;

  before(async () => {
    token = await suite.server.token('alice');
    const service = suite.reference({ basePath: '/api' });
    await suite.plugin('shop', {
      proxy: [
        { alias: 'plain', service },
        { alias: 'as-user', service, authorization: 'UserToken' },
        { alias: 'other-ca', service, caCertificate: (await ServiceAuthority.create()).certificate },
        { alias: 'no-pem', service, caCertificate: 'none' },
        { alias: 'other-name', service: suite.reference({ name: 'other' }) },
        { alias: 'closed', service: suite.reference({ port: 1 }) },
      ],
    });
  });
  afterEach(() => {
    suite.service.handle = undefined;
    suite.service.received.length = 0;
  });

  const send = (path: string, options = {}) => suite.server.request(`/api/proxy/plugin/shop/${path}`, { token, ...options });
  /** Sends a request without an HTTP library. */
  const raw = (head: string, ...parts: (string | Buffer)[]) =>
    sendRaw(suite.server.port, `${head}\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n`, ...parts);
  const firstReceived = () => suite.service.received[0] ?? expect.fail('nothing arrived');

  it('passes method, path, query and body on as they are', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const body = method === 'GET' ? undefined : `{"method":"${method}"}`;
      const response = await send('plain/v1/items/a%20b:c?limit=5&q=x%2Fy', { method, ...(body && { body }) });
      expect(response.status, method).to.equal(200);
      expect(await response.json()).to.deep.equal({ path: '/api/v1/items/a%20b:c?limit=5&q=x%2Fy' });
      expect(suite.service.received.at(-1)).to.deep.include({ method, url: '/api/v1/items/a%20b:c?limit=5&q=x%2Fy', body: body ?? '' });
    }
    expect((await send('plain/', { method: 'HEAD' })).status).to.equal(200);
    expect(suite.service.received.at(-1)).to.deep.include({ method: 'HEAD', url: '/api/' });
  });

  it('AUZ-04 forwards content negotiation headers, and no header that identifies the caller or the origin', async () => {
    await send('plain/items', {
      method: 'POST',
      body: '{}',
      headers: {
        Accept: 'application/json',
        'Accept-Language': 'de',
        'If-Match': '"3"',
        'X-Request-Id': 'request-1',
        Cookie: 'atrium_session=secret',
        'X-CSRF-Token': 'secret',
        'X-Remote-User': 'admin',
        X_Remote_User: 'admin',
        'X-Console-Impersonate-Groups': 'system:masters',
        'X-Forwarded-For': '10.0.0.1',
        'X-Forwarded-Host': 'evil.example',
        Forwarded: 'for=10.0.0.1',
        'X-Real-IP': '10.0.0.1',
        'X-HTTP-Method-Override': 'DELETE',
        'X-Original-URL': '/admin',
        Origin: 'https://evil.example',
        'User-Agent': 'somebody',
        'X-Custom': '1',
      },
    });

    expect(firstReceived().headers).to.deep.equal({
      host: `shop.plugins.svc:${suite.service.port}`,
      connection: 'keep-alive',
      'user-agent': 'atrium',
      accept: 'application/json',
      'accept-encoding': 'gzip, deflate',
      'accept-language': 'de',
      'content-type': 'application/json',
      'content-length': '2',
      'if-match': '"3"',
      'x-request-id': 'request-1',
    });
  });

  it('drops each header that Connection names', async () => {
    const { status } = await raw(
      'GET /api/proxy/plugin/shop/as-user/x HTTP/1.1',
      'Accept: text/plain\r\nRange: bytes=0-1\r\nConnection: close, Accept, Authorization\r\nTE: trailers\r\nProxy-Authorization: Basic eDp5\r\n\r\n',
    );

    expect(status).to.equal(200);
    expect(firstReceived().headers).to.have.all.keys('host', 'connection', 'user-agent', 'range', 'authorization', 'x-request-id');
    expect(firstReceived().headers.connection).to.equal('keep-alive');
  });

  it('sends the token of the caller to configured Services alone', async () => {
    await send('plain/x');
    await send('as-user/x');

    expect(suite.service.received.map(({ headers }) => headers.authorization)).to.deep.equal([undefined, `Bearer ${token}`]);
  });

  it('requires a credential that is accepted', async () => {
    expect((await send('plain/x', { token: undefined })).status).to.equal(401);
    expect((await send('plain/x', { token: 'garbage' })).status).to.equal(401);
    expect((await send('as-user/x', { token: 'cat_0_garbage' })).status).to.equal(401);
    expect((await send('plain/x', { token: undefined, headers: { Authorization: 'Basic eDp5' } })).status).to.equal(401);
    expect(suite.service.received).to.deep.equal([]);
  });

  it('knows no other plugin, alias or method', async () => {
    const { kubernetes } = suite.server;
    await kubernetes.apply(consolePlugin('off', { enabled: false, proxy: [{ alias: 'plain', service: suite.reference() }] }));
    for (const path of [
      'shop/absent/x',
      'absent/plain/x',
      'off/plain/x',
      'shop/PLAIN/x',
      'shop/plain',
      '../shop/plain/x',
      'shop/pl%2fain/x',
    ]) {
      const response = await suite.server.request(`/api/proxy/plugin/${path}`, { token });
      expect(response.status, path).to.equal(404);
    }
    expect((await raw('TRACE /api/proxy/plugin/shop/plain/x HTTP/1.1', 'Connection: close\r\n\r\n')).status).to.equal(405);
    expect(suite.service.received).to.deep.equal([]);
  });

  it('passes headers that describe the answer, and none that affects the whole console', async () => {
    suite.service.handle = (_request, response) =>
      response
        .writeHead(418, {
          'Content-Type': 'text/html; charset=utf-8',
          'Content-Language': 'de',
          'Content-Disposition': 'inline',
          ETag: '"1"',
          'Retry-After': '3',
          'Cache-Control': 'public, max-age=60, s-maxage=600',
          'Set-Cookie': ['atrium_session=evil', 'other=1'],
          'Access-Control-Allow-Origin': '*',
          'Access-Control-Allow-Credentials': 'true',
          'Service-Worker-Allowed': '/',
          'Clear-Site-Data': '"*"',
          'Strict-Transport-Security': 'max-age=1',
          'Content-Security-Policy': 'default-src *',
          'WWW-Authenticate': 'Basic realm="console"',
          'Proxy-Authenticate': 'Basic',
          'Public-Key-Pins': 'x',
          'Alt-Svc': 'h2="evil.example:443"',
          'Report-To': '{}',
          NEL: '{}',
          'X-Accel-Redirect': '/secret',
          'X-Sendfile': '/etc/passwd',
          'X-Request-Id': 'theirs',
          Location: 'https://evil.example',
          Refresh: '0; url=https://evil.example',
          Link: '</x>; rel=preload',
          Server: 'shop',
        })
        .end('<script>alert(1)</script>');
    const response = await send('plain/x', { headers: { 'X-Request-Id': 'ours' } });

    expect(response.status).to.equal(418);
    expect(await response.text()).to.equal('<script>alert(1)</script>');
    const { date, ...headers } = Object.fromEntries(response.headers);
    expect(date).to.be.a('string');
    expect(headers).to.deep.equal({
      'cache-control': 'private, max-age=60',
      connection: 'keep-alive',
      'content-disposition': 'inline',
      'content-language': 'de',
      'content-security-policy': "default-src 'none'; sandbox",
      'content-type': 'text/html; charset=utf-8',
      etag: '"1"',
      'keep-alive': 'timeout=75',
      'referrer-policy': 'no-referrer',
      'retry-after': '3',
      'transfer-encoding': 'chunked',
      vary: 'Authorization, Cookie',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'x-request-id': 'ours',
    });
  });

  it('keeps shared caches and browsers from storing private answers', async () => {
    const cases: [Record<string, string>, string][] = [
      [{}, 'no-store'],
      [{ ETag: '"1"' }, 'private, no-cache'],
      [{ 'Cache-Control': 'no-cache' }, 'private, no-cache'],
      [{ 'Cache-Control': 'max-age=5, no-store' }, 'no-store'],
      [{ 'Cache-Control': 'public, s-maxage=99' }, 'no-store'],
      [{ 'Cache-Control': 'max-age=5' }, 'private, max-age=5'],
    ];
    for (const [given, wanted] of cases) {
      suite.service.handle = (_request, response) => response.writeHead(200, given).end('x');
      expect((await send('plain/x')).headers.get('cache-control'), JSON.stringify(given)).to.equal(wanted);
    }
  });

  it('passes no redirect on, nor follows one, and no demand for a password', async () => {
    for (const status of [300, 301, 302, 303, 305, 307, 308, 399, 407]) {
      suite.service.handle = (_request, response) => response.writeHead(status, { Location: 'https://evil.example/' }).end('x');
      const response = await send('plain/x');
      expect(response.status, String(status)).to.equal(503);
      expect(response.headers.get('location')).to.equal(null);
      expect(await response.json()).to.deep.include({ kind: 'Status', message: 'the plugin is not available, try again' });
    }
  });

  it('passes statuses without a body on, and 304 for content that the client has', async () => {
    for (const status of [204, 304]) {
      suite.service.handle = (_request, response) => response.writeHead(status, { ETag: '"1"' }).end();
      const response = await send('plain/x');
      expect(response.status).to.equal(status);
      expect(await response.text()).to.equal('');
    }
    suite.service.handle = (_request, response) => response.writeHead(200, { 'Content-Length': String(99 * mebibyte) }).end();
    const head = await send('plain/x', { method: 'HEAD' });
    expect(head.headers.get('content-length')).to.equal(String(99 * mebibyte));
  });

  it('is 503 for a Service that resets, is not there, or is not who it should be', async () => {
    suite.service.handle = (incoming) => incoming.socket.destroy();
    expect((await send('plain/x', { method: 'POST', body: '{}' })).status).to.equal(503);
    suite.service.handle = undefined;
    const before = suite.service.received.length;
    for (const alias of ['closed', 'other-ca', 'other-name', 'no-pem']) {
      const response = await send(`${alias}/x`);
      expect(response.status, alias).to.equal(503);
      expect(response.headers.get('retry-after')).to.equal('1');
      const body = await response.text();
      expect(body, alias).to.include('the plugin is not available');
      expect(body).not.to.match(/127\.0\.0\.1|certificate|ECONN|svc/);
    }
    expect(suite.service.received.length).to.equal(before);
  });

  it('is logged with the name of the caller, without its query', async () => {
    await send('plain/logged?secret=1', { method: 'POST', body: '{}' });
    const line = await eventually(
      () => suite.server.logLines.find((each) => each.includes('/plain/logged')),
      (found) => found !== undefined,
    );
    expect(JSON.parse(line ?? '')).to.deep.include({
      operation: 'PostThroughPlugin',
      user: 'alice',
      code: 200,
      path: '/api/proxy/plugin/shop/plain/logged',
    });
    expect(suite.server.logLines.join('')).not.to.include('secret=1');
    expect(suite.server.logLines.join('')).not.to.include(token);
  });

  it('is 404 with features.pluginProxy off', async () => {
    const server = await startServer({ config: { features: { pluginProxy: false } } });
    try {
      expect((await server.request('/api/proxy/plugin/shop/plain/x', { as: 'alice' })).status).to.equal(404);
    } finally {
      await server.stop();
    }
  });
});

/** Requests that are meant to time out. They are separate, because on a suspended machine any request times out. */
describe('the proxy of plugins, when the time of a request is over', () => {
  const suite = forSuite(() => startPluginSuite({}, { proxyTimeoutMs: 500 }));

  before(() => suite.plugin('shop', { proxy: [{ alias: 'plain', service: suite.reference() }] }));

  const send = () => suite.server.request('/api/proxy/plugin/shop/plain/x', { as: 'alice' });

  it('is 504 for a Service that is too slow', async () => {
    suite.service.handle = () => undefined;
    const slow = await send();
    expect(slow.status).to.equal(504);
    expect(slow.headers.get('retry-after')).to.equal('1');
  });

  it('is 504, or cut, for an answer that never ends', async () => {
    suite.service.handle = (_request, response) => response.writeHead(200).write('x');
    const response = await send();
    const end = await response.text().then(
      () => 'whole',
      () => 'cut',
    );
    // On a slow machine the time is over before the first part.
    expect([response.status, end]).to.be.deep.oneOf([
      [200, 'cut'],
      [504, 'whole'],
    ]);
    await eventually(
      () => suite.service.openSockets,
      (count) => count <= 1,
    );
  });
});
