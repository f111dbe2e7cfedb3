import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';

const aggregated = (version: string) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
const groups = { 'auth.platform.io': 'users', 'authorization.orchestrator.io': 'selfsubjectaccessreviews' };
const paths = ['/apis', ...Object.keys(groups).flatMap((group) => [`/apis/${group}`, `/apis/${group}/v1`])];

describe('discovery', () => {
  const server = forSuite(() => startServer());

  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await server.request(path, { headers });
    expect(response.status, path).to.equal(200);
    return response;
  };

  it('names the groups that are served here', async () => {
    const response = await get('/apis');

    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(await response.json()).to.deep.equal({
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: Object.keys(groups).map((name) => {
        const preferredVersion = { groupVersion: `${name}/v1`, version: 'v1' };
        return { name, versions: [preferredVersion], preferredVersion };
      }),
    });
  });

  it('describes each group by itself', async () => {
    for (const name of Object.keys(groups)) {
      expect(await (await get(`/apis/${name}`)).json()).to.deep.include({
        kind: 'APIGroup',
        apiVersion: 'v1',
        name,
        preferredVersion: { groupVersion: `${name}/v1`, version: 'v1' },
      });
    }
  });

  it('names the resources of each group, and of their verbs those that are answered here', async () => {
    expect(await (await get('/apis/auth.platform.io/v1')).json()).to.deep.equal({
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: 'auth.platform.io/v1',
      resources: [
        {
          name: 'users',
          singularName: 'user',
          namespaced: false,
          kind: 'User',
          verbs: ['get', 'list', 'watch'],
          shortNames: ['usr'],
          categories: ['platform-auth'],
        },
      ],
    });
    expect(await (await get('/apis/authorization.orchestrator.io/v1')).json()).to.deep.nested.include({
      groupVersion: 'authorization.orchestrator.io/v1',
      'resources[0].name': 'selfsubjectaccessreviews',
      'resources[0].verbs': ['create'],
    });
    for (const [path, method] of [
      ['/apis/auth.platform.io/v1/users', 'POST'],
      ['/apis/auth.platform.io/v1/users', 'DELETE'],
      ['/apis/auth.platform.io/v1/users/jane', 'PUT'],
      ['/apis/auth.platform.io/v1/users/jane', 'PATCH'],
      ['/apis/auth.platform.io/v1/users/jane', 'DELETE'],
      ['/apis/authorization.orchestrator.io/v1/selfsubjectaccessreviews', 'GET'],
    ] as const)
      expect((await server.request(path, { method, as: 'admin' })).status, `${method} ${path}`).to.equal(405);
  });

  it('returns all in one answer to clients that ask for it', async () => {
    for (const [accept, version] of [
      [`${aggregated('v2')},${aggregated('v2beta1')},application/json`, 'v2'],
      [`${aggregated('v2beta1')},application/json`, 'v2beta1'],
    ] as const) {
      const response = await get('/apis', { Accept: accept });
      expect(response.headers.get('content-type')).to.equal(aggregated(version));
      expect(response.headers.get('vary')).to.contain('Accept');
      const { items, ...rest } = (await response.json()) as { items: unknown[] };
      expect(rest).to.deep.equal({ kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {} });
      expect(items[0]).to.deep.equal({
        metadata: { name: 'auth.platform.io', creationTimestamp: null },
        versions: [
          {
            version: 'v1',
            freshness: 'Current',
            resources: [
              {
                resource: 'users',
                responseKind: { group: 'auth.platform.io', version: 'v1', kind: 'User' },
                scope: 'Cluster',
                singularResource: 'user',
                verbs: ['get', 'list', 'watch'],
                shortNames: ['usr'],
                categories: ['platform-auth'],
              },
            ],
          },
        ],
      });
      expect(items).to.have.lengthOf(2);
    }
    for (const accept of ['*/*', 'application/json', 'text/html, */*;q=0.1', 'application/vnd.kubernetes.protobuf'])
      expect((await get('/apis', { Accept: accept })).headers.get('content-type'), accept).to.equal('application/json; charset=utf-8');
  });

  it('requires no credential, and ignores an invalid token', async () => {
    for (const path of paths) expect((await server.request(path, { token: 'nonsense' })).status, path).to.equal(200);
  });

  it('answers 304 to clients that have the answer in the requested form', async () => {
    const etags = new Set<string>();
    for (const [path, headers] of [
      ...paths.map((one) => [one, {}] as const),
      ['/apis', { Accept: aggregated('v2') }] as const,
      ['/apis', { Accept: aggregated('v2beta1') }] as const,
    ]) {
      const response = await get(path, headers);
      const etag = response.headers.get('etag') ?? '';
      expect(response.headers.get('cache-control')).to.equal('no-cache');
      expect((await server.request(path, { headers: { ...headers, 'If-None-Match': etag } })).status, path).to.equal(304);
      etags.add(etag);
    }
    expect(etags.size).to.equal(paths.length + 2);
  });

  it('has a Status for a path that is not served here', async () => {
    for (const path of ['/api', '/api/v1', '/apis/', '/apis/apps', '/apis/auth.platform.io/v2', '/apis/auth.platform.io/v1/groups'])
      expect(await (await server.request(path)).json(), path).to.include({ kind: 'Status', code: 404, reason: 'NotFound' });
    const refused = await server.request('/apis', { method: 'POST' });
    expect(refused.headers.get('allow')).to.equal('GET, HEAD, OPTIONS');
    expect(refused.status).to.equal(405);
  });

  it('is gone when it is switched off, and nothing else with it', async () => {
    const bare = await startServer({ config: { features: { discovery: false } } });
    try {
      for (const path of paths) expect((await bare.request(path)).status, path).to.equal(404);
      expect((await bare.request('/apis/auth.platform.io/v1/users', { as: 'admin' })).status).to.equal(200);
    } finally {
      await bare.stop();
    }
  });
});
