import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole, podRule, rbacGroup } from '../access/objects.ts';
import { aGroup } from '../groups/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { letManagerExplore, subjects, whoCan } from './support.ts';

const evict = 'verb=create&resource=pods&subresource=eviction';
/** The service names `new@example.com` after its record was created. */
const membersOf = { dev: ['jane@example.com', 'new@example.com'], 'local:oncall': ['omar@example.com'] };

describe('GET /auth/v1/accesssubjects', () => {
  const server = forSuite(() => startServer());

  before(async () => {
    await server.kubernetes.apply(
      aNamespace('shop'),
      aNamespace('vault'),
      aUser('jane@example.com', { groups: ['dev'] }),
      aUser('omar@example.com'),
      aUser('new@example.com', { subjectName: '', groups: ['dev'] }),
      aGroup('oncall', [nameOf('omar@example.com')]),
      aRole('evicts', [podRule(['get']), { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] }]),
      aRole('evicts-any', [{ apiGroups: ['*'], resources: ['*/eviction'], verbs: ['create'] }]),
      aRole('evicts-one', [{ apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'], resourceNames: ['old'] }], 'shop'),
      aRole('reads-pods', [podRule(['*'])]),
      aRole('metrics', [{ verbs: ['get'], nonResourceURLs: ['/made-up/*'] }]),
      aBinding('dev', { role: 'evicts', to: ['Group:dev', 'Group:local:oncall'], namespace: 'shop' }),
      aBinding('jane', { role: 'evicts-any', to: 'User:jane@example.com' }),
      aBinding('robot', { role: 'evicts', to: 'ServiceAccount:vault/robot', namespace: 'shop' }),
      aBinding('one', { role: 'evicts-one', roleKind: 'Role', to: 'User:omar@example.com', namespace: 'shop' }),
      aBinding('reads', { role: 'reads-pods', to: 'User:reader@example.com' }),
      aBinding('elsewhere', { role: 'evicts', to: 'User:elsewhere@example.com', namespace: 'vault' }),
      aBinding('gone', { role: 'no-such-role', to: 'User:nobody@example.com', namespace: 'shop' }),
      aBinding('metrics', { role: 'metrics', to: 'Group:scrapers' }),
      // Members of the group come from the User records, which the clerk may not read.
      aRole('clerk', [{ apiGroups: [rbacGroup], resources: ['rolebindings'], verbs: ['list'] }]),
      aBinding('clerk', { role: 'clerk', to: 'User:viewer', namespace: 'shop' }),
    );
    await letManagerExplore(server);
    await eventually(
      () => whoCan(server, `${evict}&namespace=shop`),
      ({ items }) =>
        Object.entries(membersOf).every(([memberOf, names]) =>
          names.every((name) =>
            items.some(({ subject, user, ...item }) => subject.name === name && user !== undefined && item.memberOf === memberOf),
          ),
        ),
    );
    await eventually(
      () => whoCan(server, `${evict}&namespace=shop&name=old`),
      ({ items }) => items.some(({ binding }) => binding.name === 'one'),
    );
    await eventually(
      () => whoCan(server, `${evict}&namespace=vault`),
      ({ items }) => items.some(({ subject }) => subject.name === 'elsewhere@example.com'),
    );
    await eventually(
      () => whoCan(server, 'verb=get&path=/made-up/page'),
      ({ items }) => items.some(({ subject }) => subject.name === 'scrapers'),
    );
    await eventually(
      () => server.request(`${subjects}?${evict}&namespace=shop`, { as: 'viewer' }),
      ({ status }) => status === 200,
    );
  });

  const names = async (query: string, ...asking: Parameters<typeof whoCan> extends [unknown, string, ...infer Rest] ? Rest : never) =>
    (await whoCan(server, query, ...asking)).items
      .filter(({ subject: { name } }) => !name.startsWith('system:'))
      .map(({ subject: { kind, namespace, name }, memberOf }) =>
        [kind, namespace ? `${namespace}/${name}` : name, ...(memberOf ? [`in ${memberOf}`] : [])].join(' '),
      );

  it('names bound users, groups and ServiceAccounts, and the users in the groups', async () => {
    expect(await names(`${evict}&namespace=shop`)).to.include.members([
      'Group dev',
      'Group local:oncall',
      'ServiceAccount vault/robot',
      'User jane@example.com',
      'User jane@example.com in dev',
      'User omar@example.com in local:oncall',
    ]);
    expect(await names(`${evict}&namespace=shop`)).not.to.include.members(['User omar@example.com']);
  });

  it('shows the binding, the role and the first rule that allows it', async () => {
    const { items, complete, notes } = await whoCan(server, `${evict}&namespace=shop`);
    expect(items.find(({ subject, memberOf }) => subject.name === 'dev' && memberOf === undefined)).to.deep.equal({
      subject: { kind: 'Group', name: 'dev' },
      binding: { kind: 'RoleBinding', name: 'dev', namespace: 'shop' },
      role: { kind: 'ClusterRole', name: 'evicts', namespace: '' },
      rule: { verbs: ['create'], apiGroups: [''], resources: ['pods/eviction'] },
    });
    expect({ complete, notes }).to.deep.equal({ complete: true, notes: ['SystemMasters'] });
  });

  it('tells wildcards, names and namespaces apart (SIM-03)', async () => {
    // `*` among the resources of a rule for pods is no subresource of them.
    expect(await names('verb=create&resource=pods&subresource=eviction&namespace=vault')).not.to.include('User reader@example.com');
    expect(await names('verb=create&group=apps&resource=deployments&subresource=eviction')).to.include('User jane@example.com');
    expect(await names('verb=create&group=apps&resource=deployments&subresource=scale')).not.to.include('User jane@example.com');
    expect(await names(`${evict}&namespace=shop&name=old`)).to.include('User omar@example.com');
    expect(await names(`${evict}&namespace=shop&name=new`)).not.to.include('User omar@example.com');
    expect(await names(evict))
      .to.include('User jane@example.com')
      .and.not.to.include('Group dev');
    expect(await names(`${evict}&namespace=vault`))
      .to.include('User elsewhere@example.com')
      .and.not.to.include('Group dev');
    expect(await names('verb=get&path=/made-up/page')).to.include('Group scrapers');
    expect(await names('verb=get&path=/made-up')).not.to.include('Group scrapers');
  });

  it('omits bindings of the cluster, members and rules that the caller may not see, and reports each omission', async () => {
    const { items, complete, notes } = await whoCan(server, `${evict}&namespace=shop`, { as: 'viewer' });
    expect(complete).to.equal(false);
    expect(notes).to.deep.equal(['SystemMasters', 'ClusterWideHidden', 'MembersHidden']);
    expect(items.map(({ subject }) => subject.name).sort()).to.deep.equal(['dev', 'local:oncall', 'robot']);
    for (const item of items) expect(item).to.not.have.any.keys('user', 'memberOf', 'rule');
  });

  it('pages', async () => {
    const all = await whoCan(server, `${evict}&namespace=shop`);
    const second = await whoCan(server, `${evict}&namespace=shop&limit=2&page=2`);
    expect(second.total).to.equal(all.total);
    expect(second.items).to.deep.equal(all.items.slice(2, 4));
    expect((await whoCan(server, `${evict}&namespace=shop&limit=500&page=9`)).items).to.deep.equal([]);
  });

  it('refuses callers without the right to list the bindings, whatever they ask about (SIM-02)', async () => {
    const texts = new Set<string>();
    for (const query of [
      `${evict}&namespace=vault`,
      'verb=get&resource=secrets&namespace=vault',
      'verb=get&resource=secrets&namespace=no-such-namespace',
    ]) {
      const response = await server.request(`${subjects}?${query}`, { as: 'viewer' });
      expect(response.status).to.equal(403);
      texts.add((await response.text()).replace('no-such-namespace', 'vault'));
    }
    expect([...texts]).to.have.lengthOf(1);
    for (const query of [evict, 'verb=get&path=/metrics']) {
      const response = await server.request(`${subjects}?${query}`, { as: 'viewer' });
      expect(response.status).to.equal(403);
      expect(await response.text()).to.include('clusterrolebindings');
    }
  });

  it('is 400 for a question that names no resource, or two things', async () => {
    for (const query of [
      'verb=get',
      'resource=pods',
      'verb=get&resource=pods&path=/x',
      'verb=get&path=/x&namespace=shop',
      'verb=&resource=pods',
    ])
      expect((await server.request(`${subjects}?${query}`, { as: 'manager' })).status, query).to.equal(400);
  });
});
