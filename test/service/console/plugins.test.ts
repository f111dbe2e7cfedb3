import { hash } from 'node:crypto';
import { expect } from 'chai';
import { eventually, type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { configMap, mayGetConfigMap, publicLabel } from './objects.ts';

interface FileList {
  metadata: { resourceVersion: string; remainingItemCount?: number };
  items: { plugin: string; path: string; contents: string; encoding: string; contentType: string; sha256: string; configMap: string }[];
}

const ofPlugin = (plugin: string) => ({ ...publicLabel, 'console.platform.io/plugin': plugin });
const configMaps = `/api/v1/namespaces/${serviceNamespace}/configmaps`;

const consolePlugin = (name: string, spec: Record<string, unknown>): Manifest => ({
  apiVersion: 'console.platform.io/v1',
  kind: 'ConsolePlugin',
  metadata: { name },
  spec: { displayName: name, ...spec },
});

describe('HandleConsolePlugins', () => {
  const server = forSuite(() => startServer({ config: { console: { static: { directory: 'web/dist' } } } }));

  const list = async (options = {}): Promise<FileList> => {
    const response = await server.request('/api/v1/console-plugins', options);
    expect(response.status).to.equal(200);
    return (await response.json()) as FileList;
  };
  const paths = async (options = {}) => (await list(options)).items.map(({ path }) => path);
  /** Waits until the list names the file. */
  const listWith = (path: string, options = {}) =>
    eventually(
      () => list(options),
      ({ items }) => items.some((item) => item.path === path),
    );
  const applied: string[] = [];
  const apply = async (...objects: Manifest[]) => {
    await server.kubernetes.apply(...objects);
    applied.push(...objects.filter(({ kind }) => kind === 'ConfigMap').map(({ metadata }) => metadata.name));
  };
  afterEach(async () => {
    for (const name of applied.splice(0)) await server.kubernetes.call('DELETE', `${configMaps}/${name}`);
    await eventually(paths, (left) => left.length === 0);
  });

  it('gives path, contents, type and hash of each file, without a token', async () => {
    const manifest = '{"name":"cost-report"}';
    await apply(
      configMap('cost-report-console', ofPlugin('cost-report'), {
        data: { 'plugin-manifest.json': manifest },
        binaryData: { 'icon.png': 'iVBORw0KGgo=' },
      }),
    );
    const { items, metadata } = await listWith('/plugins/cost-report/plugin-manifest.json');

    expect(items).to.deep.equal([
      {
        plugin: 'cost-report',
        path: '/plugins/cost-report/icon.png',
        contents: 'iVBORw0KGgo=',
        encoding: 'base64',
        contentType: 'image/png',
        sha256: hash('sha256', Buffer.from('iVBORw0KGgo=', 'base64')),
        configMap: 'cost-report-console',
      },
      {
        plugin: 'cost-report',
        path: '/plugins/cost-report/plugin-manifest.json',
        contents: manifest,
        encoding: 'utf-8',
        contentType: 'application/json',
        sha256: hash('sha256', manifest),
        configMap: 'cost-report-console',
      },
    ]);
    const { body } = await server.kubernetes.call('GET', `${configMaps}/cost-report-console`);
    expect(metadata).to.deep.equal({ resourceVersion: (body as Manifest).metadata.resourceVersion });
  });

  it('sorts by order, plugin and path, and serves the first of equal paths', async () => {
    await apply(
      configMap('late', ofPlugin('alpha'), { data: { 'z.js': 'late', 'same.js': 'second' } }),
      configMap('early', ofPlugin('zulu'), { data: { 'b.js': '', 'a.js': '' }, annotations: { 'console.platform.io/order': '5' } }),
      configMap('first', ofPlugin('alpha'), { data: { 'same.js': 'first' }, annotations: { 'console.platform.io/order': '10' } }),
      configMap('below', ofPlugin('alpha'), { data: { 'x.js': '' }, annotations: { 'console.platform.io/path': 'locales/de/' } }),
    );
    const { items } = await listWith('/plugins/alpha/locales/de/x.js');

    expect(items.map(({ path, configMap: map }) => `${path} ${map}`)).to.deep.equal([
      '/plugins/zulu/a.js early',
      '/plugins/zulu/b.js early',
      '/plugins/alpha/same.js first',
      '/plugins/alpha/locales/de/x.js below',
      '/plugins/alpha/z.js late',
    ]);
  });

  it('adds files that the caller may get, and leaves the others out silently', async () => {
    await apply(
      configMap('open', ofPlugin('open'), { data: { 'a.js': '' } }),
      configMap('closed', { 'console.platform.io/plugin': 'closed' }, { data: { 'a.js': '' } }),
      configMap('other', { 'console.platform.io/plugin': 'other' }, { data: { 'a.js': '' } }),
      ...mayGetConfigMap('alice', 'closed'),
    );
    await listWith('/plugins/open/a.js');
    await listWith('/plugins/closed/a.js', { as: 'alice' });
    await listWith('/plugins/other/a.js', { as: 'admin' });

    expect(await paths()).to.deep.equal(['/plugins/open/a.js']);
    expect(await paths({ as: 'bob' })).to.deep.equal(['/plugins/open/a.js']);
    expect(await paths({ as: 'alice' })).to.deep.equal(['/plugins/closed/a.js', '/plugins/open/a.js']);
    expect(await paths({ as: 'admin' })).to.deep.equal(['/plugins/closed/a.js', '/plugins/open/a.js', '/plugins/other/a.js']);
  });

  it('refuses a token that is not accepted, and caches by caller', async () => {
    const refused = await server.request('/api/v1/console-plugins', { token: 'garbage' });
    expect(refused.status).to.equal(401);
    const anonymous = await server.request('/api/v1/console-plugins');
    expect(anonymous.headers.get('cache-control')).to.equal('no-cache');
    expect(anonymous.headers.get('vary')).to.equal('Authorization, Cookie');
    const known = await server.request('/api/v1/console-plugins', { as: 'bob' });
    expect(known.headers.get('cache-control')).to.equal('private, no-cache');
    const etag = anonymous.headers.get('etag') ?? '';
    expect((await server.request('/api/v1/console-plugins', { headers: { 'If-None-Match': etag } })).status).to.equal(304);
    await apply(configMap('change', ofPlugin('change'), { data: { 'a.js': '' } }));
    await listWith('/plugins/change/a.js');
    expect((await server.request('/api/v1/console-plugins', { headers: { 'If-None-Match': etag } })).status).to.equal(200);
  });

  it('omits disabled plugins, and adds the sources of enabled plugins to the policy of pages', async () => {
    await apply(configMap('on', ofPlugin('on'), { data: { 'a.js': '' } }), configMap('off', ofPlugin('off'), { data: { 'a.js': '' } }));
    await listWith('/plugins/off/a.js');
    const needs = (...values: string[]) => ({ contentSecurityPolicy: [{ directive: 'ImgSrc', values }] });
    await server.kubernetes.apply(
      consolePlugin('on', needs('https://images.example')),
      consolePlugin('off', { enabled: false, ...needs('https://other.example') }),
    );

    expect(await eventually(paths, (found) => found.length === 1)).to.deep.equal(['/plugins/on/a.js']);
    const policy = await eventually(
      async () => (await server.request('/')).headers.get('content-security-policy') ?? '',
      (text) => text.includes('images.example'),
    );
    expect(policy).to.equal(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https://images.example; connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    await server.kubernetes.remove('/apis/console.platform.io/v1/consoleplugins/off');
    await listWith('/plugins/off/a.js');
  });

  it('PLG-01 serves the good ones beside broken, hostile and too many ones', async () => {
    const many = (name: string, count: number) =>
      configMap(name, ofPlugin(name), { data: Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}.js`, String(at)])) });
    const large = (name: string) => configMap(name, ofPlugin(name), { data: { 'large.js': 'x'.repeat(990_000) } });
    await apply(
      configMap('broken', ofPlugin('broken'), { data: { 'plugin-manifest.json': '{"name":', 'a.js': '' } }),
      configMap('list', ofPlugin('list'), { data: { 'plugin-manifest.json': '["name"]' } }),
      configMap('polluting', ofPlugin('polluting'), {
        data: { 'plugin-manifest.json': '{"__proto__":{"polluted":1}}', ['__proto__']: '1' },
      }),
      ...['l1', 'l2', 'l3', 'l4', 'l5', 'l6', 'l7', 'l8', 'l9'].map(large),
      many('many', 300),
      many('more', 300),
      configMap('small', ofPlugin('small'), { data: { 'a.js': 'a' } }),
    );
    const { items, metadata } = await listWith('/plugins/small/a.js');
    const found = new Set(items.map(({ plugin }) => plugin));

    expect([...found]).to.deep.equal(['l1', 'l2', 'l3', 'l4', 'l5', 'l6', 'l7', 'l8', 'many', 'polluting', 'small']);
    expect(items.length).to.be.at.most(500);
    expect(items.map(({ path }) => path)).to.include('/plugins/polluting/__proto__');
    expect(metadata.remainingItemCount).to.equal(301);
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined);
  });

  it('PLG-02 leaves out files whose name or path leads elsewhere, and records an Event for their author', async () => {
    const directories = ['../../x', '/etc', 'a//b', 'a/../b', './a', 'a\\b', '%2e%2e/x', ''];
    await apply(
      configMap('label', { ...publicLabel, 'console.platform.io/plugin': 'a.b' }, { data: { 'a.js': '' } }),
      configMap('order', ofPlugin('order'), { data: { 'a.js': '' }, annotations: { 'console.platform.io/order': 'soon' } }),
      ...directories.map((directory, at) =>
        configMap(`path-${at}`, ofPlugin(`path-${at}`), { data: { 'a.js': '' }, annotations: { 'console.platform.io/path': directory } }),
      ),
    );
    await listWith('/plugins/path-7/a.js');

    expect(await paths()).to.deep.equal(['/plugins/path-7/a.js']);
    const { body: map } = await server.kubernetes.call('GET', `${configMaps}/path-0`);
    const { metadata } = map as Manifest;
    const refused = ['label', 'order', ...directories.slice(0, -1).map((_directory, at) => `path-${at}`)];
    const about = ({ involvedObject }: Record<string, unknown>) => (involvedObject as { name: string }).name;
    const events = await eventually(
      async () => {
        const { body } = await server.kubernetes.call('GET', `/api/v1/namespaces/${serviceNamespace}/events`);
        return (body as { items: (Manifest & Record<string, unknown>)[] }).items;
      },
      (found) => refused.every((name) => found.some((one) => about(one) === name)),
    );
    const event = events.find((one) => about(one) === 'path-0');
    expect(event).to.deep.include({
      type: 'Warning',
      reason: 'PluginRefused',
      message: 'The files of this ConfigMap are not served: the annotation console.platform.io/path is not a relative directory.',
      involvedObject: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        namespace: serviceNamespace,
        name: 'path-0',
        uid: metadata.uid,
        resourceVersion: metadata.resourceVersion,
      },
    });
    const lines = server.logLines.filter((line) => line.includes('ConfigMap of a plugin ignored') && line.includes('"path-0"'));
    expect(lines).to.have.length(1);
  });

  it('PLG-03 asks no address that a plugin names', async () => {
    const service = { name: 'metadata', namespace: 'default', port: 80 };
    const { status } = await server.kubernetes.call('POST', '/apis/console.platform.io/v1/consoleplugins', {
      ...consolePlugin('address', { backend: { service: { ...service, name: '169.254.169.254' } } }),
    });
    expect(status).to.equal(422);
    const api = await server.kubernetes.call('POST', '/apis/console.platform.io/v1/consoleplugins', {
      ...consolePlugin('api', { backend: { service: { ...service, name: 'kubernetes' } } }),
    });
    expect(api.status).to.equal(422);
    await apply(
      configMap('plain', ofPlugin('plain'), {
        data: { 'plugin-manifest.json': '{"address":"http://169.254.169.254/","proxy":"http://[::ffff:127.0.0.1]/"}' },
      }),
    );
    await listWith('/plugins/plain/plugin-manifest.json');
    expect((await server.request('/plugins/address/latest/meta-data', { as: 'admin' })).status).to.equal(404);
  });

  it('works where ConsolePlugin is not installed, and follows it once it is', async () => {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/consoleplugins.console.platform.io';
    await apply(configMap('lonely', ofPlugin('lonely'), { data: { 'a.js': '' } }));
    await server.kubernetes.remove(path);
    await eventually(
      () => server.kubernetes.call('GET', '/apis/console.platform.io/v1/consoleplugins'),
      ({ status }) => status === 404,
    );
    await listWith('/plugins/lonely/a.js');
    const response = await server.request('/api/v1/console-plugins', { as: 'bob' });
    expect(response.status).to.equal(200);
    expect(response.headers.get('warning')).to.equal(null);
    expect((await server.request('/readyz')).status).to.equal(200);
    await server.kubernetes.install();
    await server.kubernetes.apply(consolePlugin('lonely', { enabled: false }));
    expect(await eventually(paths, (found) => found.length === 0)).to.deep.equal([]);
  });

  it('serves the last known files while the API server cannot be reached, and 503 for those that need authorization', async () => {
    await apply(configMap('known', ofPlugin('known'), { data: { 'a.js': '' } }));
    await listWith('/plugins/known/a.js');
    const token = await server.token('alice');
    expect((await list({ token })).items).to.have.length(1);
    await server.relay.cut();
    try {
      const stale = await eventually(
        () => server.request('/api/v1/console-plugins'),
        ({ headers }) => headers.has('warning'),
      );
      expect(stale.headers.get('warning')).to.equal('110 - "Response is Stale"');
      expect(((await stale.json()) as FileList).items.map(({ path }) => path)).to.deep.equal(['/plugins/known/a.js']);
      const refused = await eventually(
        () => server.request('/api/v1/console-plugins', { token }),
        ({ status }) => status !== 200,
      );
      expect(refused.status).to.equal(503);
    } finally {
      await server.relay.mend();
    }
    await eventually(
      () => server.request('/api/v1/console-plugins'),
      ({ headers }) => !headers.has('warning'),
    );
  });
});
