import { expect } from 'chai';
import { z } from 'zod';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { rawGet } from '../../support/raw-http.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { configMap, mayGetConfigMap, publicLabel } from './objects.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const gif = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex').toString('base64');
const jpeg = hex('ffd8ffe0 00104a46494600010100000100010000 ffd9');
const webp = hex('52494646 1a000000 57454250 5650384c 0d000000 2f000000 1007 1011 1188 8808 08 00');
const avif = hex('0000001c 66747970 6d696631 00000000 6d696631 61766966 6d696166');
const bmp = hex('424d 3a000000 00000000 36000000 28000000 01000000 01000000 0100 1800 00000000');
const ico = hex('0000 0100 0100 1010 0000 0100 2000 68040000 16000000');
const hostileSvg = `<?xml version="1.0"?>
<!-- drawn by hand, isn't it -->
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "https://elsewhere.example/svg11.dtd" [ <!ENTITY a "]>"> ]>
<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script>
  <foreignObject><a href="https://elsewhere.example/">out</a></foreignObject></svg>`;

const status403 = z.object({ message: z.string(), reason: z.string(), details: z.unknown() });

describe('HandleConfigMapImage', () => {
  let server: TestServer;

  before(async () => {
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }];
    const objects = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'brand' } },
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'atrium', namespace: 'brand' }, rules },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'atrium', namespace: 'brand' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'atrium' },
        subjects: [{ kind: 'ServiceAccount', name: 'atrium', namespace: serviceNamespace }],
      },
      configMap('logos', publicLabel, {
        binaryData: {
          'logo.png': png,
          'photo.bin': jpeg,
          webp,
          avif,
          bmp,
          'favicon.ico': ico,
          truncated: hex('89504e47'),
          'bmp.txt': Buffer.from('BM is how this text begins, and it goes on for a while').toString('base64'),
        },
        data: {
          'text.png': png,
          'wrapped.png': `${png.slice(0, 40)}\n${png.slice(40)}\n`,
          'uri.png': `data:image/svg+xml;charset=utf-8;base64,${gif}`,
          'hostile.svg': hostileSvg,
          'prefixed.svg': '<s:svg xmlns:s="http://www.w3.org/2000/svg"/>',
          'x.html': '<!doctype html><svg></svg>',
          'x.js': '/* <svg> */ alert(1)',
          'nested.svg': '<html><svg></svg></html>',
          'late.svg': 'text <svg></svg>',
          'config.yaml': 'password: secret',
          password: 'c2VjcmV0IHRleHQgb2YgbWluZQ==',
          __proto__2: png,
        },
      }),
      configMap('private', {}, { binaryData: { 'logo.png': png }, data: { 'config.yaml': 'password: secret' } }),
      configMap('brand', publicLabel, { data: { 'mark.gif': gif }, namespace: 'brand' }),
      configMap('both', {}, { binaryData: { 'x.png': png } }),
      configMap('both', publicLabel, { data: { 'x.png': gif }, namespace: 'brand' }),
      ...mayGetConfigMap('alice', 'private'),
      ...mayGetConfigMap('alice', 'absent'),
      configMap('second', {}, { data: { 'x.png': gif }, namespace: 'brand' }),
      ...mayGetConfigMap('carol', 'second', 'brand'),
      configMap('emptied', publicLabel, { data: {} }),
      configMap('emptied', {}, { data: { 'x.png': png }, namespace: 'brand' }),
    ];
    server = await startServer({ config: { console: { imageNamespaces: [serviceNamespace, 'brand'] } }, objects });
  });
  after(() => server.stop());

  it('IMG-01 answers an image from binaryData and from base64 text with its bytes, type and validators', async () => {
    for (const key of ['logo.png', 'text.png', 'wrapped.png']) {
      const response = await server.request(`/api/v1/cm/logos/${key}`);
      expect(response.status, key).to.equal(200);
      expect(Buffer.from(await response.arrayBuffer()).toString('base64'), key).to.equal(png);
      expect(response.headers.get('content-type'), key).to.equal('image/png');
      expect(response.headers.get('x-content-type-options'), key).to.equal('nosniff');
      expect(response.headers.get('etag'), key).to.match(new RegExp(`^"[-0-9a-f]{36}\\.\\d+\\.${key}"$`));
      expect(response.headers.get('content-disposition'), key).to.equal(`inline; filename="${key}"`);
      expect(response.headers.get('cross-origin-resource-policy'), key).to.equal('same-origin');
      expect(response.headers.get('cache-control'), key).to.equal('public, max-age=300');
      expect(response.headers.get('vary'), key).to.include('Authorization');
      expect(response.headers.get('warning'), key).to.equal(null);
    }
  });

  it('detects the type from the bytes, whatever the key or the data URI says', async () => {
    const types: [key: string, type: string][] = [
      ['photo.bin', 'image/jpeg'],
      ['webp', 'image/webp'],
      ['avif', 'image/avif'],
      ['bmp', 'image/bmp'],
      ['favicon.ico', 'image/x-icon'],
      ['uri.png', 'image/gif'],
      ['prefixed.svg', 'image/svg+xml'],
      ['__proto__2', 'image/png'],
    ];
    for (const [key, type] of types) {
      const response = await server.request(`/api/v1/cm/logos/${key}`);
      expect(response.status, key).to.equal(200);
      expect(response.headers.get('content-type'), key).to.equal(type);
    }
  });

  it('IMG-02 lets an SVG that is opened as a page run and load nothing', async () => {
    const response = await server.request('/api/v1/cm/logos/hostile.svg');

    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('image/svg+xml');
    expect(response.headers.get('content-security-policy')).to.equal("default-src 'none'; style-src 'unsafe-inline'; sandbox");
    expect(await response.text()).to.equal(hostileSvg);
  });

  const missing = async (path: string, options = {}) => {
    const response = await server.request(path, options);
    expect(response.status, path).to.equal(404);
    return response.text();
  };

  it('IMG-03 reads images only, so never ordinary text of a ConfigMap', async () => {
    const keys = [
      'x.html',
      'x.js',
      'nested.svg',
      'late.svg',
      'bmp.txt',
      'config.yaml',
      'password',
      'truncated',
      '__proto__',
      'constructor',
    ];
    const bodies = new Set<string>();
    for (const key of keys) bodies.add(await missing(`/api/v1/cm/logos/${key}`));

    expect(bodies.size).to.equal(1);
    expect(JSON.parse([...bodies][0] ?? '')).to.deep.equal({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'the image was not found',
      reason: 'NotFound',
      details: { kind: 'configmaps' },
      code: 404,
    });
  });

  it('IMG-04 says the same of a ConfigMap that is not public, of one that is absent, and of an illegal name', async () => {
    const bodies = new Set([
      await missing('/api/v1/cm/private/logo.png'),
      await missing('/api/v1/cm/kube-root-ca.crt/ca.crt'),
      await missing('/api/v1/cm/absent/logo.png'),
      await missing('/api/v1/cm/logos/absent.png'),
      await missing('/api/v1/cm/LOGOS/logo.png'),
      await missing('/api/v1/cm/logos/%2e%2e%2flogo.png'),
      await missing(`/api/v1/cm/${'x'.repeat(254)}/logo.png`),
      (await rawGet(server.port, '/api/v1/cm/../logo.png')).body,
      (await rawGet(server.port, '/api/v1/cm/logos/%zz')).body,
    ]);

    expect(bodies.size).to.equal(1);
    for (const path of ['/api/v1/cm/LOGOS/logo.png', '/api/v1/cm/logos/%2e%2e%2fx', '/api/v1/cm/%2e%2e%2fsecrets/x']) {
      expect(await missing(path, { as: 'bob' }), path).to.equal([...bodies][0]);
    }
  });

  const statuses = async (path: string) => [
    (await server.request(path, { token: 'garbage' })).status,
    (await server.request(path, { as: 'bob' })).status,
    (await server.request(path, { as: 'alice' })).status,
  ];

  it('IMG-05 shows a public image to every client, but a credential that is sent must verify', async () => {
    expect(await statuses('/api/v1/cm/logos/logo.png')).to.deep.equal([401, 200, 200]);
    const asBob = await server.request('/api/v1/cm/logos/logo.png', { as: 'bob' });
    expect(asBob.headers.get('cache-control')).to.equal('public, max-age=300');
    expect(Buffer.from(await asBob.arrayBuffer()).toString('base64')).to.equal(png);
    expect(await statuses('/api/v1/cm/logos/absent.png')).to.deep.equal([401, 404, 404]);
    const unauthorized = await server.request('/api/v1/cm/logos/logo.png', { headers: { Authorization: 'Basic Ym9iOg==' } });
    expect(unauthorized.status).to.equal(401);
    expect(unauthorized.headers.get('www-authenticate')).to.equal('Bearer realm="atrium", error="invalid_token"');
  });

  it('IMG-05 reads any other map with the rights of the caller, and says the same of one that is absent', async () => {
    expect(await statuses('/api/v1/cm/private/logo.png')).to.deep.equal([401, 403, 200]);
    expect(await statuses('/api/v1/cm/absent/logo.png')).to.deep.equal([401, 403, 404]);
    for (const name of ['private', 'absent']) {
      const refusal = await server.request(`/api/v1/cm/${name}/logo.png`, { as: 'bob' });
      const { message, ...status } = status403.parse(await refusal.json());
      expect(status).to.deep.equal({ reason: 'Forbidden', details: { name, kind: 'configmaps' } });
      expect(message).to.include(
        `configmaps "${name}" is forbidden: User "bob" cannot get resource "configmaps" in API group "" in the namespace "${serviceNamespace}"`,
      );
    }
  });

  it('keeps a private image out of shared caches, and shows only images of a private map too', async () => {
    const response = await server.request('/api/v1/cm/private/logo.png', { as: 'alice' });

    expect(response.headers.get('cache-control')).to.equal('private, no-cache');
    expect(response.headers.get('content-type')).to.equal('image/png');
    await missing('/api/v1/cm/private/config.yaml', { as: 'alice' });
  });

  it('answers 304 to clients that have it, and the new image after a change', async () => {
    for (const [path, options] of [
      ['/api/v1/cm/brand/mark.gif', {}],
      ['/api/v1/cm/private/logo.png', { as: 'alice' }],
    ] as const) {
      const etag = (await server.request(path, options)).headers.get('etag') ?? '';
      const again = () => server.request(path, { ...options, headers: { 'If-None-Match': etag } });
      const unchanged = await again();
      expect(unchanged.status, path).to.equal(304);
      expect(unchanged.headers.get('etag'), path).to.equal(etag);
    }
    const before = await server.request('/api/v1/cm/private/logo.png', { as: 'alice' });
    await server.kubernetes.apply(configMap('private', {}, { binaryData: { 'logo.png': gif } }));
    const changed = await eventually(
      () => server.request('/api/v1/cm/private/logo.png', { as: 'alice', headers: { 'If-None-Match': before.headers.get('etag') ?? '' } }),
      ({ status }) => status === 200,
    );
    expect(changed.headers.get('content-type')).to.equal('image/gif');
  });

  it('looks through the namespaces in order, each for the images that the caller may see there', async () => {
    const brand = await server.request('/api/v1/cm/brand/mark.gif');
    expect(brand.status).to.equal(200);
    const both = await server.request('/api/v1/cm/both/x.png');
    expect(both.headers.get('content-type')).to.equal('image/gif');
    const asAdmin = await server.request('/api/v1/cm/both/x.png', { as: 'admin' });
    expect(asAdmin.headers.get('content-type')).to.equal('image/png');
    const asBob = await server.request('/api/v1/cm/both/x.png', { as: 'bob' });
    expect(asBob.headers.get('content-type')).to.equal('image/gif');
  });

  it('passes over a namespace in which the caller may not get the map', async () => {
    const found = await server.request('/api/v1/cm/second/x.png', { as: 'carol' });
    expect(found.status).to.equal(200);
    expect(found.headers.get('content-type')).to.equal('image/gif');
    await missing('/api/v1/cm/second/other.png', { as: 'carol' });
    await missing('/api/v1/cm/emptied/x.png', { as: 'bob' });
    expect((await server.request('/api/v1/cm/second/x.png', { as: 'bob' })).status).to.equal(403);
  });

  it('hides an image as soon as its label is gone', async () => {
    await server.kubernetes.apply(configMap('passing', publicLabel, { binaryData: { 'x.png': png } }));
    const status = async () => (await server.request('/api/v1/cm/passing/x.png')).status;
    await eventually(status, (answer) => answer === 200);
    await server.kubernetes.call(
      'PATCH',
      `/api/v1/namespaces/${serviceNamespace}/configmaps/passing`,
      { metadata: { labels: null } },
      {
        'content-type': 'application/merge-patch+json',
      },
    );

    expect(await eventually(status, (answer) => answer === 404)).to.equal(404);
  });

  it('answers HEAD as GET, without the bytes', async () => {
    const response = await server.request('/api/v1/cm/logos/logo.png', { method: 'HEAD' });

    expect(response.status).to.equal(200);
    expect(response.headers.get('content-length')).to.equal(String(Buffer.from(png, 'base64').length));
    expect((await response.arrayBuffer()).byteLength).to.equal(0);
  });

  it('serves public images from the cache while the API server cannot be reached, and no image that needs authorization', async () => {
    const token = await server.token('alice');
    expect((await server.request('/api/v1/cm/logos/logo.png', { token })).status).to.equal(200);
    await server.relay.cut();
    try {
      const stale = await eventually(
        () => server.request('/api/v1/cm/logos/logo.png'),
        ({ headers }) => headers.has('warning'),
      );
      expect(stale.status).to.equal(200);
      expect(stale.headers.get('warning')).to.equal('110 - "Response is Stale"');
      const refused = await eventually(
        () => server.request('/api/v1/cm/logos/logo.png', { token }),
        ({ status }) => status !== 200,
      );
      expect(refused.status).to.equal(503);
      expect(refused.headers.get('retry-after')).to.equal('1');
      expect(await refused.json()).to.include({ kind: 'Status', reason: 'ServiceUnavailable', code: 503 });
    } finally {
      await server.relay.mend();
    }
    const back = await eventually(
      () => server.request('/api/v1/cm/logos/logo.png'),
      ({ headers }) => !headers.has('warning'),
    );
    expect(back.status).to.equal(200);
  });
});
