import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole, podRule, rbacGroup } from '../access/objects.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { letManagerExplore, rules, rulesOf } from './support.ts';

const many = Array.from({ length: 1200 }, (_, index) => podRule(['get'], { resourceNames: [`pod-${index}`] }));

describe('GET /auth/v1/accessrules', () => {
  const server = forSuite(() => startServer());

  before(async () => {
    await server.kubernetes.apply(
      aNamespace('shop'),
      aNamespace('vault'),
      aUser('jane@example.com', { groups: ['dev'] }),
      aRole('reads', [podRule(['get', 'list'])]),
      aRole('many', many),
      aRole('secret-role', [podRule(['delete'])], 'shop'),
      aBinding('dev-shop', { role: 'reads', to: 'Group:dev', namespace: 'shop' }),
      aBinding('jane-vault', { role: 'reads', to: ['User:jane@example.com', 'Group:dev'], namespace: 'vault' }),
      aBinding('jane-secret', { role: 'secret-role', roleKind: 'Role', to: 'User:jane@example.com', namespace: 'shop' }),
      aBinding('jane-gone', { role: 'no-such-role', to: 'User:jane@example.com', namespace: 'shop' }),
      aBinding('many', { role: 'many', to: 'Group:many' }),
      aBinding('accounts', { role: 'reads', to: 'Group:system:serviceaccounts:shop', namespace: 'shop' }),
      aBinding('robot', { role: 'reads', to: 'ServiceAccount:shop/robot', namespace: 'vault' }),
      aRole('clerk', [
        { apiGroups: [rbacGroup], resources: ['rolebindings'], verbs: ['list'] },
        { apiGroups: [rbacGroup], resources: ['clusterroles'], verbs: ['get'], resourceNames: ['reads'] },
      ]),
      aRole('gets-reads', [{ apiGroups: [rbacGroup], resources: ['clusterroles'], verbs: ['get'], resourceNames: ['reads'] }]),
      aBinding('clerk', { role: 'clerk', to: 'User:viewer', namespace: 'shop' }),
      aBinding('gets-reads', { role: 'gets-reads', to: 'User:viewer' }),
    );
    await letManagerExplore(server);
    for (const query of ['user=jane@example.com', 'serviceaccount=shop/robot', 'group=many'])
      await eventually(
        () => rulesOf(server, query),
        ({ items }) => items.length > 2 || (query === 'serviceaccount=shop/robot' && items.some(({ binding }) => binding.name === 'robot')),
      );
    await eventually(
      () => rulesOf(server, 'group=dev&namespace=shop', { as: 'viewer' }).catch(() => undefined),
      (answer) => answer?.items[0]?.rule !== undefined,
    );
    await eventually(
      () => rulesOf(server, 'user=jane@example.com'),
      ({ groups, items }) =>
        groups.includes('dev') &&
        items.some(({ binding }) => binding.name === 'jane-gone') &&
        items.some(({ binding, rule }) => binding.name === 'jane-secret' && rule !== undefined),
    );
  });

  const ownBindings = ({ items }: Awaited<ReturnType<typeof rulesOf>>) =>
    items.filter(({ binding }) => !binding.name.startsWith('system:')).map(({ binding, subject }) => `${binding.name} ${subject.name}`);

  it('lists the rules of a user and of the groups in the User record, each binding once', async () => {
    const answer = await rulesOf(server, 'user=jane@example.com');
    expect(answer.groups).to.include.members(['dev', 'system:authenticated']);
    expect(answer).to.deep.include({ complete: true, notes: [], subject: { kind: 'User', name: 'jane@example.com' } });
    expect(ownBindings(answer)).to.deep.equal([
      'dev-shop dev',
      'jane-gone jane@example.com',
      'jane-secret jane@example.com',
      'jane-vault jane@example.com',
    ]);
    expect(answer.items.find(({ binding }) => binding.name === 'dev-shop')).to.deep.equal({
      subject: { kind: 'Group', name: 'dev' },
      binding: { kind: 'RoleBinding', name: 'dev-shop', namespace: 'shop' },
      role: { kind: 'ClusterRole', name: 'reads', namespace: '' },
      rule: { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] },
    });
    expect(answer.items.find(({ binding }) => binding.name === 'jane-gone')).to.deep.include({ missing: true });
  });

  it('lists those of a ServiceAccount with its implied groups, by either name', async () => {
    for (const query of ['serviceaccount=shop/robot', 'user=system:serviceaccount:shop:robot']) {
      const answer = await rulesOf(server, query);
      expect(answer.subject).to.deep.equal({ kind: 'ServiceAccount', name: 'robot', namespace: 'shop' });
      expect(answer.groups).to.deep.equal(['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated']);
      expect(ownBindings(answer)).to.deep.equal(['accounts system:serviceaccounts:shop', 'robot robot']);
    }
  });

  it('says that members of system:masters may do everything, and that the groups of a name without a record are unknown', async () => {
    expect((await rulesOf(server, 'group=system:masters')).notes).to.deep.equal(['SystemMasters']);
    expect(await rulesOf(server, 'user=stranger@example.com')).to.deep.include({
      notes: ['GroupsUnknown'],
      groups: ['system:authenticated'],
    });
  });

  it('pages through the rules of a role, 500 at a time', async () => {
    const found: unknown[] = [];
    let next = '';
    const sizes: number[] = [];
    do {
      const { items, metadata } = await rulesOf(server, `group=many&limit=999&continue=${encodeURIComponent(next)}`);
      sizes.push(items.length);
      found.push(...items.map(({ rule }) => rule?.resourceNames?.[0]));
      next = metadata.continue ?? '';
    } while (next !== '');
    expect(sizes).to.deep.equal([500, 500, 200]);
    expect(found).to.deep.equal(many.map(({ resourceNames }) => resourceNames?.[0]));
    const { metadata } = await rulesOf(server, 'group=many&limit=1');
    const other = await server.request(`${rules}?group=dev&continue=${encodeURIComponent(metadata.continue ?? '')}`, { as: 'manager' });
    expect(other.status).to.equal(400);
  });

  it('shows a namespace to those who may list its bindings, without groups and rules that they may not see (SIM-02)', async () => {
    const answer = await rulesOf(server, 'user=jane@example.com&namespace=shop', { as: 'viewer' });
    expect(answer).to.deep.include({ complete: false, notes: ['ClusterWideHidden', 'GroupsUnknown'], groups: ['system:authenticated'] });
    expect(answer.items).to.deep.equal(
      ['jane-gone', 'jane-secret'].map((name) => ({
        subject: { kind: 'User', name: 'jane@example.com' },
        binding: { kind: 'RoleBinding', name, namespace: 'shop' },
        role:
          name === 'jane-gone'
            ? { kind: 'ClusterRole', name: 'no-such-role', namespace: '' }
            : { kind: 'Role', name: 'secret-role', namespace: 'shop' },
        hidden: true,
      })),
    );
    // The answer for a name without a record is the same.
    const stranger = await rulesOf(server, 'user=stranger@example.com&namespace=shop', { as: 'viewer' });
    expect(stranger).to.deep.include({ notes: answer.notes, groups: answer.groups });
    const [dev] = (await rulesOf(server, 'group=dev&namespace=shop', { as: 'viewer' })).items;
    expect(dev?.rule).to.deep.equal({ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] });
  });

  it('is 403 without the right to list the bindings, and 400 unless it names one subject', async () => {
    for (const query of ['user=jane@example.com', 'user=jane@example.com&namespace=vault', `user=${nameOf('jane@example.com')}`]) {
      const response = await server.request(`${rules}?${query}`, { as: 'viewer' });
      expect(response.status).to.equal(403);
      expect(await response.text()).to.not.match(/reads|secret-role|jane-/);
    }
    for (const query of ['', 'user=a&group=b', 'serviceaccount=robot', 'user='])
      expect((await server.request(`${rules}?${query}`, { as: 'manager' })).status, query).to.equal(400);
  });
});
