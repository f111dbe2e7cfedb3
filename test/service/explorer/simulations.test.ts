import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { simulationAnswer } from '../../../src/explorer/simulation-schema.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole, podRule, rbacGroup } from '../access/objects.ts';
import { aBinding as aUserBinding } from '../bindings/support.ts';
import { aGroup } from '../groups/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { letManagerExplore, rulesOf, simulations } from './support.ts';

const jane = 'jane@example.com';
const omar = 'omar@example.com';
const apps = (resources: string[], verbs: string[]) => ({ apiGroups: ['apps'], resources, verbs });
const labelled = (label: string, value: string, role: ReturnType<typeof aRole>) => ({
  ...role,
  metadata: { ...role.metadata, labels: { [label]: value } },
});

describe('POST /auth/v1/simulations', () => {
  const server = forSuite(() => startServer());

  before(async () => {
    await server.kubernetes.apply(
      aNamespace('shop'),
      aNamespace('vault', { 'console.platform.io/project': 'safe' }),
      aUser(jane, { groups: ['dev'] }),
      aUser(omar),
      aGroup('oncall', [nameOf(omar)]),
      aRole('reads', [podRule(['get', 'list'])]),
      aRole('writes', [podRule(['get', 'create']), apps(['deployments', 'deployments/scale'], ['*'])]),
      aRole('scales-any', [{ apiGroups: ['*'], resources: ['*/scale'], verbs: ['*'] }]),
      aRole('paths', [{ nonResourceURLs: ['/reports/*'], verbs: ['get'] }]),
      aRole('one-pod', [podRule(['delete'], { resourceNames: ['old'] })], 'shop'),
      labelled('example.com/part', 'yes', aRole('part', [apps(['statefulsets'], ['get'])])),
      {
        ...aRole('whole', []),
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'example.com/part': 'yes' } }] },
      },
      aBinding('dev-reads', { role: 'reads', to: 'Group:dev', namespace: 'shop' }),
      aBinding('jane-scales', { role: 'scales-any', to: `User:${jane}` }),
      aBinding('jane-one', { role: 'one-pod', roleKind: 'Role', to: `User:${jane}`, namespace: 'shop' }),
      aBinding('robot-whole', { role: 'whole', to: 'ServiceAccount:shop/robot' }),
      aBinding('masters', { role: 'reads', to: 'Group:system:masters' }),
      aUserBinding('oncall-reads', {
        roleRef: 'atrium-users-view',
        scope: 'namespace',
        constraint: [{ namespace: 'vault' }],
        subjects: [{ kind: 'Group', name: 'oncall' }],
      }),
    );
    await letManagerExplore(server);
    for (const [query, binding] of [
      [`user=${omar}`, /^ub-/],
      [`user=${jane}`, /^jane-scales$/],
      [`user=${jane}`, /^jane-one$/],
      ['group=dev', /^dev-reads$/],
      ['group=system:masters', /^masters$/],
      ['serviceaccount=shop/robot', /^robot-whole$/],
    ] as const)
      await eventually(
        () => rulesOf(server, query),
        ({ items }) => items.some(({ binding: { name }, rule }) => binding.test(name) && rule !== undefined),
      );
    await eventually(
      () => rulesOf(server, `user=${jane}`),
      ({ groups }) => groups.includes('dev'),
    );
  });

  const post = (body: unknown, as: Person = 'manager') => server.request(simulations, { method: 'POST', as, body });
  const simulate = async (changes: readonly object[], subjects?: readonly object[], as: Person = 'manager') => {
    const response = await post({ changes, ...(subjects && { subjects }) }, as);
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    return simulationAnswer.parse(JSON.parse(text));
  };
  const binds = (roleRef: string, subject: object, constraint?: readonly object[]) => ({
    type: 'userBinding',
    userBinding: {
      spec: { subjects: [subject], roleRef, scope: constraint ? 'namespace' : 'platform', ...(constraint && { constraint }) },
    },
  });
  const user = (name: string) => ({ kind: 'User', name });

  it('tells what a UserBinding gives to a user beyond the rights of its groups', async () => {
    const { items, complete, resourceVersion } = await simulate([binds('writes', user(nameOf(jane)), [{ namespace: 'shop' }])]);
    expect({ complete, isVersion: /^\d+$/.test(resourceVersion) }).to.deep.equal({ complete: true, isVersion: true });
    expect(items).to.deep.equal([
      {
        subject: user(jane),
        // The group reads pods there, and another role covers all of `scale`.
        gained: [
          { verbs: ['create'], namespace: 'shop', group: '', resource: 'pods' },
          { verbs: ['*'], namespace: 'shop', group: 'apps', resource: 'deployments' },
        ],
        lost: [],
        warnings: [],
      },
    ]);
  });

  it('is exact about wildcards, resourceNames, namespaces and paths (SIM-03)', async () => {
    const rules = [
      { apiGroups: ['apps'], resources: ['replicasets/scale'], verbs: ['patch'] },
      { apiGroups: ['*'], resources: ['*'], verbs: ['get'] },
      podRule(['delete'], { resourceNames: ['old', 'new'] }),
      { nonResourceURLs: ['/reports/today', '/reports/**', '/other'], verbs: ['get'] },
    ];
    const [item] = (
      await simulate([{ type: 'role', role: { kind: 'Role', metadata: { name: 'one-pod', namespace: 'shop' }, rules: rules.slice(0, 3) } }])
    ).items;
    expect(item?.gained).to.deep.equal([
      { verbs: ['delete'], namespace: 'shop', group: '', resource: 'pods', name: 'new' },
      { verbs: ['get'], namespace: 'shop', group: '*', resource: '*' },
    ]);
    expect(item?.warnings).to.deep.equal(['Secrets']);
    const changed = { type: 'role', role: { kind: 'ClusterRole', metadata: { name: 'paths' }, rules: [rules[3]] } };
    const bound = binds('paths', user('reader@example.com'));
    const paths = (await simulate([bound, changed])).items.map(({ subject, gained }) => [subject.name, gained.map(({ path }) => path)]);
    expect(paths).to.deep.equal([['reader@example.com', ['/other', '/reports/*', '/reports/today']]]);
    // A RoleBinding gives no paths.
    expect((await simulate([binds('paths', user('reader@example.com'), [{ namespace: 'shop' }])])).items[0]?.gained).to.deep.equal([]);
  });

  it('follows aggregated roles: a new label, new rules, and a deleted part (SIM-03)', async () => {
    const robot = { kind: 'ServiceAccount', name: 'robot', namespace: 'shop' };
    const statefulSets = { namespace: '', group: 'apps', resource: 'statefulsets' };
    const rules = [apps(['statefulsets'], ['get', 'list'])];
    const added = (name: string, labels: Record<string, string>) => ({
      type: 'role',
      role: { kind: 'ClusterRole', metadata: { name, labels }, rules },
    });
    const gained = [{ verbs: ['list'], ...statefulSets }];
    expect((await simulate([added('new-part', { 'example.com/part': 'yes' })])).items).to.deep.include({
      subject: robot,
      gained,
      lost: [],
      warnings: [],
    });
    expect((await simulate([added('new-part', { 'example.com/part': 'no' })])).items).to.deep.equal([]);
    expect((await simulate([added('part', {})])).items).to.deep.include({ subject: robot, gained, lost: [], warnings: [] });
    const { items } = await simulate([{ type: 'delete', kind: 'ClusterRole', name: 'part' }]);
    expect(items).to.deep.include({ subject: robot, gained: [], lost: [{ verbs: ['get'], ...statefulSets }], warnings: [] });
  });

  it('takes nothing from members of system:masters, and gives them nothing (SIM-03)', async () => {
    const deletion = { type: 'delete', kind: 'ClusterRoleBinding', name: 'masters' };
    expect((await simulate([deletion])).items).to.deep.equal([
      { subject: { kind: 'Group', name: 'system:masters' }, gained: [], lost: [], warnings: ['SystemMasters'] },
    ]);
  });

  it('tells what members of a group gain and lose, also by UserBindings of the group', async () => {
    const usersInVault = [{ verbs: ['get', 'list', 'watch'], namespace: 'vault', group: 'auth.platform.io', resource: 'users' }];
    const member = (email: string, action: string) => ({ type: 'member', group: 'oncall', user: nameOf(email), action });
    expect((await simulate([member(jane, 'add')])).items).to.deep.equal([
      { subject: user(jane), gained: usersInVault, lost: [], warnings: [] },
    ]);
    expect((await simulate([member(omar, 'remove')])).items).to.deep.equal([
      { subject: user(omar), gained: [], lost: usersInVault, warnings: [] },
    ]);
    expect((await simulate([member(omar, 'remove'), member(omar, 'add')])).items).to.deep.equal([
      { subject: user(omar), gained: [], lost: [], warnings: [] },
    ]);
  });

  it('tells what deleted bindings take', async () => {
    const { items } = await simulate([
      { type: 'delete', kind: 'UserBinding', name: 'oncall-reads' },
      { type: 'delete', kind: 'RoleBinding', name: 'dev-reads', namespace: 'shop' },
    ]);
    const lost = new Map(items.map((item) => [item.subject.name, item.lost.map(({ namespace, verbs }) => `${namespace} ${verbs.join()}`)]));
    expect(Object.fromEntries(lost)).to.deep.equal({
      'local:oncall': ['vault get,list,watch'],
      [omar]: ['vault get,list,watch'],
      dev: ['shop get,list'],
    });
  });

  it('gives a role in the namespaces of a project, and compares the given subjects alone', async () => {
    const spec = { subjects: [{ kind: 'Group', name: 'dev' }], roleRef: 'reads', scope: 'project', constraint: [{ project: 'safe' }] };
    const { items } = await simulate(
      [{ type: 'userBinding', userBinding: { spec } }],
      [user(jane), { kind: 'ServiceAccount', name: 'robot', namespace: 'shop' }],
    );
    expect(items.map(({ subject, gained }) => [subject.name, gained.map(({ namespace }) => namespace)])).to.deep.equal([
      [jane, ['vault']],
      ['robot', []],
    ]);
  });

  it('warns of rights by which others are gained, and of unknown groups', async () => {
    const rules = [{ apiGroups: [rbacGroup], resources: ['clusterroles'], verbs: ['bind'] }];
    const role = { type: 'role', role: { kind: 'ClusterRole', metadata: { name: 'binder' }, rules } };
    const { items, complete } = await simulate([role, binds('binder', user('stranger@example.com'))]);
    expect(complete).to.equal(false);
    expect(items[0]?.warnings).to.deep.equal(['GroupsUnknown', 'Escalation']);
  });

  it('refuses changes that a dry run as the caller refuses, and changes nothing (SIM-05)', async () => {
    const changes = [
      binds('atrium-users-view', user(nameOf(jane))),
      { type: 'member', group: 'oncall', user: nameOf(jane) },
      { type: 'role', role: { kind: 'ClusterRole', metadata: { name: 'reads' }, rules: [podRule(['*'])] } },
      { type: 'role', role: { kind: 'ClusterRole', metadata: { name: 'brand-new' }, rules: [podRule(['get'])] } },
      { type: 'delete', kind: 'RoleBinding', name: 'dev-reads', namespace: 'shop' },
      { type: 'delete', kind: 'UserBinding', name: 'oncall-reads' },
    ];
    const { refusals } = await simulate(changes);
    expect(
      refusals.map(({ change, code, message }) => [
        change,
        code,
        message.replace(/ is forbidden.*? cannot (\S+ resource "\w+").*/, ': $1'),
      ]),
    ).to.deep.equal([
      [0, 403, 'userbindings.auth.platform.io: create resource "userbindings"'],
      [1, 403, 'groups.auth.platform.io "oncall": patch resource "groups"'],
      [2, 403, 'clusterroles.rbac.authorization.k8s.io "reads": patch resource "clusterroles"'],
      [3, 403, 'clusterroles.rbac.authorization.k8s.io: create resource "clusterroles"'],
      [4, 403, 'rolebindings.rbac.authorization.k8s.io "dev-reads": delete resource "rolebindings"'],
      [5, 403, 'userbindings.auth.platform.io "oncall-reads": delete resource "userbindings"'],
    ]);
    const asAdmin = await simulate(changes, undefined, 'admin');
    expect(asAdmin.refusals).to.deep.equal([]);
    const gone = await simulate([{ type: 'delete', kind: 'ClusterRole', name: 'no-such-role' }], undefined, 'admin');
    expect(gone.refusals.map(({ code, reason }) => [code, reason])).to.deep.equal([[404, 'NotFound']]);
    for (const path of ['clusterroles/reads', 'namespaces/shop/rolebindings/dev-reads'])
      expect((await server.kubernetes.call('GET', `/apis/${rbacGroup}/v1/${path}`)).status).to.equal(200);
    expect((await server.kubernetes.call('GET', `/apis/${rbacGroup}/v1/clusterroles/brand-new`)).status).to.equal(404);
  });

  it('refuses callers without the rights, without a name that they did not give (SIM-02)', async () => {
    await server.kubernetes.apply(
      aRole('simulates', [{ apiGroups: ['auth.platform.io'], resources: ['simulations'], verbs: ['create'] }]),
      aBinding('bob-simulates', { role: 'simulates', to: 'User:bob' }),
    );
    const body = { changes: [{ type: 'delete', kind: 'ClusterRoleBinding', name: 'jane-scales' }] };
    await eventually(
      async () => (await post(body, 'bob')).text(),
      (text) => text.includes('rolebindings'),
    );
    for (const person of ['bob', 'viewer'] as const) {
      const response = await post({ ...body, subjects: [user(jane)] }, person);
      expect(response.status).to.equal(403);
      expect(await response.text()).to.not.match(/jane|scales/);
    }
  });

  describe('by the owner of one namespace', () => {
    const deletion = (name: string, namespace = 'shop') => ({ type: 'delete', kind: 'RoleBinding', name, namespace });

    before(async () => {
      await server.kubernetes.apply(
        aBinding('carol-explores', { role: 'atrium-access-explorer', to: 'User:carol', namespace: 'shop' }),
        aRole('deletes', [podRule(['delete'])]),
        aBinding('jane-deletes', { role: 'deletes', to: `User:${jane}` }),
        aBinding('omar-deletes', { role: 'deletes', to: `User:${omar}`, namespace: 'shop' }),
      );
      await eventually(
        () => post({ changes: [deletion('dev-reads')] }, 'carol'),
        ({ status }) => status === 200,
      );
      await eventually(
        () => rulesOf(server, `user=${jane}`),
        ({ items }) => items.some(({ binding, rule }) => binding.name === 'jane-deletes' && rule !== undefined),
      );
    });

    it('reports lost rights of RoleBindings there, by the roles that the owner may get', async () => {
      const one = await simulate([deletion('jane-one')], undefined, 'carol');
      expect(one).to.deep.include({ complete: false, namespace: 'shop', rolesHidden: true });
      expect(one.items.map(({ lost }) => lost)).to.deep.equal([
        [{ verbs: ['delete'], namespace: 'shop', group: '', resource: 'pods', name: 'old' }],
      ]);
      expect((await simulate([deletion('dev-reads')], undefined, 'carol')).items[0]).to.deep.include({ lost: [], gained: [] });

      const rules = [{ apiGroups: [rbacGroup], resources: ['clusterroles'], verbs: ['get'] }];
      await server.kubernetes.apply(aRole('gets-roles', rules), aBinding('carol-gets-roles', { role: 'gets-roles', to: 'User:carol' }));
      const shown = await eventually(
        () => simulate([deletion('dev-reads')], undefined, 'carol'),
        ({ rolesHidden }) => rolesHidden === false,
      );
      expect(shown.items[0]?.subject).to.deep.equal({ kind: 'Group', name: 'dev' });
      expect(shown.items[0]?.lost).to.deep.equal([{ verbs: ['get', 'list'], namespace: 'shop', group: '', resource: 'pods' }]);
    });

    it('leaves out bindings of the cluster, and groups of users that the owner may not know', async () => {
      const changes = [deletion('jane-one'), deletion('dev-reads')];
      const { items } = await simulate(changes, [user(jane), { kind: 'Group', name: 'dev' }], 'carol');
      expect(items.map(({ lost, warnings }) => [lost.map(({ verbs }) => verbs), warnings])).to.deep.equal([
        [[['delete']], ['GroupsUnknown']],
        [[['get', 'list']], []],
      ]);
      const everywhere = await simulate(changes, [user(jane)]);
      expect(everywhere).to.deep.include({ complete: true }).and.not.to.have.property('namespace');
      expect(everywhere.items[0]?.lost.map(({ verbs }) => verbs)).to.deep.equal([['get', 'list']]);
    });

    it('tells refusals of a dry run, and changes nothing', async () => {
      const { refusals } = await simulate([deletion('dev-reads')], undefined, 'carol');
      expect(refusals.map(({ code }) => code)).to.deep.equal([403]);
      expect((await server.kubernetes.call('GET', `/apis/${rbacGroup}/v1/namespaces/shop/rolebindings/dev-reads`)).status).to.equal(200);
    });

    it('refuses other changes, and those of another namespace', async () => {
      const refused = [
        [deletion('x', 'vault')],
        [deletion('dev-reads'), deletion('x', 'vault')],
        [deletion('dev-reads'), { type: 'delete', kind: 'Role', name: 'one-pod', namespace: 'shop' }],
        [{ type: 'delete', kind: 'ClusterRoleBinding', name: 'jane-scales' }],
        [{ type: 'delete', kind: 'RoleBinding', name: 'dev-reads' }],
        [binds('reads', user(jane), [{ namespace: 'shop' }])],
      ];
      for (const changes of refused) expect((await post({ changes }, 'carol')).status, JSON.stringify(changes)).to.equal(403);
    });
  });

  it('is 422 for 501 subjects and for hostile rules, 400 for 21 changes (SIM-04)', async () => {
    const subjects = Array.from({ length: 501 }, (_, index) => user(`user-${index}`));
    const deletion = { type: 'delete', kind: 'ClusterRoleBinding', name: 'jane-scales' };
    expect((await post({ changes: [deletion], subjects })).status).to.equal(422);
    expect((await post({ changes: Array.from({ length: 21 }, () => deletion) })).status).to.equal(400);
    const many = Array.from({ length: 200 }, (_, index) => `r${index}`);
    // 200 groups, resources and names in one rule stand for eight million tuples.
    const rules = [{ apiGroups: many, resources: many, resourceNames: many, verbs: ['get'] }];
    const hostile = { type: 'role', role: { kind: 'ClusterRole', metadata: { name: 'hostile' }, rules } };
    const response = await post({ changes: [hostile, binds('hostile', user(jane))] });
    expect(response.status).to.equal(422);
    expect(await response.text()).to.contain('name fewer subjects');
  });

  it('is 429 for a third simulation of a caller at the same time', async () => {
    const changes = [binds('reads', user(jane))];
    const answers = await Promise.all(Array.from({ length: 40 }, () => post({ changes })));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).to.be.at.least(2);
    expect(new Set(statuses)).to.deep.equal(new Set([200, 429]));
    expect((await post({ changes })).status).to.equal(200);
  });

  it('writes an audit event', () => {
    const events = server.auditLines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ audit }) => audit === 'SimulationRun');
    expect(events[0]).to.deep.include({ outcome: 'success', code: 200 });
    expect(events[0]).to.have.nested.property('actor.name', 'manager');
  });
});
