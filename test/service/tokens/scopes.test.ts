import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { aPerson, makePath, makeToken, refusalOf, startTokenServer, storedToken, tokensPath, whoIs } from './tokens.ts';

const door = '/api/kubernetes';
const readOnly = { rules: [{ verbs: ['get', 'list', 'watch'], apiGroups: ['*'], resources: ['*'] }] };

describe('an access token with a scope', () => {
  const server = forSuite(() => startTokenServer({ objects: [aPerson('alice'), aPerson('bob')] }));

  before(async () => {
    await grant(server.kubernetes, 'alice', 'cluster-admin');
    for (const name of ['shop', 'payments']) {
      await server.kubernetes.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      await server.kubernetes.apply({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'settings', namespace: name },
        data: { a: '1' },
      });
    }
  });

  const tokenOf = async (scope: object) => (await makeToken(server, 'alice', { description: 'scoped', scope })).token;
  /** Returns the status of a request, and the reason of a refusal by us. */
  async function outcome(token: string, method: string, path: string, body?: object) {
    const response = await server.request(path, { method, token, ...(body && { body }) });
    if (response.status !== 403) {
      await response.body?.cancel();
      return response.status;
    }
    return (await refusalOf(response)).details?.causes[0]?.reason ?? 'RBAC';
  }
  const configMaps = (namespace: string) => `${door}/api/v1/namespaces/${namespace}/configmaps`;
  const aConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'made-' } };
  const review = async (token: string, resourceAttributes: object) => {
    const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
    const response = await server.request('/auth/v1/selfsubjectaccessreviews', { method: 'POST', token, body });
    const text = await response.text();
    expect(response.status, text).to.equal(201);
    return (JSON.parse(text) as { status: { allowed: boolean } }).status.allowed;
  };

  it('shows its scope to its owner, and the hash has it', async () => {
    const scope = { ...readOnly, namespaces: ['shop'] };
    const { id, token } = await makeToken(server, 'alice', { description: 'scoped', scope });
    const listed = await server.request(`${tokensPath}?fieldSelector=metadata.name=${id}`, { as: 'alice' });
    const { items } = (await listed.json()) as { items: { spec: { scope: object } }[] };
    expect(items[0]?.spec.scope).to.deep.equal(scope);
    expect(await whoIs(server, token)).to.deep.equal({ name: 'alice', groups: [] });
    const stored = await server.kubernetes.call('GET', `/apis/auth.platform.io/v1/accesstokens/${id}`);
    const { spec, metadata } = stored.body as { spec: Record<string, unknown>; metadata: { ownerReferences: object[] } };
    // A writer of AccessTokens, or a build that does not know scopes, makes no token with more rights.
    const { scope: _scope, ...unscoped } = spec;
    await server.kubernetes.remove(`/apis/auth.platform.io/v1/accesstokens/${id}`);
    const again = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'AccessToken',
      metadata: { name: id, ownerReferences: metadata.ownerReferences },
    };
    await server.kubernetes.apply({ ...again, spec: unscoped });
    expect(await outcome(token, 'GET', configMaps('shop'))).to.equal(401);
    expect(await storedToken(server, id)).to.not.equal(undefined);
  });

  it('reads, and writes nothing, with rules that read', async () => {
    const token = await tokenOf(readOnly);
    expect(await outcome(token, 'GET', configMaps('shop'))).to.equal(200);
    expect(await outcome(token, 'GET', `${door}/api/v1/configmaps`)).to.equal(200);
    expect(await outcome(token, 'POST', configMaps('shop'), aConfigMap)).to.equal('OutsideScope');
    expect(await outcome(token, 'DELETE', `${configMaps('shop')}/settings`)).to.equal('OutsideScope');
    expect(await outcome(token, 'GET', `${door}/api/v1/namespaces/shop/pods/web/exec?command=id`)).to.equal('OutsideScope');
    expect(await outcome(token, 'GET', `${door}/apis`)).to.equal(200);
    expect(await review(token, { verb: 'get', resource: 'configmaps', namespace: 'shop' })).to.equal(true);
    expect(await review(token, { verb: 'create', resource: 'configmaps', namespace: 'shop' })).to.equal(false);
    expect(await review(token, { verb: '*', resource: '*' })).to.equal(false);
  });

  it('stays in its namespaces', async () => {
    const token = await tokenOf({ namespaces: ['shop'] });
    expect(await outcome(token, 'GET', configMaps('shop'))).to.equal(200);
    expect(await outcome(token, 'POST', configMaps('shop'), aConfigMap)).to.equal(201);
    for (const path of [configMaps('payments'), `${door}/api/v1/configmaps`, `${door}/api/v1/nodes`, `${door}/api/v1/namespaces`])
      expect(await outcome(token, 'GET', path), path).to.equal('OutsideScope');
    expect(await outcome(token, 'GET', `${door}/api/v1/namespaces/shop`)).to.equal(200);
    expect(await review(token, { verb: 'list', resource: 'pods' })).to.equal(false);
  });

  it('opens an operation of the service only where its scope names it, with the rights that are in the scope', async () => {
    const users = '/auth/v2/users';
    expect(await outcome(await tokenOf(readOnly), 'GET', users)).to.equal('OutsideScope');
    const named = await tokenOf({ operations: ['ListUsers'] });
    expect(await outcome(named, 'GET', users)).to.equal(200);
    expect(await outcome(named, 'GET', configMaps('shop'))).to.equal('OutsideScope');
    expect(await outcome(named, 'GET', tokensPath)).to.equal('OutsideScope');
    expect(await outcome(await tokenOf({ operations: ['ListUsers'], namespaces: ['shop'] }), 'GET', users)).to.equal('RBAC');
  });

  it('is for the networks of its scope', async () => {
    const away = await tokenOf({ networks: ['192.0.2.0/24'] });
    expect(await outcome(away, 'GET', configMaps('shop'))).to.equal('OutsideScope');
    expect(await outcome(await tokenOf({ networks: ['192.0.2.0/24', '127.0.0.0/8', '::1'] }), 'GET', configMaps('shop'))).to.equal(200);
  });

  it('never has more than its owner', async () => {
    const { token } = await makeToken(server, 'bob', {
      description: 'scoped',
      scope: { rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] },
    });
    expect(await outcome(token, 'GET', configMaps('shop'))).to.equal('RBAC');
    expect(await outcome(token, 'POST', makePath, { description: 'more' })).to.equal('OutsideScope');
  });

  for (const [scope, field] of [
    [{}, 'scope'],
    [{ rules: [] }, 'scope.rules'],
    [{ rules: [{ verbs: [] }] }, 'scope.rules[0].verbs'],
    [{ rules: [{ verbs: ['get'], kinds: ['pods'] }] }, 'scope.rules[0].kinds'],
    [{ namespaces: ['a b'] }, 'scope.namespaces[0]'],
    [{ networks: ['10.0.0.0/99'] }, 'scope.networks[0]'],
    [{ namespaces: ['x'.repeat(1024)] }, 'scope.namespaces[0]'],
    [{ operations: Array.from({ length: 21 }, () => 'ListUsers') }, 'scope.operations'],
  ] as const)
    it(`is refused at its field: ${field} of ${JSON.stringify(scope).slice(0, 60)}`, async () => {
      const response = await server.request(makePath, { method: 'POST', as: 'alice', body: { description: 'ci', scope } });
      const { code, details } = await refusalOf(response);
      expect([code, details?.causes.map((cause) => cause.field)]).to.deep.equal([400, [field]]);
    });
});
