import { appendFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { request } from 'undici';
import { forSuite } from '../../support/for-suite.ts';
import { rawGet } from '../../support/raw-http.ts';
import { patient } from '../../support/server.ts';
import { ManualTimer } from './manual-timer.ts';
import { makeDirectory, startOfflineConsole } from './offline-console.ts';

const index = '<!doctype html><title>root</title>';
const script = `export const words = '${'many words '.repeat(200)}';\n`;
const page = { headers: { Accept: 'text/html' } };

describe('HandleStaticFiles', () => {
  const directory = forSuite(
    () =>
      makeDirectory({
        'index.html': index,
        'app.3f6c0b1d.js': script,
        'app.3f6c0b1d.js.br': brotliCompressSync(script),
        'app.3f6c0b1d.js.gz': gzipSync(script),
        'report.20240131.txt': 'a date, no hash',
        'style.css': 'body { margin: 0 }',
        'picture.unknown-extension': 'bytes',
        'no-extension': 'bytes',
        'a/index.html': '<!doctype html><title>a</title>',
        'a/x/data.json': '{"a":1}',
        'with space.txt': 'spaces',
      }),
    (it) => it.remove(),
  );
  let server: Awaited<ReturnType<typeof startOfflineConsole>>;

  before(async () => {
    server = await startOfflineConsole({ config: { console: { static: { directory: directory.path } } } });
  });
  after(async () => {
    await server.stop();
  });

  const get = (path: string, init: RequestInit = {}) => fetch(`${server.url}${path}`, init);
  /** Sends a request without the decompression and the headers of fetch. */
  const exchange = async (path: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') => {
    const answer = await request(`${server.url}${path}`, { method, headers });
    return { status: answer.statusCode, headers: answer.headers, bytes: Buffer.from(await answer.body.arrayBuffer()) };
  };

  it('answers a page of another build with redirects, so that a replica of that build is found', async () => {
    for (const [kind, path] of [
      ['script', '/assets/users-0123456789ab.js'],
      ['style', '/assets/style-0123456789ab.css'],
      ['font', '/assets/text-0123456789ab.woff2'],
      ['image', '/assets/mark-0123456789ab.svg'],
    ] as const) {
      let query = '';
      let redirects = 0;
      for (; redirects < 20; redirects += 1) {
        const answer = await get(`${path}${query}`, { headers: { 'sec-fetch-dest': kind }, redirect: 'manual' });
        if (answer.status !== 307) break;
        expect(answer.headers.get('cache-control')).to.equal('no-store');
        query = answer.headers.get('location') ?? '';
        expect(query).to.equal(`?retry=${redirects + 1}`);
      }
      expect(redirects, path).to.equal(12);
    }
    const found = await get('/app.3f6c0b1d.js?retry=3', { headers: { 'sec-fetch-dest': 'script' } });
    expect([found.status, await found.text()]).to.deep.equal([200, script]);
  });

  it('answers a page of another build, whose code no replica has, with a script that loads the page again', async () => {
    const script = { headers: { 'sec-fetch-dest': 'script' } };
    const answer = await get('/assets/users-0123456789ab.js?retry=12', script);

    expect(answer.status).to.equal(200);
    expect(answer.headers.get('content-type')).to.match(/^text\/javascript/);
    expect(answer.headers.get('cache-control')).to.equal('no-store');
    expect(await answer.text()).to.contain('location.reload()');
    for (const [path, init] of [
      ['/assets/users-0123456789ab.js', {}],
      ['/assets/users.js', script],
      ['/assets/style-0123456789ab.css?retry=12', { headers: { 'sec-fetch-dest': 'style' } }],
      ['/assets/users-0123456789ab.js', { headers: { 'sec-fetch-dest': 'empty' } }],
      ['/assets/users-0123456789ab.js', { headers: { 'sec-fetch-dest': 'document' } }],
    ] as const)
      expect((await get(path, { ...init, redirect: 'manual' })).status, path).to.equal(404);
  });

  it('serves a file with type, validators and caching', async () => {
    const response = await get('/style.css');

    expect(response.status).to.equal(200);
    expect(await response.text()).to.equal('body { margin: 0 }');
    expect(response.headers.get('content-type')).to.equal('text/css; charset=utf-8');
    expect(response.headers.get('etag')).to.match(/^"[0-9a-f]{32}"$/);
    expect(Date.parse(response.headers.get('last-modified') ?? '')).to.be.a('number').that.is.not.NaN;
    expect(response.headers.get('accept-ranges')).to.equal('bytes');
    expect(response.headers.get('cache-control')).to.equal('no-cache');
    expect(response.headers.get('x-content-type-options')).to.equal('nosniff');
  });

  it('lets names with a hash be kept for ever, and no others', async () => {
    expect((await get('/app.3f6c0b1d.js')).headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
    expect((await get('/report.20240131.txt')).headers.get('cache-control')).to.equal('no-cache');
  });

  it('never looks at a credential', async () => {
    const response = await get('/style.css', { headers: { Authorization: 'Basic bm9ib2R5Og==' } });

    expect(response.status).to.equal(200);
  });

  it('decodes a path once', async () => {
    expect(await (await get('/with%20space.txt')).text()).to.equal('spaces');
    expect((await rawGet(server.port, '/with%2520space.txt')).status).to.equal(404);
  });

  it('sends a policy and a ban of frames with pages alone', async () => {
    const html = await get('/');
    const css = await get('/style.css');

    expect(html.headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(html.headers.get('content-security-policy')).to.include("default-src 'none'");
    expect(html.headers.get('x-frame-options')).to.equal('DENY');
    expect(css.headers.get('content-security-policy')).to.equal(null);
  });

  it('answers a directory with its index, and with 404 where it has none', async () => {
    expect(await (await get('/')).text()).to.equal(index);
    expect(await (await get('/a/')).text()).to.include('<title>a</title>');
    for (const path of ['/a/x', '/a/x/']) expect((await get(path, page)).status, path).to.equal(404);
  });

  it('gives a page that is missing the nearest index upwards', async () => {
    expect(await (await get('/a/b/c', page)).text()).to.include('<title>a</title>');
    expect(await (await get('/b/c', page)).text()).to.equal(index);
  });

  it('gives the page of a name with a dot, where no directory is that could hold a file', async () => {
    const names = ['/r/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com', '/r/core/v1/pods/ns/shop/web-10.0.0.1'];
    for (const path of names) {
      expect(await (await get(path, page)).text(), path).to.equal(index);
      expect((await get(path)).status, path).to.equal(404);
    }
    expect(await (await get('/a/b/widgets.example.com', page)).text()).to.include('<title>a</title>');
  });

  it('gives no page without text/html in Accept, nor for a file that is missing from a directory', async () => {
    const missing = [
      await get('/b/c'),
      await get('/missing.js', page),
      await get('/a/missing.js', page),
      await get('/b/c', { headers: { Accept: 'image/*' } }),
    ];
    for (const response of missing) {
      expect(response.status).to.equal(404);
      expect(response.headers.get('cache-control')).to.equal('no-store');
      expect(await response.json()).to.include({ kind: 'Status', reason: 'NotFound', code: 404 });
    }
  });

  it('gives only the index of the root when recurveIndex is off', async () => {
    const other = await startOfflineConsole({ config: { console: { recurveIndex: false, static: { directory: directory.path } } } });
    try {
      const response = await fetch(`${other.url}/a/b/c`, page);
      expect(await response.text()).to.equal(index);
    } finally {
      await other.stop();
    }
  });

  it('works below a base path, and nowhere else', async () => {
    const config = { server: { publicURL: 'https://example.com/console/' }, console: { static: { directory: directory.path } } };
    const other = await startOfflineConsole({ config });
    try {
      expect(await (await fetch(`${other.url}/console/style.css`)).text()).to.equal('body { margin: 0 }');
      expect((await fetch(`${other.url}/style.css`)).status).to.equal(404);
      expect((await rawGet(other.port, '/console/../style.css')).status).to.equal(400);
    } finally {
      await other.stop();
    }
  });

  it('serves a part of a file', async () => {
    const cases: [range: string, contentRange: string, text: string][] = [
      ['bytes=0-3', 'bytes 0-3/18', 'body'],
      ['bytes=-4', 'bytes 14-17/18', ' 0 }'],
      ['bytes=14-', 'bytes 14-17/18', ' 0 }'],
      ['bytes=16-99', 'bytes 16-17/18', ' }'],
      ['bytes=-99', 'bytes 0-17/18', 'body { margin: 0 }'],
    ];
    for (const [range, contentRange, text] of cases) {
      const response = await get('/style.css', { headers: { Range: range } });
      expect(response.status, range).to.equal(206);
      expect(response.headers.get('content-range'), range).to.equal(contentRange);
      expect(await response.text(), range).to.equal(text);
    }
  });

  it('refuses a part that is not there, and ignores a malformed range', async () => {
    for (const range of ['bytes=18-', 'bytes=-0']) {
      const outside = await get('/style.css', { headers: { Range: range } });
      expect(outside.status, range).to.equal(416);
      expect(outside.headers.get('content-range')).to.equal('bytes */18');
      expect(await outside.json()).to.include({ kind: 'Status', code: 416 });
    }
    for (const range of ['lines=1-2', 'bytes=', 'bytes=-', 'bytes=b-c', 'bytes=5-2']) {
      expect((await get('/style.css', { headers: { Range: range } })).status, range).to.equal(200);
    }
  });

  it('serves a part only to clients that have the rest of the same file', async () => {
    const { headers } = await get('/style.css');
    const part = (condition: string) => get('/style.css', { headers: { Range: 'bytes=0-3', 'If-Range': condition } });

    expect((await part(headers.get('etag') ?? '')).status).to.equal(206);
    expect((await part(headers.get('last-modified') ?? '')).status).to.equal(206);
    expect((await part('"another"')).status).to.equal(200);
    expect((await part('Thu, 01 Jan 1970 00:00:00 GMT')).status).to.equal(200);
  });

  it('answers 304 to clients that have it already', async () => {
    const { headers } = await get('/app.3f6c0b1d.js');
    const again = await get('/app.3f6c0b1d.js', { headers: { 'If-None-Match': headers.get('etag') ?? '' } });
    const since = await get('/app.3f6c0b1d.js', { headers: { 'If-Modified-Since': headers.get('last-modified') ?? '' } });

    expect([again.status, since.status]).to.deep.equal([304, 304]);
    expect(again.headers.get('etag')).to.equal(headers.get('etag'));
    expect(again.headers.get('cache-control')).to.equal(headers.get('cache-control'));
  });

  it('serves the compressed neighbour that the request likes best', async () => {
    const encodings: [accept: string, encoding: string | undefined][] = [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0.5, gzip;q=0.9', 'gzip'],
      ['br;q=0, *', 'gzip'],
      ['*', 'br'],
      ['identity;q=1, br;q=0.5', undefined],
      ['gzip;q=0, br;q=0', undefined],
      ['deflate', undefined],
      ['', undefined],
    ];
    const etags = new Map<string | undefined, unknown>();
    for (const [accept, encoding] of encodings) {
      const { headers } = await exchange('/app.3f6c0b1d.js', { 'accept-encoding': accept });
      expect(headers['content-encoding'], accept).to.equal(encoding);
      expect(headers['content-type'], accept).to.equal('text/javascript; charset=utf-8');
      expect(headers.vary, accept).to.include('Accept-Encoding');
      etags.set(encoding, headers.etag);
    }
    expect(new Set(etags.values()).size).to.equal(3);
    const { bytes } = await exchange('/app.3f6c0b1d.js', { 'accept-encoding': 'br' });
    expect(brotliDecompressSync(bytes).toString()).to.equal(script);
  });

  it('reads large files from disk, whole and in parts, and does not serve other bytes under an old ETag', async () => {
    // The file has one byte more than the service caches, and is sparse, so that creating it is fast.
    const size = 64 * 1024 * 1024 + 1;
    const large = await makeDirectory({ 'index.html': index, 'large.bin': 'begin' });
    await truncate(join(large.path, 'large.bin'), size);
    // The timer stands still, so that the directory is not read again during the test.
    const timer = new ManualTimer();
    const other = await startOfflineConsole({ config: { ...patient, console: { static: { directory: large.path } } }, timer });
    try {
      const part = await fetch(`${other.url}/large.bin`, { headers: { Range: 'bytes=0-4' } });
      expect(part.status).to.equal(206);
      expect(part.headers.get('content-length')).to.equal('5');
      expect(await part.text()).to.equal('begin');
      const head = await fetch(`${other.url}/large.bin`, { method: 'HEAD' });
      expect(head.headers.get('content-length')).to.equal(String(size));
      const whole = await fetch(`${other.url}/large.bin`);
      expect((await whole.arrayBuffer()).byteLength).to.equal(size);
      await appendFile(join(large.path, 'large.bin'), 'more');
      expect((await fetch(`${other.url}/large.bin`)).status).to.equal(404);
    } finally {
      await other.stop();
      await large.remove();
    }
  });

  it('starts without its directory, and is not ready', async () => {
    const other = await startOfflineConsole({ config: { console: { static: { directory: join(directory.outside, 'missing') } } } });
    try {
      expect((await fetch(`${other.url}/`, page)).status).to.equal(404);
      expect((await fetch(`${other.url}/api/v1/i18n/languages`)).status).to.equal(200);
      const check = other.checks.find(({ name }) => name === 'static-files');
      expect(check).to.include({ critical: true });
      expect(check?.failure()).to.equal('the directory cannot be read');
      expect(server.checks.find(({ name }) => name === 'static-files')?.failure()).to.equal(undefined);
    } finally {
      await other.stop();
    }
  });

  it('STA-06 answers other methods, odd ranges and unknown types as HTTP asks for', async () => {
    const got = await exchange('/app.3f6c0b1d.js', { 'accept-encoding': 'br' });
    const head = await exchange('/app.3f6c0b1d.js', { 'accept-encoding': 'br' }, 'HEAD');
    const comparable = ({ headers: { date, connection, 'keep-alive': idle, 'x-request-id': id, ...rest } }: typeof got) => rest;
    expect(head.status).to.equal(200);
    expect(head.bytes.length).to.equal(0);
    expect(comparable(head)).to.deep.equal(comparable(got));
    for (const method of ['TRACE', 'PUT', 'POST', 'DELETE']) {
      const answer = await rawGet(server.port, '/style.css', method);
      expect(answer.status, method).to.equal(405);
      expect(answer.headers.allow, method).to.equal('GET, HEAD, OPTIONS');
    }
    const parts = Array.from({ length: 1000 }, (_, index) => `${index}-${index}`).join(',');
    const many = await get('/style.css', { headers: { Range: `bytes=${parts}` } });
    expect(many.status).to.equal(200);
    expect(await many.text()).to.equal('body { margin: 0 }');
    for (const path of ['/picture.unknown-extension', '/no-extension']) {
      expect((await get(path)).headers.get('content-type'), path).to.equal('application/octet-stream');
    }
    const unchanged = await get('/style.css', { headers: { 'If-None-Match': (await get('/style.css')).headers.get('etag') ?? '' } });
    expect(unchanged.status).to.equal(304);
  });
});
