import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { z } from 'zod';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, accountToken, aNamespace, aRole, bindingPath, podRule, rbacGroup } from './objects.ts';

const paths = ['/auth/v1/selfsubjectaccessreviews', '/apis/authorization.orchestrator.io/v1/selfsubjectaccessreviews'] as const;

const status = z.looseObject({ allowed: z.boolean(), explanation: z.unknown().optional() });
const review = z.looseObject({ status });
const advice = z.object({ roles: z.array(z.unknown()) });
const reviews = z.looseObject({ items: z.array(review) });

const pods = (verb: string, namespace?: string, more: object = {}) => ({
  resourceAttributes: { verb, resource: 'pods', ...(namespace !== undefined && { namespace }), ...more },
});
const mayGet = (resourceNames: string[], resource = 'clusterroles') => ({
  apiGroups: [rbacGroup],
  resources: [resource],
  resourceNames,
  verbs: ['get'],
});

describe('?explain=true on access reviews', () => {
  const server = forSuite(() => startServer());

  const post = (spec: object, as: Person | { token: string } = 'alice', query = '?explain=true', path: string = paths[0]) =>
    server.request(`${path}${query}`, { method: 'POST', ...(typeof as === 'string' ? { as } : as), body: { spec } });
  const explain = async (...asked: Parameters<typeof post>) => {
    const response = await post(...asked);
    expect(response.status).to.equal(201);
    return review.parse(await response.json()).status;
  };
  /** Waits until the replica and the API server have seen the roles, and returns the explanation. */
  const explained = (spec: object, isAllowed: boolean, as: Person | { token: string } = 'alice') =>
    eventually(
      () => explain(spec, as),
      ({ allowed, explanation }) => allowed === isAllowed && JSON.stringify(explanation) !== '{"source":"unknown"}',
    );

  before(async () => {
    await server.kubernetes.apply(
      aNamespace('shop'),
      aNamespace('vault'),
      aRole('pod-viewer', [podRule(['delete'], { resourceNames: ['old'] }), podRule(['get', 'list'])]),
      aRole('pod-patcher', [podRule(['patch', 'list'])]),
      aRole('pod-everything', [podRule(['*'])]),
      aRole('hidden', [podRule(['patch'])]),
      aRole('vault-patcher', [podRule(['patch'])], 'vault'),
      aRole('hidden-patcher', [podRule(['patch'])], 'vault'),
      aRole('status-reader', [{ verbs: ['get'], nonResourceURLs: ['/status/*'] }]),
      aRole('may-know', [mayGet(['pod-patcher', 'pod-everything', 'status-reader', 'pod-viewer'])]),
      aRole('may-know-here', [mayGet(['vault-patcher'], 'roles')], 'vault'),
      aBinding('know', { role: 'may-know', to: ['User:alice', 'User:bob'] }),
      aBinding('know-here', { role: 'may-know-here', roleKind: 'Role', to: 'User:alice', namespace: 'vault' }),
      aBinding('alice-shop', { role: 'pod-viewer', to: 'User:alice', namespace: 'shop' }),
      aBinding('carol-all', { role: 'status-reader', to: 'User:carol' }),
    );
    await explained(pods('list', 'shop'), true);
    await explained({ nonResourceAttributes: { path: '/status/a', verb: 'get' } }, true, 'carol');
    for (const [spec, as, count] of [
      [pods('patch', 'vault'), 'alice', 3],
      [pods('patch', 'vault'), 'bob', 2],
      [pods('list', 'vault'), 'alice', 3],
      [{ nonResourceAttributes: { path: '/status/a', verb: 'get' } }, 'alice', 1],
    ] as const)
      await eventually(
        () => explain(spec, as),
        ({ explanation }) => advice.safeParse(explanation).data?.roles.length === count,
      );
  });

  it('names the binding, the role and the rule that allow it, on both paths', async () => {
    for (const path of paths) {
      const { allowed, explanation } = await explain(pods('list', 'shop'), 'alice', '?explain=true', path);
      expect(allowed).to.equal(true);
      expect(explanation).to.deep.equal({
        source: 'rbac',
        binding: { kind: 'RoleBinding', name: 'alice-shop', namespace: 'shop' },
        role: { kind: 'ClusterRole', name: 'pod-viewer', namespace: '' },
        subject: { kind: 'User', name: 'alice' },
        rule: { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] },
      });
    }
  });

  it('names the rule for one name, and the Role of a namespace', async () => {
    const { explanation } = await explained(pods('delete', 'shop', { name: 'old' }), true);
    expect(explanation).to.have.deep.property('rule', { verbs: ['delete'], apiGroups: [''], resources: ['pods'], resourceNames: ['old'] });
    const role = { verb: 'get', group: rbacGroup, resource: 'roles', namespace: 'vault', name: 'vault-patcher' };
    const here = await explained({ resourceAttributes: role }, true);
    expect(here.explanation).to.deep.include({
      binding: { kind: 'RoleBinding', name: 'know-here', namespace: 'vault' },
      role: { kind: 'Role', name: 'may-know-here', namespace: 'vault' },
    });
  });

  it('names the group or service account of a binding', async () => {
    const token = await accountToken(server.kubernetes, 'shop', 'builder');
    await server.kubernetes.apply(
      aBinding('accounts', { role: 'pod-viewer', to: 'Group:system:serviceaccounts:shop', namespace: 'shop' }),
      aBinding('builder', { role: 'pod-patcher', to: 'ServiceAccount:shop/builder', namespace: 'vault' }),
    );
    expect((await explained(pods('get', 'shop'), true, { token })).explanation).to.have.deep.property('subject', {
      kind: 'Group',
      name: 'system:serviceaccounts:shop',
    });
    expect((await explained(pods('list', 'vault'), true, { token })).explanation).to.have.deep.property('subject', {
      kind: 'ServiceAccount',
      name: 'builder',
      namespace: 'shop',
    });
  });

  it('names paths that are not resources', async () => {
    const { explanation } = await explained({ nonResourceAttributes: { path: '/status/a', verb: 'get' } }, true, 'carol');
    expect(explanation).to.deep.include({
      binding: { kind: 'ClusterRoleBinding', name: 'carol-all', namespace: '' },
      rule: { verbs: ['get'], nonResourceURLs: ['/status/*'] },
    });
    const refused = await explain({ nonResourceAttributes: { path: '/status/a', verb: 'get' } });
    expect([refused.allowed, refused.explanation]).to.deep.equal([
      false,
      { source: 'rbac', roles: [{ kind: 'ClusterRole', name: 'status-reader', namespace: '' }] },
    ]);
  });

  it('names the roles that would allow it, the narrowest first, and none that the caller may not get', async () => {
    const shop = await explain(pods('patch', 'shop'));
    expect([shop.allowed, shop.explanation]).to.deep.equal([
      false,
      {
        source: 'rbac',
        roles: [
          { kind: 'ClusterRole', name: 'pod-patcher', namespace: '' },
          { kind: 'ClusterRole', name: 'pod-everything', namespace: '' },
        ],
      },
    ]);
    const vault = await explain(pods('patch', 'vault'));
    expect(vault.explanation).to.have.deep.nested.property('roles[0]', { kind: 'Role', name: 'vault-patcher', namespace: 'vault' });
    expect(JSON.stringify(vault)).not.to.contain('hidden');
    expect((await explain(pods('patch', 'vault'), 'bob')).explanation)
      .to.have.property('roles')
      .with.lengthOf(2);
    expect((await explain(pods('patch', 'vault'), 'nobody')).explanation).to.deep.equal({ source: 'rbac', roles: [] });
  });

  it('reports an unknown source if no role is the reason', async () => {
    // Members of system:masters are allowed without a role. The binding `cluster-admin` would also allow them everything, so it is deleted.
    await server.kubernetes.remove(bindingPath('cluster-admin'));
    const admin = await eventually(
      () => explain(pods('list', 'shop'), 'admin'),
      ({ explanation }) => JSON.stringify(explanation) === '{"source":"unknown"}',
    );
    expect(admin.allowed).to.equal(true);
  });

  it('explains each of a batch', async () => {
    const body = {
      kind: 'SelfSubjectAccessReviewList',
      items: [{ spec: pods('list', 'shop') }, { spec: {} }, { spec: pods('list', 'vault') }],
    };
    const response = await server.request(`${paths[0]}?explain=true`, { method: 'POST', as: 'alice', body });
    const { items } = reviews.parse(await response.json());

    expect(items.map((item) => item.status.allowed)).to.deep.equal([true, false, false]);
    expect(items[0]?.status.explanation).to.have.nested.property('binding.name', 'alice-shop');
    expect(items[1]?.status).not.to.have.property('explanation');
    expect(items[2]?.status.explanation).to.have.property('roles').with.lengthOf(3);
  });

  it('explains nothing unless asked, and refuses values other than true and false', async () => {
    for (const query of ['', '?explain=false'])
      expect(await explain(pods('list', 'shop'), 'alice', query)).not.to.have.property('explanation');
    expect((await post(pods('list', 'shop'), 'alice', '?explain=maybe')).status).to.equal(400);
    expect((await post({}, 'alice')).status).to.equal(422);
  });

  it('follows the bindings', async () => {
    await server.kubernetes.remove(bindingPath('alice-shop', 'shop'));

    const { explanation } = await explained(pods('list', 'shop'), false);
    expect(explanation).to.have.deep.nested.property('roles[0]', { kind: 'ClusterRole', name: 'pod-patcher', namespace: '' });
  });
});

describe('a review without features.explain', () => {
  const server = forSuite(() => startServer({ config: { features: { explain: false } } }));

  it('ignores the parameter', async () => {
    for (const query of ['?explain=true', '?explain=maybe']) {
      const response = await server.request(`${paths[0]}${query}`, { method: 'POST', as: 'admin', body: { spec: pods('list') } });
      expect(response.status).to.equal(201);
      expect(review.parse(await response.json()).status).not.to.have.property('explanation');
    }
  });
});
