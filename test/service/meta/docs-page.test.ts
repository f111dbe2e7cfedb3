import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { request } from 'undici';
import { startBareService } from '../../../packages/http/test/bare-service.ts';
import { docsPageOperations } from '../../../src/meta/docs-page.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';

const files = {
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};

describe('GET /docs', () => {
  const server = forSuite(() => startServer({ config: { server: { publicURL: 'https://console.example.com/console' } } }));

  it('is a page without inline code and foreign hosts, which no page may frame', async () => {
    const response = await server.request('/console/docs');
    const html = await response.text();

    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).to.equal(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(response.headers.get('x-frame-options')).to.equal('DENY');
    expect(html).not.to.match(/<script>|<style| style=|\son\w+=|https?:|src="\/|href="\//);
    expect([...html.matchAll(/(?:src|href)="docs\/([^"]+)"/g)].map(([, name]) => name)).to.have.members(Object.keys(files));
  });

  it('has its files below it, each to be revalidated, and 304 for clients that have them', async () => {
    for (const [name, type] of Object.entries(files)) {
      const response = await server.request(`/console/docs/${name}`, { headers: { 'Accept-Encoding': 'identity' } });
      const etag = response.headers.get('etag') ?? '';

      expect(response.status, name).to.equal(200);
      expect(response.headers.get('content-type')).to.equal(type);
      expect(response.headers.get('cache-control')).to.equal('no-cache');
      expect(response.headers.get('vary')).to.equal('Accept-Encoding');
      expect((await response.arrayBuffer()).byteLength).to.be.above(100);
      const again = await server.request(`/console/docs/${name}`, { headers: { 'Accept-Encoding': 'identity', 'If-None-Match': etag } });
      expect(again.status).to.equal(304);
    }
    const page = await server.request('/console/docs');
    expect((await server.request('/console/docs', { headers: { 'If-None-Match': page.headers.get('etag') ?? '' } })).status).to.equal(304);
  });

  it('sends a file compressed to clients that accept it, under another ETag, if the build has compressed it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'docs-'));
    const text = 'const answer = 42;\n'.repeat(100);
    await writeFile(join(directory, 'swagger-ui-bundle.js'), text);
    await writeFile(join(directory, 'swagger-ui-bundle.js.gz'), gzipSync(text));
    await writeFile(join(directory, 'secret.js'), text);
    const service = await startBareService(docsPageOperations('', directory));
    const get = async (name: string, headers: Record<string, string>, method: 'GET' | 'HEAD' = 'GET') => {
      const answer = await request(`${service.url}/docs/${name}`, { method, headers });
      return { ...answer, bytes: Buffer.from(await answer.body.arrayBuffer()) };
    };
    try {
      const plain = await get('swagger-ui-bundle.js', { 'accept-encoding': 'identity' });
      expect(plain.bytes.toString()).to.equal(text);
      expect(plain.headers).to.not.have.property('content-encoding');

      const packed = await get('swagger-ui-bundle.js', { 'accept-encoding': 'br, gzip' });
      expect(packed.headers).to.include({ 'content-encoding': 'gzip', vary: 'Accept-Encoding', 'cache-control': 'no-cache' });
      expect(packed.headers['content-type']).to.equal('text/javascript; charset=utf-8');
      expect(packed.headers.etag).not.to.equal(plain.headers.etag);
      expect(packed.headers['content-length']).to.equal(String(packed.bytes.length));
      expect(gunzipSync(packed.bytes).toString()).to.equal(text);

      const head = await get('swagger-ui-bundle.js', { 'accept-encoding': 'gzip' }, 'HEAD');
      expect(head.headers).to.include({
        'content-encoding': 'gzip',
        etag: packed.headers.etag,
        'content-length': packed.headers['content-length'],
      });
      const known = await get('swagger-ui-bundle.js', { 'accept-encoding': 'gzip', 'if-none-match': String(packed.headers.etag) });
      expect(known.statusCode).to.equal(304);
      for (const name of ['secret.js', 'swagger-ui-bundle.js.gz', 'swagger-ui.css', '..%2fpackage.json']) {
        const none = await get(name, {});
        expect(none.statusCode, name).to.equal(404);
        expect(JSON.parse(none.bytes.toString())).to.include({ kind: 'Status' });
      }
    } finally {
      await service.stop();
      await rm(directory, { recursive: true });
    }
  });

  it('S10 compresses a file that the build has not compressed, for callers that accept it', async () => {
    for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css'] as const) {
      const get = async (encoding: string, headers: Record<string, string> = {}) => {
        const answer = await request(`${server.url}/console/docs/${name}`, { headers: { 'accept-encoding': encoding, ...headers } });
        return { ...answer, bytes: Buffer.from(await answer.body.arrayBuffer()) };
      };
      const plain = await get('identity');
      expect(plain.headers).to.not.have.property('content-encoding');
      const tags = new Set([plain.headers.etag]);
      for (const [encoding, decode] of [
        ['br', brotliDecompressSync],
        ['gzip', gunzipSync],
      ] as const) {
        const packed = await get(encoding);
        const again = await get(encoding);
        expect(packed.headers, name).to.include({ 'content-encoding': encoding, vary: 'Accept-Encoding', 'cache-control': 'no-cache' });
        expect(packed.headers['content-type']).to.equal(files[name]);
        expect(packed.headers['content-length']).to.equal(String(packed.bytes.length));
        expect(decode(packed.bytes).equals(plain.bytes)).to.equal(true);
        expect(packed.bytes.length).to.be.below(plain.bytes.length * 0.6);
        expect(again.bytes.equals(packed.bytes)).to.equal(true);
        expect((await get(encoding, { 'if-none-match': String(packed.headers.etag) })).statusCode).to.equal(304);
        tags.add(packed.headers.etag);
      }
      expect(tags.size).to.equal(3);
    }
  });

  it('leads from /docs/ to /docs, below the base path', async () => {
    const response = await server.request('/console/docs/');

    expect(response.status).to.equal(308);
    expect(response.headers.get('location')).to.equal('/console/docs');
  });

  it('has no other files', async () => {
    const files = ['index.html', 'package.json', 'swagger-ui.css.map', 'constructor', 'x/page.js'];
    for (const name of [...files, '..%2fpackage.json', '%2e%2e%2fpackage.json'])
      expect((await server.request(`/console/docs/${name}`)).status, name).to.be.oneOf([400, 404]);
    expect((await server.request('/console/docs', { method: 'POST' })).status).to.equal(405);
    expect(await (await server.request('/console/docs/none.js')).json()).to.include({ kind: 'Status', code: 404 });
  });

  it('belongs to the static files when it is switched off, or has nothing to show', async () => {
    for (const feature of ['docs', 'openapi']) {
      const bare = await startServer({ config: { features: { [feature]: false } } });
      try {
        for (const path of ['/docs', '/docs/page.js']) expect((await bare.request(path)).status, path).to.equal(404);
        const page = await bare.request('/docs', { headers: { Accept: 'text/html' } });
        expect(page.status).to.equal(200);
        expect(await page.text()).not.to.contain('swagger');
      } finally {
        await bare.stop();
      }
    }
  });
});
