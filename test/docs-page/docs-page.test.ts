import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { request } from 'undici';
import { startServer, type TestServer } from '../support/server.ts';

const files = {
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};

describe('GET /docs', () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ config: { server: { publicURL: 'https://console.example.com/console' } } });
  });
  after(() => server?.stop());

  it('is a page without anything inline and of no other host, which nobody may frame', async () => {
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

  it('has its files below it, each to be asked for again, and 304 for who has them', async () => {
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

  it('sends a file compressed to who takes it so, under another ETag', async () => {
    const path = '/console/docs/swagger-ui-bundle.js';
    const plain = await server.request(path, { headers: { 'Accept-Encoding': 'identity' } });
    const { headers, body: stream } = await request(`${server.url}${path}`, { headers: { 'accept-encoding': 'br, gzip' } });
    const body = Buffer.from(await stream.arrayBuffer());

    expect(headers['content-encoding']).to.equal('gzip');
    expect(headers.etag).not.to.equal(plain.headers.get('etag'));
    expect(body.byteLength).to.be.below(600_000);
    expect(gunzipSync(body).equals(Buffer.from(await plain.arrayBuffer()))).to.equal(true);
  });

  it('leads from /docs/ to /docs, below the base path', async () => {
    const response = await server.request('/console/docs/');

    expect(response.status).to.equal(308);
    expect(response.headers.get('location')).to.equal('/console/docs');
  });

  it('has no other files', async () => {
    for (const name of [
      'index.html',
      'package.json',
      'swagger-ui.css.map',
      '..%2fpackage.json',
      '%2e%2e%2fpackage.json',
      'constructor',
      'x/page.js',
    ])
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
