import { expect } from 'chai';
import { parse } from 'yaml';
import { z } from 'zod';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';

/** The operations of the contract that this stage has, where the contract puts them. */
const contract: Record<string, string> = {
  HandleConfigMapImage: 'GET /api/v1/cm/{name}/{key}',
  HandleConsolePlugins: 'GET /api/v1/console-plugins',
  HandleEnvVars: 'GET /api/v1/envs',
  HandleLanguages: 'GET /api/v1/i18n/languages',
  HandleModules: 'GET /api/v1/modules',
  HandleStaticFiles: 'GET /{subpath}',
  HandleLogin: 'GET /api/v1/token/login',
  HandleLoginV2: 'GET /api/v2/token/login',
  HandleCallback: 'GET /api/v1/token/callback',
  HandleCallbackV2: 'GET /api/v2/token/callback',
  HandleInfo: 'GET /api/v1/token/info',
  HandleInfoV2: 'GET /api/v2/token/info',
  HandleRefresh: 'GET /api/v1/token/refresh',
  HandleRefreshV2: 'GET /api/v2/token/refresh',
  HandleLogoutV2: 'GET /api/v2/token/logout',
  HandleRedirect: 'GET /api/v2/token/redirect',
  ListUsersNative: 'GET /apis/auth.platform.io/v1/users',
  GetUserNative: 'GET /apis/auth.platform.io/v1/users/{name}',
  ListUsers: 'GET /auth/v2/users',
  ListUsersV1: 'GET /auth/v1/users',
  GetUser: 'GET /auth/v1/users/{name}',
  CreateSelfSubjectAccessReview: 'POST /auth/v1/selfsubjectaccessreviews',
  CreateSelfSubjectAccessReviewNative: 'POST /apis/authorization.orchestrator.io/v1/selfsubjectaccessreviews',
};

const document = z.looseObject({
  openapi: z.string().startsWith('3.1'),
  components: z.looseObject({ schemas: z.record(z.string(), z.looseObject({})) }),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({
        operationId: z.string(),
        parameters: z.array(z.looseObject({ name: z.string(), in: z.string() })).default([]),
        requestBody: z.looseObject({ content: z.record(z.string(), z.object({ schema: z.looseObject({}) })) }).optional(),
        responses: z.record(z.string(), z.unknown()),
      }),
    ),
  ),
});

const methods = ['get', 'post', 'put', 'patch', 'delete'];
const filledIn = (path: string) => path.replace('{subpath}', 'index.html').replace(/\{\w+\}/g, 'some-name');

describe('the description of the service', () => {
  const server = forSuite(() => startServer());
  let described: z.infer<typeof document>;
  before(async () => {
    described = document.parse(await (await server.request('/openapi/v3')).json());
  });

  it('describes every operation of the contract, where the contract puts it', () => {
    const found = Object.entries(described.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId }]) => [operationId, `${method.toUpperCase()} ${path}`]),
    );

    expect(Object.fromEntries(found)).to.include(contract);
    expect(new Set(found.map(([id]) => id)).size).to.equal(found.length);
  });

  it('answers each described path and method with a described status, and no other method', async () => {
    for (const [path, item] of Object.entries(described.paths)) {
      for (const method of methods) {
        for (const caller of [{}, { as: 'nobody' }] as const) {
          const response = await server.request(filledIn(path), { method: method.toUpperCase(), ...caller });
          const operation = item[method];
          if (operation === undefined) expect(response.status, `${method} ${path}`).to.equal(405);
          else
            expect(Object.keys(operation.responses), `${method} ${path} answered ${response.status}`).to.include(String(response.status));
          expect(response.status, `${method} ${path}`).to.be.below(500);
          await response.body?.cancel();
        }
      }
    }
  });

  it('describes every parameter that stands in a path', () => {
    for (const [path, item] of Object.entries(described.paths)) {
      const named = path.match(/(?<=\{)\w+(?=\})/g) ?? [];
      for (const { parameters } of Object.values(item)) {
        const ofPath = parameters.filter((parameter) => parameter.in === 'path');
        expect(
          ofPath.map(({ name }) => name),
          path,
        ).to.have.members(named);
      }
    }
  });

  it('describes bodies in the media types that they are read in', () => {
    const bodyOf = (path: string, method: string) => described.paths[path]?.[method]?.requestBody?.content ?? {};
    const named = (schema: Record<string, unknown> = {}) =>
      typeof schema.$ref === 'string' ? described.components.schemas[schema.$ref.replace('#/components/schemas/', '')] : schema;
    const form = 'application/x-www-form-urlencoded';

    for (const path of ['/api/v1/token/refresh', '/api/v2/token/refresh', '/api/v2/token/logout'])
      expect(bodyOf(path, 'post')[form]?.schema.required, path).to.deep.equal(['refresh_token']);
    const patch = bodyOf('/auth/v1/users/{name}', 'patch');
    expect(named(patch['application/json-patch+json']?.schema)).to.include({ type: 'array' });
    expect(named(patch['application/merge-patch+json']?.schema)).to.include({ type: 'object' });
    expect(named(patch['application/json']?.schema)).to.include({ type: 'object' });
  });

  it('describes that session cookies from another site are refused', () => {
    for (const path of ['/api/v1/token/refresh', '/api/v2/token/refresh', '/api/v2/token/logout'])
      for (const method of ['get', 'post']) expect(described.paths[path]?.[method]?.responses, `${method} ${path}`).to.have.property('403');
  });

  it('gives the description as YAML to those who prefer it, and 304 to those who have it', async () => {
    const yaml = await server.request('/openapi/v3', { headers: { Accept: 'application/yaml' } });
    const etag = (await server.request('/openapi/v3')).headers.get('etag') ?? '';

    expect(yaml.headers.get('content-type')).to.equal('application/yaml; charset=utf-8');
    expect(parse(await yaml.text())).to.deep.equal(await (await server.request('/openapi/v3')).json());
    expect((await server.request('/openapi/v3', { headers: { 'If-None-Match': etag } })).status).to.equal(304);
  });

  it('returns its version, and which extensions are on', async () => {
    const version = (await (await server.request('/version')).json()) as { version: string; features: Record<string, boolean> };
    expect(version.version).to.match(/^\d+\.\d+\.\d+/);
    expect(version.features).to.include({ version: true, groups: true, sessions: true });
  });

  it('is alive and ready, and names every check when asked', async () => {
    for (const path of ['/livez', '/healthz', '/readyz']) expect(await (await server.request(path)).text(), path).to.equal('ok');
    expect(await (await server.request('/readyz?verbose')).text())
      .to.contain('[+]kubernetes ok')
      .and.to.contain('[+]shutdown ok');
  });

  it('AUZ-10 lets no client pass for a probe', async () => {
    for (const headers of [
      { 'User-Agent': 'kube-probe/1.30' },
      { 'User-Agent': 'GoogleHC/1.0' },
      { 'X-Forwarded-Uri': '/healthz' },
      { 'X-Original-URL': '/healthz' },
    ]) {
      expect((await server.request('/auth/v2/users', { headers })).status).to.equal(401);
    }
    for (const path of ['/healthz/', '/healthz/x', '/HEALTHZ']) expect((await server.request(path)).status, path).to.equal(404);
  });

  it('serves metrics on its own port to all, and on the public port to callers who may get that path', async () => {
    const scraped = await fetch(`${server.metricsURL}/metrics`);
    const text = await scraped.text();

    expect(scraped.headers.get('content-type')).to.contain('text/plain');
    for (const name of [
      'atrium_http_request_duration_seconds_bucket',
      'atrium_kubernetes_request_duration_seconds_count',
      'atrium_watch_age_seconds{watch="users"}',
      'atrium_cache_entries',
      'process_resident_memory_bytes',
    ])
      expect(text).to.contain(name);
    expect((await server.request('/metrics')).status).to.equal(401);
    expect(await (await server.request('/metrics', { as: 'bob' })).json()).to.include({
      code: 403,
      message: 'forbidden: User "bob" cannot get path "/metrics"',
    });
    expect((await server.request('/metrics', { as: 'admin' })).status).to.equal(200);
    expect((await fetch(`${server.metricsURL}/auth/v2/users`)).status).to.equal(404);
  });

  it('omits the features that are off', async () => {
    const bare = await startServer({ config: { features: { openapi: false, version: false, metrics: false } } });
    try {
      expect((await bare.request('/openapi/v3')).status).to.equal(404);
      for (const path of ['/version', '/metrics']) expect((await bare.request(path, { as: 'admin' })).status, path).to.equal(404);
      expect((await bare.request('/api/v1/modules')).status).to.equal(200);
    } finally {
      await bare.stop();
    }
  });

  it('lives below the path of its public URL', async () => {
    const below = await startServer({ config: { server: { publicURL: 'https://example.com/console/' } } });
    try {
      expect((await below.request('/console/api/v1/modules')).status).to.equal(200);
      expect((await below.request('/api/v1/modules')).status).to.equal(404);
      expect((await fetch(`${below.metricsURL}/readyz`)).status).to.equal(200);
      expect(await (await below.request('/console/openapi/v3')).json()).to.have.nested.property(
        'servers[0].url',
        'https://example.com/console/',
      );
    } finally {
      await below.stop();
    }
  });
});
