/** Query parameters that no operation declares, on the embedded cluster and, with TEST_CLUSTER=real, on an API server. */
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';

interface Status {
  message: string;
  details?: { causes?: { reason: string; field: string; message: string }[] };
}

const lists = [
  '/auth/v1/users',
  '/auth/v1/usersroles',
  '/auth/v1/groups',
  '/auth/v1/accesstokens',
  '/auth/v2/userbindings',
  '/auth/v1/namespaces',
];
const strict = [
  '/api/v1/modules',
  '/api/v1/envs',
  '/api/v1/i18n/languages',
  '/api/v2/token/info',
  '/api/v2/token/issuers',
  '/auth/v1/kubeconfig',
];
/** Paths of probes, clients of Kubernetes, files and pages. */
const open = [
  '/livez',
  '/readyz',
  '/version',
  '/openapi/v3',
  '/apis',
  '/apis/auth.platform.io/v1',
  '/apis/auth.platform.io/v1/users',
  '/',
  '/api/kubernetes/api/v1/namespaces',
];

describe('the refusal of an unknown query parameter', () => {
  const server = forSuite(() =>
    startServer({ config: { kubernetes: { proxy: { paths: ['/api/v1'] } }, features: { kubernetesProxy: true } } }),
  );
  const ask = async (path: string, method = 'GET') => {
    const response = await server.request(path, { as: 'admin', method, headers: { Accept: 'application/json, text/html' } });
    const text = await response.text();
    return { status: response.status, body: (text.startsWith('{') ? JSON.parse(text) : {}) as Status };
  };

  for (const path of [...lists, ...strict])
    it(`K3 is 400 at ${path}`, async () => {
      const { status, body } = await ask(`${path}?no-such=1&pretty=true`);
      expect([status, body.details?.causes]).to.deep.equal([
        400,
        [{ reason: 'FieldValueForbidden', message: 'is not a parameter of this operation', field: 'no-such' }],
      ]);
    });

  for (const path of open)
    it(`K3 is ignored at ${path}`, async () => {
      expect((await ask(`${path}?timeout=32s&utm_source=mail&v=3`)).status).to.equal(200);
    });

  it('K3 names the nearest parameter, in any case', async () => {
    const messages: Record<string, string> = {
      'user=a': 'user: is not a parameter of this operation',
      'limt=1': 'limt: is not a parameter of this operation; did you mean limit?',
      'LabelSelector=a': 'LabelSelector: is not a parameter of this operation; did you mean labelSelector?',
      'fieldselector=a&sortby=name':
        'fieldselector: is not a parameter of this operation; did you mean fieldSelector?; sortby: is not a parameter of this operation; did you mean sortBy?',
    };
    for (const [query, message] of Object.entries(messages)) {
      const { status, body } = await ask(`/auth/v1/users?${query}`);
      expect([status, body.message]).to.deep.equal([400, message]);
    }
  });

  it('K3 changes nothing where a parameter of a write is misspelt', async () => {
    const response = await server.request('/auth/v1/users?dry_run=All', {
      method: 'POST',
      as: 'admin',
      body: { spec: { email: 'typo@example.com', password: 'correct horse battery' } },
    });
    expect(response.status).to.equal(400);
    expect(((await response.json()) as Status).message).to.equal('dry_run: is not a parameter of this operation; did you mean dryRun?');
    const { body } = await server.kubernetes.call('GET', '/apis/auth.platform.io/v1/users');
    expect(JSON.stringify(body)).not.to.include('typo@example.com');
  });

  it('K3 names at most ten of them, and of a long name the beginning', async () => {
    const names = Array.from({ length: 500 }, (_, index) => `n${index}`);
    const { body } = await ask(`/auth/v1/users?${names.join('&')}`);
    expect(body.details?.causes).to.have.lengthOf(10);
    const long = await ask(`/auth/v1/users?${'x'.repeat(9000)}`);
    expect(long.body.details?.causes?.[0]?.field).to.equal('x'.repeat(64));
  });

  it('K3 refuses callers without permission before it validates the query', async () => {
    expect((await server.request('/auth/v1/users?no-such=1')).status).to.equal(401);
  });
});
