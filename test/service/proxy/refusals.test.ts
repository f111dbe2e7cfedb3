import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { rawGet } from '../../support/raw-http.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { ApiServerBetween } from './api-server-between.ts';

const base = '/api/kubernetes';
const inDefault = `${base}/api/v1/namespaces/default`;

interface Body {
  message: string;
  details?: { causes?: { reason: string }[] };
}

const safe = { policy: "default-src 'none'; sandbox; frame-ancestors 'none'", resources: 'same-origin' };

describe('requests to the Kubernetes API', () => {
  const between = new ApiServerBetween();
  const server = forSuite(() => startServer({ between: between.start }));
  let token: string;

  before(async () => {
    token = await server.token('admin');
  });
  beforeEach(() => {
    between.received.length = 0;
  });

  const send = (path: string, options = {}) => server.request(path, { token, ...options });
  async function reasonOf(response: Response) {
    const body = (await response.json()) as Body;
    expect(response.headers.get('content-security-policy')).to.equal(safe.policy);
    expect(response.headers.get('cross-origin-resource-policy')).to.equal(safe.resources);
    expect(response.headers.get('cache-control')).to.equal('no-store');
    return [response.status, body.details?.causes?.[0]?.reason];
  }

  it('KPX-02 are refused with Impersonate-* headers without one user: the caller would act as themself without knowing', async () => {
    for (const name of ['IMPERSONATE-GROUP', 'impersonate-uid', 'Impersonate-Extra-scopes', 'Impersonate-', 'Atrium-View-As-Write'])
      expect(await reasonOf(await send(`${base}/apis/between`, { headers: { [name]: 'admin' } })), name).to.deep.equal([
        400,
        name.endsWith('scopes') || name.endsWith('-') ? 'ImpersonationNotSupported' : 'FieldValueInvalid',
      ]);
    expect(between.received).to.deep.equal([]);
  });

  it('KPX-01 do not reach the subresource proxy of pods, services and nodes, however it is written', async () => {
    const paths = [
      '/api/v1/namespaces/default/pods/x/proxy',
      '/api/v1/namespaces/default/pods/x:80/proxy/',
      '/api/v1/namespaces/default/pods/https:x:80/proxy/index.html?a=b',
      '/api/v1/namespaces/default/pods/x/%70roxy/',
      '/api/v1/namespaces/default/%73ervices/x/proxy',
      '/api/v1/nodes/x/proxy/run/a/b/c',
      '/api/v1/nodes/x/proxy/',
      '/api/v1/proxy/namespaces/default/pods/x/',
      '/api/v1/proxy/nodes/x',
      '/api/v1/watch/nodes/x/proxy',
    ];
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      for (const path of paths) {
        const response = await send(`${base}${path}`, { method });
        expect(response.status, `${method} ${path}`).to.equal(403);
        if (method === 'GET') expect(await reasonOf(response)).to.deep.equal([403, 'ProxySubresource']);
      }
    // The object name `proxy` is no subresource.
    expect(await reasonOf(await send(`${inDefault}/pods/proxy`))).to.deep.equal([404, undefined]);
  });

  it('are refused at a path that a proxy may read as a different path', async () => {
    const paths = [
      '/api/v1/../v1/pods',
      '/api/v1/%2e%2e/pods',
      '/api/v1/.%2E/pods',
      '/api/v1/./pods',
      '/api/v1//pods',
      '/api//v1/pods',
      '//api/v1/pods',
      '/api/v1/pods//',
      '/api/v1/namespaces/a%2fb/pods',
      '/api/v1/namespaces/a%5cb/pods',
      '/api/v1/namespaces/a\\b/pods',
      '/api/v1/namespaces/a%00/pods',
      '/api/v1/namespaces/a%0d%0aX:%20y/pods',
      '/api/v1/namespaces/a%7f/pods',
      '/api/v1/namespaces/a%c2%85/pods',
      '/api/v1/namespaces/%ff/pods',
      '/api/v1/namespaces/%zz/pods',
      '/api/v1/namespaces/a%/pods',
      '/api/v1/pods#x',
      '/api/v1/pods?a=b#x',
      '/api/v1/"pods"',
    ];
    for (const path of paths) {
      const { status, body } = await rawGet(server.port, `${base}${path}`, 'GET', `Authorization: Bearer ${token}\r\n`);
      expect(status, `${path}: ${body}`).to.equal(400);
      expect(JSON.parse(body).kind).to.equal('Status');
    }
    expect(between.received).to.deep.equal([]);
  });

  it('are 404 outside of kubernetes.proxy.paths', async () => {
    const ofTheServer = ['', '/', '/healthz', '/metrics', '/logs/x', '/debug/pprof', '/.well-known/openid-configuration'];
    for (const path of [...ofTheServer, '/apisx', '/api.v1', '/versionx'])
      expect((await send(`${base}${path}`)).status, path).to.equal(404);
    for (const path of ['/api', '/apis', '/apis/', '/version', '/openapi/v3', '/%61pi/v1/namespaces'])
      expect((await send(`${base}${path}`)).status, path).to.equal(200);
  });

  it('are refused without a credential, and with an invalid one', async () => {
    for (const headers of [{}, { Authorization: 'Bearer nonsense' }, { Authorization: 'Basic YTpi' }, { Cookie: 'atrium_session=x' }]) {
      const response = await server.request(`${inDefault}/configmaps`, { headers });
      expect(await reasonOf(response)).to.deep.equal([401, undefined]);
      expect(response.headers.get('www-authenticate')).to.match(/^Bearer realm="atrium"/);
    }
  });

  it('do not reach the API server with a body where none belongs', async () => {
    const raw = await rawGet(server.port, `${base}/apis/between`, 'GET', `Authorization: Bearer ${token}\r\nContent-Length: 2\r\n`);
    expect(raw.status).to.be.oneOf([400, 504]);
    expect(between.received).to.deep.equal([]);
  });

  it('are refused with a header that servers read in different ways', async () => {
    const { status } = await rawGet(server.port, `${base}/apis/between`, 'GET', `Authorization: Bearer ${token}\r\nIf-Match: \xe4\r\n`);
    expect(status).to.equal(400);
    expect(between.received).to.deep.equal([]);
  });

  it('leave a line of the audit trail if the service refuses them by itself', async () => {
    const path = `${base}/api/v1/nodes/x/proxy/`;
    await send(path);
    const line = server.auditLines.map((text) => JSON.parse(text)).at(-1);
    expect(line).to.deep.include({
      audit: 'AccessDenied',
      actor: { name: 'admin', uid: line.actor.uid },
      reason: 'ProxySubresource',
      code: 403,
    });
  });
});

describe('the Kubernetes API with other settings', () => {
  const servers: TestServer[] = [];
  after(async () => {
    for (const server of servers) await server.stop();
  });
  const start = async (config: Record<string, unknown>, between = new ApiServerBetween()) => {
    const server = await startServer({ config, between: between.start });
    servers.push(server);
    return server;
  };
  const reasonOf = async (response: Response) => [response.status, ((await response.json()) as Body).details?.causes?.[0]?.reason];

  it('KPX-04 lets reads and self-subject reviews through with readOnly, and nothing that writes or runs', async () => {
    const server = await start({ kubernetes: { proxy: { readOnly: true, subresources: true } } });
    const send = (path: string, options = {}) => server.request(`${base}${path}`, { as: 'admin', ...options });
    expect((await send('/api/v1/namespaces/default/configmaps')).status).to.equal(200);
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { nonResourceAttributes: { verb: 'get', path: '/' } },
    };
    expect((await send('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { method: 'POST', body: review })).status).to.equal(201);

    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } };
    const refused: [string, string][] = [
      ['POST', '/api/v1/namespaces/default/configmaps?dryRun=All'],
      ['PUT', '/api/v1/namespaces/default/configmaps/x?dryRun=All'],
      ['PATCH', '/api/v1/namespaces/default/configmaps/x?dryRun=All'],
      ['DELETE', '/api/v1/namespaces/default/configmaps/x?dryRun=All'],
      ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews'],
      ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x/y'],
      ['GET', '/api/v1/namespaces/default/pods/x/exec?command=id&stdout=true'],
      ['GET', '/api/v1/namespaces/default/pods/x/attach'],
      ['HEAD', '/api/v1/namespaces/default/pods/x/%65xec'],
      ['GET', '/api/v1/namespaces/default/pods/x/portforward'],
      ['GET', '/api/v1/nodes/x/proxy/'],
    ];
    for (const [method, path] of refused) {
      const response = await send(path, { method, ...(['POST', 'PUT', 'PATCH'].includes(method) && { body: map }) });
      if (method === 'HEAD') expect(response.status).to.equal(403);
      else expect(await reasonOf(response), `${method} ${path}`).to.deep.equal([403, 'ReadOnly']);
    }
  });

  it('KPX-01 lets a bearer reach the subresource proxy with subresources, whose pages remain files', async () => {
    const server = await start({ kubernetes: { proxy: { subresources: true } } });
    // The node does not exist, which the API server reports.
    const response = await server.request(`${base}/api/v1/nodes/x/proxy/`, { as: 'admin' });
    expect(await reasonOf(response)).to.not.deep.equal([403, 'ProxySubresource']);
  });

  it('refuses commands at the kubelet while shells are recorded, which would have no recording', async () => {
    const server = await start({
      kubernetes: { proxy: { subresources: true } },
      audit: { store: { url: 'http://127.0.0.1:9', tokenFile: '/dev/null' }, recordings: [{ namespaces: ['payments'], mode: 'required' }] },
    });
    const send = async (path: string) => reasonOf(await server.request(`${base}${path}`, { as: 'admin', method: 'POST' }));
    for (const path of [
      '/api/v1/nodes/x/proxy/run/payments/orders/app?cmd=id',
      '/api/v1/nodes/x/proxy/r%75n/payments/orders/app?cmd=id',
      '/api/v1/nodes/metrics/proxy/exec/payments/orders/app',
      '/api/v1/proxy/nodes/x/run/payments/orders/app',
      '/api/v1/watch/nodes/x/proxy/run/payments/orders/app',
      '/api/v1/nodes/x/proxy',
    ])
      expect(await send(path), path).to.deep.equal([403, 'ShellNotRecorded']);
    expect(await send('/api/v1/nodes/x/proxy/metrics/cadvisor')).to.not.deep.equal([403, 'ShellNotRecorded']);
    expect(await send('/api/v1/namespaces/default/services/x/proxy/run')).to.not.deep.equal([403, 'ShellNotRecorded']);
  });

  it('KPX-02 refuses every Impersonate-* header with viewAs: off, in any case', async () => {
    const server = await start({ kubernetes: { viewAs: 'off' } });
    for (const name of ['Impersonate-User', 'IMPERSONATE-GROUP', 'impersonate-uid', 'Impersonate-Extra-scopes', 'Impersonate-'])
      expect(await reasonOf(await server.request(`${base}/version`, { as: 'admin', headers: { [name]: 'admin' } })), name).to.deep.equal([
        400,
        'ImpersonationNotSupported',
      ]);
  });

  it('is narrowed by paths, in whole segments', async () => {
    const server = await start({ kubernetes: { proxy: { paths: ['/api/v1/namespaces', '/version'] } } });
    const statusOf = async (path: string) => (await server.request(`${base}${path}`, { as: 'admin' })).status;
    expect([await statusOf('/api/v1/namespaces'), await statusOf('/api/v1/namespaces/default'), await statusOf('/version')]).to.deep.equal([
      200, 200, 200,
    ]);
    expect([await statusOf('/api/v1/nodes'), await statusOf('/api/v1/namespacesx'), await statusOf('/apis')]).to.deep.equal([
      404, 404, 404,
    ]);
  });

  it('is 404 when it is switched off, and upgrades are ignored', async () => {
    const server = await start({ features: { kubernetesProxy: false } });
    expect((await server.request(`${base}/version`, { as: 'admin' })).status).to.equal(404);
    const { status } = await rawGet(server.port, `${base}/version`, 'GET', 'Upgrade: websocket\r\nConnection: close, Upgrade\r\n');
    expect(status).to.equal(404);
  });
});
