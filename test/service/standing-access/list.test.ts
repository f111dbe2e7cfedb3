import { serviceUnavailable } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { standingList } from '../../../src/standing-access/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aRole, rbacGroup } from '../access/objects.ts';
import { aBinding as aUserBinding, Bindings } from '../bindings/support.ts';
import { aUser } from '../users/a-user.ts';
import { anEvent, dayMs, daysAgo, forManager, itemOf, newerEvents, standing, until, withStore } from './support.ts';

describe('GET /auth/v1/standingaccess', () => {
  const server = forSuite(() => withStore());

  before(async () => {
    await server.kept.append([anEvent('first', 'somewhere@example.com', { requestReceivedTimestamp: daysAgo(400) })]);
    await server.kubernetes.apply(
      aUser('jane@example.com', { groups: ['dev'] }),
      aUser('omar@example.com', { groups: ['dev'] }),
      aBinding('root', { role: 'cluster-admin', to: 'User:carol' }),
      aBinding('restarters', { role: 'restarts', to: 'Group:dev', namespace: 'shop' }),
      aBinding('restarter', { role: 'restarts', to: 'User:alice', namespace: 'shop' }),
      aBinding('restarter-elsewhere', { role: 'restarts', to: 'User:alice', namespace: 'vault' }),
      aBinding('reader', { role: 'reads', to: 'User:alice', namespace: 'shop' }),
      aBinding('robot', { role: 'restarts', to: 'ServiceAccount:shop/robot', namespace: 'shop' }),
      aBinding('gone', { role: 'no-such-role', to: 'User:alice', namespace: 'shop' }),
    );
    await until(server, 'root', 'restarters', 'restarter', 'restarter-elsewhere', 'reader', 'gone');
    await eventually(
      () => itemOf(server, 'restarters'),
      (item) => item?.people === 2,
    );
  });

  it('lists who holds what for good, the highest severity first', async () => {
    const { items, complete, notes, total } = await standing(server);
    expect({ complete, notes }).to.deep.equal({ complete: true, notes: [] });
    expect(total).to.equal(items.length);
    const places = items.map(({ binding }) => binding.name);
    expect(places.indexOf('root')).to.be.lessThan(places.indexOf('restarters'));
    expect(items.find(({ binding }) => binding.name === 'root')).to.deep.include({
      severity: 'Critical',
      role: { kind: 'ClusterRole', name: 'cluster-admin', namespace: '' },
      subjects: [{ kind: 'User', name: 'carol' }],
      people: 1,
    });
    expect(items.find(({ binding }) => binding.name === 'restarters')).to.deep.include({ severity: 'Low', people: 2 });
  });

  it('leaves out bindings of ServiceAccounts alone and those of Kubernetes itself, unless all are asked for', async () => {
    const names = async (query = '') => (await standing(server, query)).items.map(({ binding }) => binding.name);
    expect(await names()).not.to.include.members(['robot']);
    expect(await names('&namespace=shop&holders=All')).to.include('robot');
    expect((await standing(server)).items.map(({ role }) => role.name)).not.to.include('system:discovery');
  });

  it('lists bindings for everyone, also of a role with a name of Kubernetes', async () => {
    await server.kubernetes.apply(
      aRole('system:helpers', [{ apiGroups: ['example.com'], resources: ['helps'], verbs: ['escalate'] }]),
      aBinding('for-everyone', { role: 'system:helpers', to: 'Group:system:authenticated' }),
      aBinding('for-anonymous', { role: 'reads', to: 'User:system:anonymous' }),
    );
    await until(server, 'for-everyone', 'for-anonymous');
    expect(await itemOf(server, 'for-everyone')).to.deep.include({ severity: 'Critical', findings: ['Escalation', 'Everyone'] });
    expect((await itemOf(server, 'for-anonymous'))?.findings).to.deep.equal(['Everyone']);
  });

  it('tells a use through the door, of each binding that gives the right and of no other', async () => {
    await server.kubernetes.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'web', namespace: 'shop' } });
    const path = '/api/kubernetes/api/v1/namespaces/shop/configmaps/web';
    expect((await server.request(path, { method: 'DELETE', as: 'alice' })).status).to.equal(200);
    const item = await eventually(
      () => itemOf(server, 'restarter'),
      (found) => found?.use.state === 'Used',
    );
    expect(item?.use).to.deep.include({ state: 'Used', users: 1 });
    if (item?.use.state !== 'Used') return expect.fail('not used');
    expect(item.use.last).to.deep.include({
      verb: 'delete',
      user: 'alice',
      objectRef: { apiGroup: '', resource: 'configmaps', namespace: 'shop', name: 'web' },
    });
    expect((await itemOf(server, 'restarter-elsewhere'))?.use.state).to.equal('NotSeen');
    expect((await itemOf(server, 'restarters'))?.use.state).to.equal('NotSeen');
  });

  it('counts the members of a group by their records, and finds a use behind many other events', async () => {
    const others = Array.from({ length: 120 }, (_, index) =>
      anEvent(`other-${index}`, 'jane@example.com', {
        objectRef: { apiGroup: 'apps', resource: 'deployments', namespace: 'shop', name: 'web' },
        requestReceivedTimestamp: new Date(Date.now() + 60_000 + index).toISOString(),
      }),
    );
    await server.kept.append([
      anEvent('by-jane', 'jane@example.com', { requestReceivedTimestamp: new Date(Date.now() + 30_000).toISOString() }),
      ...others,
    ]);
    const item = await itemOf(server, 'restarters');
    expect(item?.use).to.deep.include({ state: 'Used', users: 1 });
    expect(item?.findings).to.deep.equal(['PartlyUsed']);
    expect(item?.use.state === 'Used' && item.use.last.auditID).to.equal('by-jane');
  });

  it('finds a shell that was opened with the verb get, behind many other events', async () => {
    const toShell = { apiGroups: [''], resources: ['pods/exec'], verbs: ['get'] };
    await server.kubernetes.apply(
      aRole('opens-shells', [toShell, { apiGroups: [''], resources: ['configmaps'], verbs: ['delete'] }]),
      aRole('only-opens-shells', [toShell]),
      aBinding('sheller', { role: 'opens-shells', to: 'User:sam' }),
      aBinding('no-sheller', { role: 'only-opens-shells', to: 'User:noa' }),
    );
    const exec = { apiGroup: '', resource: 'pods', subresource: 'exec', namespace: 'shop', name: 'web' };
    await server.kept.append([anEvent('shell', 'sam', { verb: 'get', objectRef: exec }), ...newerEvents('sam')]);
    await until(server, 'sheller', 'no-sheller');
    expect((await itemOf(server, 'sheller'))?.use).to.deep.include({ state: 'Used', users: 1 });
    expect((await itemOf(server, 'no-sheller'))?.use.state).to.equal('NotSeen');
  });

  it('takes no refusal, dry run, own login or request as another user for a use', async () => {
    await server.kept.append([
      anEvent('refused', 'carol', { outcome: 'failure' }),
      anEvent('dry', 'carol', { dryRun: true }),
      anEvent('view', 'carol', { impersonatedUser: { username: 'alice' } }),
      anEvent('login', 'carol', {
        ...{ source: 'service', event: 'LoginSucceeded', verb: 'create' },
        objectRef: { apiGroup: 'auth.platform.io', resource: 'users', subresource: 'sessions', name: 'carol' },
      }),
    ]);
    const item = await itemOf(server, 'root');
    expect(item?.use.state).to.equal('NotSeen');
    expect(item?.findings).to.deep.equal(['FullControl', 'NotSeen']);
    await server.kept.append([
      anEvent('group', 'carol', {
        ...{ source: 'service', event: 'GroupCreated', verb: 'create' },
        objectRef: { apiGroup: 'auth.platform.io', resource: 'groups', name: 'oncall' },
      }),
    ]);
    expect((await itemOf(server, 'root'))?.use).to.deep.include({ state: 'Used', users: 1 });
  });

  it('says unknown, and why, where the audit cannot tell', async () => {
    expect((await itemOf(server, 'reader'))?.use).to.deep.equal({ state: 'Unknown', reason: 'NotRecorded' });
    expect((await itemOf(server, 'gone'))?.use).to.deep.equal({ state: 'Unknown', reason: 'RoleMissing' });
    expect((await itemOf(server, 'robot', '&holders=All&namespace=shop'))?.use).to.deep.equal({
      state: 'Unknown',
      reason: 'MembersUnknown',
    });
  });

  it('leaves out UserBindings that end', async () => {
    const bindings = new Bindings(server.kubernetes);
    const spec = { subjects: [{ kind: 'User', name: 'alice' }], roleRef: 'view', scope: 'platform' };
    await server.kubernetes.apply(
      aUserBinding('for-good', spec),
      aUserBinding('for-a-day', { ...spec, expiresAt: new Date(Date.now() + dayMs).toISOString() }),
    );
    await Promise.all(['for-good', 'for-a-day'].map((name) => bindings.until(name, 'Synced')));
    const named = await eventually(
      async () => (await standing(server)).items.flatMap(({ binding }) => binding.userBinding ?? []),
      (names) => names.includes('for-good'),
    );
    expect(named).to.deep.equal(['for-good']);
  });

  it('lists a binding that only its label gives to a UserBinding with an end', async () => {
    const labels = { 'auth.platform.io/userbinding': 'for-a-day' };
    const hidden = aBinding('hidden', { role: 'cluster-admin', to: 'User:alice' });
    await server.kubernetes.apply({ ...hidden, metadata: { ...hidden.metadata, labels } });
    const item = await eventually(
      () => itemOf(server, 'hidden'),
      (found) => found !== undefined,
    );
    expect(item?.binding).to.deep.equal({ kind: 'ClusterRoleBinding', name: 'hidden', namespace: '' });
  });

  it('finds a binding by its name, the name of its UserBinding or its role', async () => {
    const places = async (query: string) =>
      (await standing(server, query)).items.map(({ binding: { namespace, name, userBinding } }) => `${namespace}/${userBinding ?? name}`);
    expect(await places('&name=restarter')).to.deep.equal(['shop/restarter']);
    expect(await places('&name=for-good')).to.deep.equal(['/for-good']);
    expect(await places('&role=restarts')).to.have.members(['shop/restarters', 'shop/restarter', 'vault/restarter-elsewhere']);
    expect(await places('&role=restarts&namespace=vault')).to.deep.equal(['vault/restarter-elsewhere']);
    expect(await places('&role=restarts&name=root')).to.deep.equal([]);
    expect((await standing(server, '&name=restarter')).total).to.equal(1);
  });

  it('pages', async () => {
    const { items, total } = await standing(server);
    const second = standingList.parse(await (await server.request('/auth/v1/standingaccess?limit=2&page=2', { as: 'manager' })).json());
    expect(second.total).to.equal(total);
    expect(second.items.map(({ binding }) => binding)).to.deep.equal(items.slice(2, 4).map(({ binding }) => binding));
  });

  it('refuses invalid parameters', async () => {
    for (const query of ['days=0', 'page=0', 'limit=x', 'holders=Some', 'namespace=', 'name=', 'role=', `name=${'x'.repeat(513)}`])
      expect((await server.request(`/auth/v1/standingaccess?${query}`, { as: 'manager' })).status, query).to.equal(400);
  });

  it('needs both rights, and shows the owner of a namespace its bindings alone', async () => {
    const list = (query: string) => server.request(`/auth/v1/standingaccess?limit=50${query}`, { as: 'viewer' });
    await server.kubernetes.apply(
      aRole('owns', [{ apiGroups: [rbacGroup], resources: ['rolebindings'], verbs: ['list'] }]),
      aBinding('owner', { role: 'owns', to: 'User:viewer', namespace: 'shop' }),
    );
    await eventually(
      async () => (await list('&namespace=shop')).text(),
      (text) => text.includes('audits'),
    );
    expect((await list('&namespace=shop')).status).to.equal(403);
    await server.kubernetes.apply(aBinding('owner-audits', { role: 'auditors', to: 'User:viewer', namespace: 'shop' }));
    await eventually(
      () => list('&namespace=shop'),
      ({ status }) => status === 200,
    );
    expect((await list('')).status).to.equal(403);
    expect((await list('&namespace=vault')).status).to.equal(403);
    const { items, complete } = await standing(server, '&namespace=shop', 'viewer');
    expect(complete).to.equal(false);
    expect(new Set(items.map(({ binding }) => binding.namespace))).to.deep.equal(new Set(['shop']));
    expect(items.find(({ binding }) => binding.name === 'restarter')).to.deep.include({
      severity: 'Unknown',
      use: { state: 'Unknown', reason: 'RoleHidden' },
    });
  });

  it('is an event of the audit itself', async () => {
    const { events } = await eventually(
      () => server.kept.list({ event: 'AuditRead', actor: 'manager' }, { limit: 50 }),
      (page) => page.events.length > 0,
    );
    expect(events.map(({ question }) => question)).to.include('view=StandingAccess');
  });
});

describe('standing access with an audit that cannot answer', () => {
  const young = forSuite(() => withStore());
  const narrow = forSuite(() => withStore(undefined, { audit: { policy: { rules: [{ level: 'None' }] } } }));
  const away = forSuite(() =>
    withStore(
      (kept) =>
        new Proxy(kept, {
          get: (store, name) => {
            if (name === 'list' || name === 'chain') return () => Promise.reject(serviceUnavailable('the audit store'));
            const value: unknown = Reflect.get(store, name);
            return typeof value === 'function' ? value.bind(store) : value;
          },
        }),
    ),
  );

  it('is unknown for a binding that is older than the audit', async () => {
    await young.kubernetes.apply(aBinding('root', { role: 'cluster-admin', to: 'User:carol' }));
    await until(young, 'root');
    await young.kept.append([anEvent('later', 'alice')]);
    const { auditedSince } = await standing(young);
    expect(auditedSince).to.be.a('string');
    expect((await itemOf(young, 'root'))?.use).to.deep.equal({ state: 'Unknown', reason: 'AuditTooYoung' });
  });

  it('is unknown where an audit policy may leave out requests', async () => {
    await narrow.kept.append([anEvent('first', 'somewhere@example.com', { requestReceivedTimestamp: daysAgo(400) })]);
    await narrow.kubernetes.apply(aBinding('root', { role: 'cluster-admin', to: 'User:carol' }));
    await until(narrow, 'root');
    expect((await itemOf(narrow, 'root'))?.use).to.deep.equal({ state: 'Unknown', reason: 'AuditPolicy' });
  });

  it('is shown without uses while the store is away', async () => {
    await away.kubernetes.apply(aBinding('root', { role: 'cluster-admin', to: 'User:carol' }));
    await until(away, 'root');
    expect((await itemOf(away, 'root'))?.use).to.deep.equal({ state: 'Unknown', reason: 'AuditNotAvailable' });
  });
});

describe('standing access without an audit', () => {
  const server = forSuite(() => startServer());

  it('is shown with unknown uses', async () => {
    await server.kubernetes.apply(...forManager, aBinding('root', { role: 'cluster-admin', to: 'User:carol' }));
    await until(server, 'root');
    expect((await itemOf(server, 'root'))?.use).to.deep.equal({ state: 'Unknown', reason: 'NoAudit' });
  });
});
