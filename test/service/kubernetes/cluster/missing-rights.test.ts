/**
 * Features without their permissions or definitions in the cluster, on the embedded cluster and, with TEST_CLUSTER=real, on an API server.
 */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually, serviceNamespace } from '../../../support/cluster-admin.ts';
import { forSuite } from '../../../support/for-suite.ts';
import { startServer } from '../../../support/server.ts';

const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const namespaced = `/apis/rbac.authorization.k8s.io/v1/namespaces/${serviceNamespace}`;
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface Status {
  code: number;
  message: string;
  details?: { kind?: string; retryAfterSeconds?: number; causes?: { reason: string }[] };
}

describe('a feature whose rights or definitions the cluster lacks', () => {
  const server = forSuite(() => startServer({ isReused: false, config: { login: { issuer: 'https://issuer.invalid' } } }));
  /** A service that starts without the rights. */
  let replica: { url: string; stop(): Promise<void> };

  before(async () => {
    await server.stopFirst();
    await server.kubernetes.remove(`${roles}/atrium-access-tokens`);
    await server.kubernetes.remove(`${roles}/atrium-user-bindings`);
    await server.kubernetes.remove(`${namespaced}/roles/atrium-user-bindings`);
    await server.kubernetes.remove(`${definitions}/groups.auth.platform.io`);
    await eventually(
      () => server.kubernetes.call('GET', '/apis/auth.platform.io/v1/groups'),
      ({ status }) => status === 404,
    );
    replica = await server.replica();
  });

  const ask = async (path: string, method = 'GET', body?: object) => {
    const response = await server.request(path, { as: 'admin', at: replica.url, method, ...(body && { body }) });
    return (await response.json()) as Status;
  };

  const wanted: Record<string, string> = {
    '/auth/v1/accesstokens':
      "accesstokens.auth.platform.io: the service's account may not list them; run kubectl apply -f deploy/manifests/access-tokens.yaml, or set config.features.accessTokens in the chart",
    '/auth/v1/groups':
      'groups.auth.platform.io: the cluster does not have the definition; run kubectl apply --server-side -k deploy/manifests/crds',
  };
  for (const [path, message] of Object.entries(wanted))
    it(`K4 says at ${path} which manifest must be applied`, async () => {
      const status = await ask(path);
      expect([status.code, status.message]).to.deep.equal([503, message]);
      expect(status.details).to.deep.include({ kind: path.split('/').at(-1), retryAfterSeconds: 30 });
      expect(status.details?.causes?.[0]?.reason).to.be.oneOf(['RightsMissing', 'DefinitionMissing']);
    });

  it('K4 says it of a UserBinding, too, and makes none', async () => {
    const spec = { subjects: [{ kind: 'User', name: 'jane' }], roleRef: 'view', scope: 'platform' };
    const { code, message } = await ask('/auth/v2/userbindings', 'POST', { metadata: { name: 'jane' }, spec });
    expect([code, message]).to.deep.equal([
      503,
      "userbindings.auth.platform.io: the service's account may not watch them; run kubectl apply -f deploy/manifests/user-bindings.yaml, or set config.features.userBindings in the chart",
    ]);
    expect((await server.kubernetes.call('GET', '/apis/auth.platform.io/v1/userbindings/jane')).status).to.equal(404);
  });

  it('K4 counts it as off in GET /version, and as on once it works', async () => {
    const features = async () => ((await (await fetch(`${replica.url}/version`)).json()) as { features: Record<string, boolean> }).features;
    expect(await features()).to.include({ accessTokens: false, userBindings: false, groups: false, sessions: true, factors: true });
    await server.kubernetes.applyFile('access-tokens.yaml');
    await server.kubernetes.applyFile('user-bindings.yaml');
    await server.kubernetes.applyFile('crds/groups.auth.platform.io.yaml');
    await eventually(features, (found) => found.accessTokens === true && found.userBindings === true && found.groups === true);
    expect(await ask('/auth/v1/accesstokens')).to.include({ kind: 'AccessTokenList' });
    expect(await ask('/auth/v1/groups')).to.include({ kind: 'GroupList' });
  });

  it('K4 logs which manifest must be applied, once for each of them', () => {
    const lines = server.logLines.map((line) => JSON.parse(line) as { msg: string; watch?: string; level: number | string });
    const of = (watch: string) => lines.filter((line) => line.watch === watch && line.msg.includes('run kubectl apply '));
    for (const watch of ['accesstokens', 'userbindings', 'groups']) expect(of(watch), watch).to.have.lengthOf(1);
    // A definition that was applied again may be served with another version than that of the list before.
    const failures = server.logLines.filter((line) => line.includes('"watch"') && !line.includes('410 Expired'));
    expect(failures.filter((line) => line.includes('"stack"'))).to.deep.equal([]);
  });

  it('names the manifest of a missing Lease in the log', async () => {
    const line = await eventually(
      () => server.logLines.find((text) => text.includes('"lease":"atrium-user-bindings"') && text.includes('could not be read')),
      (found) => found !== undefined,
    );
    expect(line).to.include('leases.coordination.k8s.io: ').and.include('run kubectl apply -f deploy/manifests/user-bindings.yaml');
  });
});
