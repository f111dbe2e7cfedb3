/** Pages of roles and ServiceAccounts: the subjects of a role, and the rights of an account. */
import { expect } from 'chai';
import { loggedIn } from './demo.ts';
import { create, inspect } from './kind-pages.ts';

const api = 'rbac.authorization.k8s.io';
const rbac = (kind: string, namespace?: string) => `apis/${api}/v1/${namespace ? `namespaces/${namespace}/` : ''}${kind}`;

describe('the pages of roles and ServiceAccounts', () => {
  const { demo, page } = loggedIn('admin', '/');
  const section = (name: string) => page.getByRole('region', { name, exact: true });
  const robot = { kind: 'ServiceAccount', name: 'robot', namespace: 'shop' };

  before(async () => {
    await create(demo, 'api/v1/namespaces/shop/serviceaccounts', { metadata: { name: 'robot' } });
    await create(demo, rbac('clusterroles'), {
      metadata: { name: 'counter' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }],
    });
    await create(demo, rbac('roles', 'shop'), {
      metadata: { name: 'counter' },
      rules: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['patch'] }],
    });
    const bind = (name: string, kind: string, subjects: object[]) => ({
      metadata: { name },
      roleRef: { apiGroup: api, kind, name: 'counter' },
      subjects,
    });
    await create(
      demo,
      rbac('clusterrolebindings'),
      bind('count-all', 'ClusterRole', [{ apiGroup: api, kind: 'User', name: 'ann@example.com' }]),
    );
    await create(demo, rbac('rolebindings', 'payments'), bind('count-payments', 'ClusterRole', [robot]));
    await create(
      demo,
      rbac('rolebindings', 'shop'),
      bind('count-shop', 'Role', [robot, { apiGroup: api, kind: 'Group', name: 'system:serviceaccounts:shop' }]),
    );
  });

  it('show the bindings of a ClusterRole, in the cluster and in namespaces', async () => {
    await page.goto(`${demo.url}/r/${api}/v1/clusterroles/counter`);
    const all = page.getByRole('table', { name: 'In the whole cluster' });
    await all.getByRole('link', { name: 'ann@example.com' }).waitFor();
    const some = page.getByRole('table', { name: 'In namespaces' });
    await some.getByRole('link', { name: 'robot' }).waitFor();
    expect(await some.innerText())
      .to.match(/count-payments\s+payments/)
      .and.not.to.contain('count-shop');
    await inspect(page, 'clusterrole');
    await create(demo, rbac('rolebindings', 'monitoring'), {
      ...{ metadata: { name: 'count-later' }, roleRef: { apiGroup: api, kind: 'ClusterRole', name: 'counter' }, subjects: [robot] },
    });
    await some.getByRole('link', { name: 'count-later' }).click();
    await page.getByRole('heading', { name: 'count-later' }).waitFor();
  });

  it('show the bindings of a Role in its namespace alone', async () => {
    await page.goto(`${demo.url}/r/${api}/v1/roles/ns/shop/counter`);
    await section('Bound to').getByRole('link', { name: 'count-shop' }).waitFor();
    expect(await section('Bound to').innerText()).not.to.match(/count-(all|payments)/);
    await inspect(page, 'role');
  });

  it('show the rights of a ServiceAccount, by itself and through its groups', async () => {
    await page.goto(`${demo.url}/r/core/v1/serviceaccounts/ns/shop/robot`);
    const rights = page.getByRole('table', { name: 'In namespaces' });
    await rights.getByRole('row', { name: /payments list pods/ }).waitFor();
    expect(await rights.getByRole('row', { name: /count-shop/ }).innerText()).to.match(
      /shop[\s\S]*patch deployments[\s\S]*The account itself/,
    );
    await page.getByRole('table', { name: 'In the whole cluster' }).getByText('Group system:authenticated').first().waitFor();
    await inspect(page, 'account-rights');
  });
});

describe('the pages of roles for a viewer', () => {
  const { demo, page } = loggedIn('viewer', '/');

  before(() => create(demo, 'api/v1/namespaces/shop/serviceaccounts', { metadata: { name: 'robot' } }));

  it('name the kinds that may not be listed, and never show them as empty', async () => {
    await page.goto(`${demo.url}/r/core/v1/serviceaccounts/ns/shop/robot`);
    await page.getByRole('region', { name: 'Permissions' }).getByText('You may not list clusterrolebindings').waitFor();
    expect(await page.getByRole('region', { name: 'Permissions' }).innerText()).not.to.contain('No binding found');
    await inspect(page, 'account-viewer');
  });
});
