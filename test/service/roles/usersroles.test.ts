import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { userRoleList } from '../../../src/roles/roles.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aBinding as aUserBinding, Bindings } from '../bindings/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';

const rbac = 'rbac.authorization.k8s.io';
const jane = nameOf('jane@example.com');

describe('GET /auth/v1/usersroles', () => {
  const server = forSuite(() => startServer());

  const ofJane = {
    ...{ subjects: [{ kind: 'User', name: jane }], roleRef: 'edit' },
    ...{ scope: 'namespace', constraint: [{ namespace: 'shop' }] },
  };

  before(async () => {
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
    const binding = (name: string, kind: 'User' | 'Group', subject: string, role: string, namespace?: string) => ({
      apiVersion: `${rbac}/v1`,
      kind: namespace ? 'RoleBinding' : 'ClusterRoleBinding',
      metadata: { name, ...(namespace && { namespace }) },
      roleRef: { apiGroup: rbac, kind: role === 'local-role' ? 'Role' : 'ClusterRole', name: role },
      subjects: [{ apiGroup: rbac, kind, name: subject }],
    });
    await server.kubernetes.apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      {
        apiVersion: `${rbac}/v1`,
        kind: 'Role',
        metadata: { name: 'local-role', namespace: 'shop', annotations: { 'console.platform.io/display-name': 'Shop keeper' } },
        rules: [],
      },
      aUser('jane@example.com', { groups: ['dev'] }),
      aUser('alice@example.com', { subjectName: 'alice' }),
      binding('dev-view', 'Group', 'dev', 'view'),
      binding('jane-shop', 'User', 'jane@example.com', 'local-role', 'shop'),
      aUserBinding('jane-edit-shop', ofJane),
      binding('dangling', 'User', 'jane@example.com', 'gone'),
      binding('others', 'User', 'somebody', 'view'),
      binding('alice-edit', 'User', 'alice', 'edit', 'shop'),
    );
    // The service has to see the user first, then the bindings.
    await eventually(
      () => get(`?name=${jane}`),
      ({ status }) => status === 200,
    );
    await eventually(
      () => ask(`?name=${jane}`),
      ({ total, items }) => total === 4 && items.some(({ displayName }) => displayName === 'Shop keeper'),
    );
    await eventually(
      () => ask('', 'alice'),
      ({ user, items }) => user.name === nameOf('alice@example.com') && items.length === 1,
    );
  });

  const get = (query = '', as: Person = 'manager') => server.request(`/auth/v1/usersroles${query}`, { as });
  const ask = async (query = '', as: Person = 'manager') => {
    const response = await get(query, as);
    expect(response.status, query).to.equal(200);
    return userRoleList.parse(await response.json());
  };

  it('lists direct roles and those of groups, from both kinds of binding, and marks missing roles', async () => {
    const { user, items } = await ask(`?name=${jane}`);
    const [made] = await new Bindings(server.kubernetes).made('jane-edit-shop');
    expect(user).to.deep.equal({ name: jane, subjectName: 'jane@example.com', groups: ['dev'] });
    const direct = { via: 'User', subject: 'jane@example.com' };
    expect(items).to.deep.equal([
      {
        role: 'edit',
        kind: 'ClusterRole',
        namespace: 'shop',
        ...direct,
        source: 'userbinding',
        binding: { kind: 'RoleBinding', name: made?.metadata.name, namespace: 'shop' },
        userBinding: 'jane-edit-shop',
      },
      {
        role: 'gone',
        kind: 'ClusterRole',
        missing: true,
        namespace: '',
        ...direct,
        source: 'rbac',
        binding: { kind: 'ClusterRoleBinding', name: 'dangling', namespace: '' },
      },
      {
        role: 'local-role',
        kind: 'Role',
        displayName: 'Shop keeper',
        namespace: 'shop',
        ...direct,
        source: 'rbac',
        binding: { kind: 'RoleBinding', name: 'jane-shop', namespace: 'shop' },
      },
      {
        role: 'view',
        kind: 'ClusterRole',
        namespace: '',
        via: 'Group',
        subject: 'dev',
        source: 'rbac',
        binding: { kind: 'ClusterRoleBinding', name: 'dev-view', namespace: '' },
      },
    ]);
  });

  it('finds by email in any case, filters, sorts and pages', async () => {
    expect((await ask('?email=JANE@example.com')).total).to.equal(4);
    expect((await ask(`?name=${jane}&via=Group`)).items.map(({ role }) => role)).to.deep.equal(['view']);
    expect((await ask(`?name=${jane}&namespace=shop`)).items.map(({ role }) => role)).to.deep.equal(['edit', 'local-role']);
    expect((await ask(`?name=${jane}&namespace=`)).items.map(({ role }) => role)).to.deep.equal(['gone', 'view']);
    const sorted = await ask(`?name=${jane}&sortBy=namespace&order=desc&limit=3`);
    expect([sorted.total, sorted.items.map(({ role }) => role)]).to.deep.equal([4, ['local-role', 'edit', 'view']]);
    expect((await ask(`?name=${jane}&limit=3&page=2`)).items.map(({ role }) => role)).to.deep.equal(['view']);
  });

  it('shows users their own roles, and those of others only with permission', async () => {
    const own = await ask('', 'alice');
    expect(own.user.name).to.equal(nameOf('alice@example.com'));
    expect(own.items.map(({ role }) => role)).to.deep.equal(['edit']);
    expect((await ask(`?name=${nameOf('alice@example.com')}`, 'alice')).total).to.equal(1);
    expect((await ask('', 'nobody')).items).to.deep.equal([]);
    for (const query of [`?name=${jane}`, `?name=${nameOf('missing@example.com')}`, '?email=jane@example.com'])
      expect((await get(query, 'alice')).status, query).to.equal(403);
  });

  it('refuses two selectors and values that it does not know, and tells of a user who is not there', async () => {
    expect((await get(`?name=${jane}&email=jane@example.com`)).status).to.equal(400);
    for (const query of ['?via=Both', '?sortBy=subject', '?limit=0', '?page=x']) expect((await get(query)).status, query).to.equal(400);
    expect((await get(`?name=${nameOf('missing@example.com')}`)).status).to.equal(404);
    const unknown = await get('?email=two%20words');
    expect(unknown.status).to.equal(404);
    expect(await unknown.json()).to.include({ message: 'users.auth.platform.io "two words" not found' });
    expect((await server.request('/auth/v1/usersroles')).status).to.equal(401);
  });

  it('follows a binding that goes', async () => {
    await server.kubernetes.remove(`/apis/${rbac}/v1/clusterrolebindings/dangling`);
    await eventually(
      () => ask(`?name=${jane}`),
      ({ total }) => total === 3,
    );
  });
});
