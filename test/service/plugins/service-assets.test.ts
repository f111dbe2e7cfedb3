import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { rawGet } from '../../support/raw-http.ts';
import { configMap } from '../console/objects.ts';
import { ofPlugin, startPluginSuite } from './support.ts';

describe('GetPluginAsset, from a Service', () => {
  const suite = forSuite(() => startPluginSuite());
  afterEach(() => {
    suite.service.handle = undefined;
    suite.service.received.length = 0;
  });
  before(async () => {
    await suite.server.kubernetes.apply(configMap('both', ofPlugin('both'), { data: { 'entry.js': 'of the ConfigMap' } }));
    await suite.plugin('both', { backend: { service: suite.reference({ basePath: '/base/' }) } });
  });

  const get = (path: string, options = {}) => suite.server.request(path, options);

  it('fetches the file below the base path, and discloses nothing about the caller', async () => {
    const response = await get('/plugins/both/js/entry.js?token=secret&v=1', {
      as: 'alice',
      headers: {
        Cookie: 'atrium_session=secret; other=1',
        'X-Forwarded-For': '10.0.0.1',
        'X-CSRF-Token': 'secret',
        'X-Remote-User': 'admin',
        Referer: 'https://console.example/?code=secret',
        Origin: 'https://console.example',
        'If-None-Match': '"1"',
        'Accept-Encoding': 'gzip',
        Range: 'bytes=0-1',
      },
    });

    expect(response.status).to.equal(200);
    expect(await response.json()).to.deep.equal({ path: '/base/js/entry.js' });
    expect(suite.service.received).to.deep.equal([
      {
        method: 'GET',
        url: '/base/js/entry.js',
        headers: {
          host: `shop.plugins.svc:${suite.service.port}`,
          connection: 'keep-alive',
          'user-agent': 'atrium',
          accept: '*/*',
          'accept-encoding': 'gzip, identity',
          'if-none-match': '"1"',
        },
        body: '',
      },
    ]);
  });

  it('takes of the answer the bytes, their encoding and their version, and types them by the name', async () => {
    suite.service.handle = (_request, response) =>
      response
        .writeHead(200, {
          'Content-Type': 'text/plain',
          ETag: '"7"',
          'Last-Modified': 'Mon, 02 Nov 2026 10:00:00 GMT',
          'Cache-Control': 'public, max-age=60',
          'Set-Cookie': 'atrium_session=evil',
          'Access-Control-Allow-Origin': '*',
          'Service-Worker-Allowed': '/',
          'Clear-Site-Data': '"*"',
          'Strict-Transport-Security': 'max-age=1',
          'Content-Security-Policy': 'default-src *',
          Refresh: '0; url=https://evil.example',
          Link: '<https://evil.example/x.css>; rel=stylesheet',
          'X-Powered-By': 'shop',
          Server: 'shop',
        })
        .end('export {};\n');
    const response = await get('/plugins/both/entry.js');

    expect(await response.text()).to.equal('export {};\n');
    const { date, 'x-request-id': id, ...headers } = Object.fromEntries(response.headers);
    expect(date).to.be.a('string');
    expect(id).to.be.a('string');
    expect(headers).to.deep.equal({
      'cache-control': 'no-cache',
      connection: 'keep-alive',
      'content-type': 'text/javascript; charset=utf-8',
      'cross-origin-resource-policy': 'same-origin',
      etag: '"7"',
      'keep-alive': 'timeout=75',
      'last-modified': 'Mon, 02 Nov 2026 10:00:00 GMT',
      'referrer-policy': 'no-referrer',
      'transfer-encoding': 'chunked',
      vary: 'Authorization, Cookie, Accept-Encoding',
      'x-content-type-options': 'nosniff',
    });
  });

  it('IMG-02 lets no file of a Service run as a document in the origin of the console, whatever type it claims', async () => {
    const answerAs = async (type: string | undefined, path = '/plugins/both/file') => {
      suite.service.handle = (_request, response) =>
        response.writeHead(200, type === undefined ? {} : { 'Content-Type': type }).end('<script>alert(1)</script>');
      const { status, headers } = await get(path);
      expect(status, type).to.equal(200);
      expect(headers.get('x-content-type-options'), type).to.equal('nosniff');
      return {
        type: headers.get('content-type'),
        isSandboxed: headers.get('content-security-policy') === "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        isAttached: headers.get('content-disposition') === 'attachment',
      };
    };
    const shown = { isSandboxed: true, isAttached: false };
    for (const type of ['text/html', 'application/xhtml+xml', 'image/svg+xml', 'text/xml', 'application/rdf+xml', 'application/pdf'])
      expect(await answerAs(type.toUpperCase()), type).to.deep.include(shown);
    const kept = { isSandboxed: true, isAttached: true };
    for (const type of ['text/xsl', 'text/x-component', 'message/rfc822', 'application/x-shockwave-flash', 'application/hta'])
      expect(await answerAs(type), type).to.deep.include(kept);
    expect(await answerAs('application/xslt+xml')).to.deep.include({ isSandboxed: true });
    const bytes = { type: 'application/octet-stream', ...kept };
    const hostile = [
      'multipart/x-mixed-replace; boundary=x',
      'multipart/related',
      'text/javascript, text/html',
      'garbage',
      '/',
      ' ',
      '\t;a',
    ];
    for (const type of hostile) expect(await answerAs(type), type).to.deep.equal(bytes);
    expect(await answerAs('text/javascript;a=b, text/html;charset=utf-7')).to.deep.equal({
      type: 'text/javascript; charset=utf-8',
      isSandboxed: false,
      isAttached: false,
    });
    expect(await answerAs(undefined)).to.deep.equal(bytes);
    expect(await answerAs('text/html', '/plugins/both/entry.js')).to.deep.include({ type: 'text/javascript; charset=utf-8' });
    for (const type of ['text/javascript', 'text/css', 'application/json', 'image/png', 'font/woff2', 'application/wasm'])
      expect(await answerAs(type), type).to.deep.include({ isSandboxed: false, isAttached: false });
  });

  it('asks whether a known version still holds, keeps hashed names for good, and passes HEAD on', async () => {
    suite.service.handle = (request, response) => {
      if (request.headers['if-none-match'] === '"7"') response.writeHead(304, { ETag: '"7"' }).end();
      else response.writeHead(200, { 'Content-Length': '5', ETag: '"7"' }).end(request.method === 'HEAD' ? undefined : 'hello');
    };
    const known = await get('/plugins/both/entry.js', { headers: { 'If-None-Match': '"7"' } });
    expect(known.status).to.equal(304);
    expect(known.headers.get('etag')).to.equal('"7"');
    expect((await get('/plugins/both/app.3f6c0b1d.js')).headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
    const head = await get('/plugins/both/entry.js', { method: 'HEAD' });
    expect(head.status).to.equal(200);
    expect(head.headers.get('content-length')).to.equal('5');
    suite.service.handle = (_request, response) => response.writeHead(200, { 'Cache-Control': 'private, no-store' }).end('x');
    expect((await get('/plugins/both/app.3f6c0b1d.js')).headers.get('cache-control')).to.equal('no-store');
  });

  it('follows no redirect and passes none on, and makes of every other failure a Status', async () => {
    const statuses: Record<number, number> = { 301: 503, 302: 503, 307: 503, 401: 503, 404: 404, 410: 404, 403: 503, 500: 503, 206: 503 };
    for (const [given, wanted] of Object.entries(statuses)) {
      suite.service.handle = (_request, response) =>
        response.writeHead(Number(given), { Location: 'https://evil.example/', 'WWW-Authenticate': 'Basic' }).end('<h1>no</h1>');
      const response = await get('/plugins/both/entry.js');
      expect(response.status, given).to.equal(wanted);
      expect(response.headers.get('location')).to.equal(null);
      expect(response.headers.get('www-authenticate')).to.equal(null);
      expect(response.headers.get('cache-control')).to.equal('no-store');
      expect(await response.json()).to.deep.include({ kind: 'Status', status: 'Failure', code: wanted });
    }
  });

  it('cuts files above 10 MiB, announced or not', async () => {
    suite.service.handle = (_request, response) =>
      response.writeHead(200, { 'Content-Length': String(11 * 2 ** 20) }).end(Buffer.alloc(11 * 2 ** 20));
    expect((await get('/plugins/both/large.bin')).status).to.equal(503);
    suite.service.handle = (_request, response) => response.writeHead(200).end(Buffer.alloc(11 * 2 ** 20));
    const error = await get('/plugins/both/large.bin')
      .then((response) => response.arrayBuffer())
      .then(
        () => undefined,
        (reason: unknown) => reason,
      );
    expect(error).to.be.instanceOf(Error);
    suite.service.handle = (_request, response) => response.writeHead(200).end(Buffer.alloc(10 * 2 ** 20));
    expect((await (await get('/plugins/both/large.bin')).arrayBuffer()).byteLength).to.equal(10 * 2 ** 20);
  });

  it('uses its connections again', async () => {
    await (await get('/plugins/both/a.js')).text();
    const before = suite.service.connections;
    for (let turn = 0; turn < 5; turn += 1) await (await get(`/plugins/both/${turn}.js`)).text();
    // The check of the manifest may need one more.
    expect(suite.service.connections).to.be.within(before, before + 1);
  });

  it('STA-01 PLG-02 refuses every way out of the plugin, before anything goes to its Service', async () => {
    await suite.plugin('out', { backend: { service: suite.reference({ basePath: '/base' }) } });
    for (const path of [
      '../secret.js',
      'a/../../secret.js',
      '%2e%2e/secret.js',
      '%2E%2E%2Fsecret.js',
      '..%2fsecret.js',
      '%252e%252e%252fsecret.js',
      '..%5csecret.js',
      '..\\secret.js',
      '..;/secret.js',
      '%c0%ae%c0%ae/secret.js',
      'a//secret.js',
      '/etc/passwd',
      'a%00.js',
      'a%0d%0aX-Evil:1.js',
      './a.js',
      '%zz',
      '%E0%A4%A',
      'x'.repeat(5000),
      'ä.js',
    ]) {
      const { status, body } = await rawGet(suite.server.port, `/plugins/out/${path}`);
      expect(status, path).to.be.oneOf([400, 404]);
      expect(JSON.parse(body), path).to.deep.include({ kind: 'Status', code: status });
    }
    for (const path of [
      '/plugins/../plugins/out/a.js',
      '/plugins/%2e%2e/x',
      '/plugins/out',
      '/plugins/out/',
      '/plugins/',
      '/plugins/OUT/a.js',
      '/plugins//a.js',
    ])
      expect((await rawGet(suite.server.port, path)).status, path).to.be.oneOf([400, 404]);
    expect(suite.service.received).to.deep.equal([]);
    const { status } = await rawGet(suite.server.port, `http://evil.example/plugins/out/a%20b.js`);
    expect(status).to.equal(200);
    expect(suite.service.received.map(({ url }) => url)).to.deep.equal(['/base/a%20b.js']);
  });
});
