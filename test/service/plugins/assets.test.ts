import { hash } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { configMap, mayGetConfigMap } from '../console/objects.ts';
import { consolePlugin, ofPlugin, startPluginSuite } from './support.ts';

describe('GetPluginAsset, out of ConfigMaps', () => {
  const suite = forSuite(() => startPluginSuite());
  const get = (path: string, options = {}) => suite.server.request(path, options);
  const untilFound = (path: string, options = {}) =>
    eventually(
      () => get(path, options),
      ({ status }) => status === 200,
    );
  const script = "export const title = 'Cost';\n";
  const digest = hash('sha256', script);

  before(async () => {
    await suite.server.kubernetes.apply(
      configMap('cost', ofPlugin('cost'), {
        data: {
          'entry.js': script,
          'plugin-manifest.json': '{"name":"cost"}',
          'page.html': '<p>hi</p>',
          'sheet.xsl': '<a/>',
          'app.3f6c0b1d.js': '1',
        },
        binaryData: { 'icon.png': 'iVBORw0KGgo=' },
      }),
      configMap('cost-locales', ofPlugin('cost'), { data: { 'de.json': '{}' }, annotations: { 'console.platform.io/path': 'locales' } }),
      configMap('picture', ofPlugin('cost'), { data: { 'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>', noextension: 'x' } }),
      configMap('closed', { 'console.platform.io/plugin': 'closed' }, { data: { 'entry.js': 'closed' } }),
      ...mayGetConfigMap('alice', 'closed'),
    );
    await untilFound('/plugins/cost/icon.svg');
  });

  it('serves a file with its type, its digest as ETag, and to pages of this origin alone', async () => {
    const response = await get('/plugins/cost/entry.js');

    expect(response.status).to.equal(200);
    expect(await response.text()).to.equal(script);
    expect(Object.fromEntries(response.headers)).to.include({
      'content-type': 'text/javascript; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      etag: `"${digest}"`,
      'cache-control': 'no-cache',
      vary: 'Authorization, Cookie',
    });
    const again = await get('/plugins/cost/entry.js', { headers: { 'If-None-Match': `"${digest}"` } });
    expect(again.status).to.equal(304);
    expect(await again.text()).to.equal('');
    const head = await get('/plugins/cost/entry.js', { method: 'HEAD' });
    expect(head.status).to.equal(200);
    expect(head.headers.get('content-length')).to.equal(String(script.length));
    expect(await (await get('/plugins/cost/icon.png')).arrayBuffer()).to.deep.equal(
      Uint8Array.from(Buffer.from('iVBORw0KGgo=', 'base64')).buffer,
    );
    expect((await get('/plugins/cost/locales/de.json')).headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect((await get('/plugins/cost/noextension')).headers.get('content-type')).to.equal('application/octet-stream');
  });

  it('lets browsers keep files for good that a digest or name pins', async () => {
    const cacheControl = async (path: string) => (await get(path)).headers.get('cache-control');
    const forGood = 'public, max-age=31536000, immutable';

    expect(await cacheControl(`/plugins/cost/entry.js?v=${digest.slice(0, 16)}`)).to.equal(forGood);
    expect(await cacheControl('/plugins/cost/app.3f6c0b1d.js')).to.equal(forGood);
    for (const version of [
      '',
      digest.slice(0, 7),
      `${digest.slice(0, 15)}x`,
      '0'.repeat(16),
      `${digest.slice(0, 16)}&v=${digest.slice(0, 16)}`,
    ])
      expect(await cacheControl(`/plugins/cost/entry.js?v=${version}`), version).to.equal('no-cache');
  });

  it('lets a page or picture of a plugin run nothing when it is opened by itself', async () => {
    for (const path of ['/plugins/cost/page.html', '/plugins/cost/icon.svg', '/plugins/cost/sheet.xsl']) {
      const { headers } = await get(path);
      expect(headers.get('content-security-policy'), path).to.equal("default-src 'none'; style-src 'unsafe-inline'; sandbox");
      expect(headers.get('x-frame-options'), path).to.equal('DENY');
    }
  });

  it('serves files that are not public to callers who may get the ConfigMap, and hides their existence from others', async () => {
    const absent = await get('/plugins/absent/entry.js');
    const absentBody = await absent.text();
    const allowed = await untilFound('/plugins/closed/entry.js', { as: 'alice' });
    expect(await allowed.text()).to.equal('closed');
    expect(allowed.headers.get('cache-control')).to.equal('private, no-cache');
    const pinned = await get(`/plugins/closed/entry.js?v=${hash('sha256', 'closed')}`, { as: 'alice' });
    expect(pinned.headers.get('cache-control')).to.equal('private, no-cache');
    for (const options of [{}, { as: 'bob' }]) {
      const refused = await get('/plugins/closed/entry.js', options);
      expect(refused.status).to.equal(404);
      expect(refused.headers.get('cache-control')).to.equal('no-store');
      expect(await refused.text()).to.equal(absentBody);
    }
    expect((await get('/plugins/cost/entry.js', { token: 'garbage' })).status).to.equal(401);
  });

  it('is gone with a plugin that is disabled, and has other methods refused', async () => {
    await suite.server.kubernetes.apply(configMap('off', ofPlugin('off'), { data: { 'entry.js': '' } }));
    await untilFound('/plugins/off/entry.js');
    await suite.plugin('off', { enabled: false });
    expect((await get('/plugins/off/entry.js')).status).to.equal(404);
    const post = await get('/plugins/cost/entry.js', { method: 'POST', body: {} });
    expect(post.status).to.equal(405);
    expect(post.headers.get('allow')).to.equal('GET, HEAD, OPTIONS');
  });

  it('is 404 with features.pluginAssets off', async () => {
    const server = await startServer({
      config: { features: { pluginAssets: false } },
      objects: [consolePlugin('cost', {}), configMap('cost', ofPlugin('cost'), { data: { 'entry.js': '' } })],
    });
    try {
      expect((await server.request('/plugins/cost/entry.js')).status).to.equal(404);
    } finally {
      await server.stop();
    }
  });
});
