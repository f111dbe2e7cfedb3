/** Events of one user: what the user did, and what was done to and for the user. */
import { randomUUID } from 'node:crypto';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { auditCounts, auditEventList } from '../../../src/activity/schema.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { AccessRequests, aPolicy, user } from '../access-requests/support.ts';
import { aGroup, aNamespace, applyKnown } from '../bindings/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';

const json = { 'content-type': 'application/json' };
const alice = nameOf('alice@example.com');
const rbac = '/api/kubernetes/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings';

/** Returns an event in few words, such as `bob AccessDecided Approved`. */
const told = ({ user: by, event, verb, objectRef, reason }: AuditEvent): string =>
  [by?.username ?? 'Atrium', event ?? `${verb} ${objectRef.resource}`, reason].filter(Boolean).join(' ');

describe('the events of a user', () => {
  const server = forSuite(async () => {
    const auditStore = await SqliteStore.open(':memory:');
    const started = await startServer({ auditStore, config: { features: { accessRequests: true } } });
    const stop = async () => {
      await started.stop();
      await auditStore.stop();
    };
    return { ...started, auditStore, stop };
  });
  const get = (as: Person, path: string) => server.request(`/auth/v1/audit${path}`, { as });
  const list = async (as: Person, query = `?user=${alice}`) => {
    const answer = await get(as, query);
    expect(answer.status).to.equal(200);
    return auditEventList.parse(await answer.json());
  };
  /** Returns the events of alice, the oldest first. */
  const seen = async (as: Person, query?: string) => (await list(as, query)).items.map(told).toReversed();
  const until = async (as: Person, last: string) =>
    eventually(
      () => seen(as),
      (events) => events.includes(last),
    );
  const send = async (as: Person, method: string, path: string, body?: object) => {
    const answer = await server.request(path, { method, as, headers: json, ...(body && { body }) });
    expect(answer.status, await answer.text()).to.be.below(300);
  };

  const patch = async (path: string, type: string, body: object) => {
    const answer = await server.request(path, { method: 'PATCH', as: 'admin', headers: { 'content-type': type }, body });
    expect(answer.status, await answer.text()).to.equal(200);
  };
  /** Waits until the service has seen whether alice has a role in the namespace `lab`. */
  const untilBound = (isBound: boolean) =>
    eventually(
      async () => (await server.request('/auth/v1/namespaces?verb=get&resource=pods', { as: 'alice' })).text(),
      (text) => text.includes('"lab"') === isBound,
    );

  before(async () => {
    await server.kubernetes.apply(aNamespace('shop'));
    await applyKnown(server, ...['alice', 'bob'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
  });

  it('have a request of the user from its begin to its end, by whomever', async () => {
    const access = new AccessRequests(server);
    await access.apply(aPolicy('shop', { subjects: [user('alice')], approvers: [user('bob')], roleRefs: ['edit'] }));
    const request = await access.asked({ as: 'alice' }, { roleRef: 'edit' });
    expect((await access.decide({ as: 'bob' }, request)).status).to.equal(200);
    await access.untilPhase(request, 'Active');
    expect((await access.end({ as: 'bob' }, request)).status).to.equal(200);
    await access.untilPhase(request, 'Ended');

    await until('admin', 'bob AccessEnded EndedByUser');
    const events = await seen('admin');
    // The service may be faster than the answer to the decision.
    expect(events.toSpliced(1, 2)).to.deep.equal(['alice AccessRequested', 'bob AccessEnded EndedByUser']);
    expect(events.slice(1, 3)).to.have.members(['bob AccessDecided Approved', 'Atrium AccessGranted']);
    // Users see what was asked for them, also without the condition.
    expect((await list('alice')).scope).to.equal('Own');
    expect(await seen('alice')).to.deep.equal(events);
    expect(await seen('alice', '')).to.deep.equal(events);
  });

  it('have bindings and groups that name the user, and acts of the user', async () => {
    await send('admin', 'POST', '/auth/v2/userbindings', {
      metadata: { name: 'alice-view' },
      spec: { subjects: [{ kind: 'User', name: alice }], roleRef: 'view', scope: 'namespace', constraint: [{ namespace: 'shop' }] },
    });
    const [roleRef, subjects] = [
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      [{ kind: 'User', name: 'alice' }],
    ];
    await send('admin', 'POST', rbac, { metadata: { name: 'of-alice' }, roleRef, subjects });
    await send('admin', 'POST', rbac, { metadata: { name: 'of-bob' }, roleRef, subjects: [{ kind: 'User', name: 'bob' }] });
    await server.kubernetes.apply(aGroup('dev', []));
    await eventually(
      () => server.request('/auth/v1/groups/dev/members', { method: 'POST', as: 'admin', headers: json, body: { names: [alice] } }),
      ({ status }) => status === 200,
    );
    await send('admin', 'PATCH', `/auth/v1/users/${alice}`, { spec: { username: 'Alice' } });
    await server.request('/api/kubernetes/api/v1/namespaces/shop/pods/none', { method: 'DELETE', as: 'alice' });

    await until('admin', 'alice delete pods');
    expect((await seen('admin')).slice(4)).to.deep.equal([
      'admin UserBindingCreated',
      'admin create rolebindings',
      'admin GroupMembersChanged',
      'admin UserPatched',
      'alice delete pods',
    ]);
  });

  it('have changes of a binding by which the user comes and goes', async () => {
    const ofRole = { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' } };
    const [bob, ofAlice] = ['bob', 'alice'].map((name) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }));
    const inLab = rbac.replace('/shop/', '/lab/');
    const path = `${inLab}/changed`;
    const grants = async (count: number) => {
      const { items } = await eventually(
        () => list('admin', `?user=${alice}&resource=rolebindings&name=changed`),
        (found) => found.items.length === count,
      );
      return items.map(({ verb, grant }) => [verb, ...(grant?.subjects ?? [])]);
    };
    await server.kubernetes.apply(aNamespace('lab'));
    await send('admin', 'POST', inLab, { metadata: { name: 'changed' }, ...ofRole, subjects: [bob] });
    expect(await grants(0)).to.deep.equal([]);
    await send('admin', 'PUT', path, { metadata: { name: 'changed' }, ...ofRole, subjects: [bob, ofAlice] });
    expect(await grants(1)).to.deep.equal([['update', 'User/alice', 'User/bob']]);
    await untilBound(true);
    await patch(path, 'application/merge-patch+json', { subjects: [bob] });
    expect((await grants(2))[0]).to.deep.equal(['patch', 'User/alice', 'User/bob']);
    await untilBound(false);
    await patch(path, 'application/json-patch+json', [{ op: 'add', path: '/subjects/-', value: ofAlice }]);
    expect((await grants(3))[0]).to.deep.equal(['patch', 'User/alice', 'User/bob']);
    await untilBound(true);
    expect((await server.request(path, { method: 'DELETE', as: 'admin' })).status).to.equal(200);
    expect(await grants(4)).to.have.length(4);
  });

  it('have the end of each binding that named the user, with the role', async () => {
    const userBinding = (name: string) => ({
      metadata: { name },
      spec: { subjects: [{ kind: 'User', name: alice }], roleRef: 'view', scope: 'namespace', constraint: [{ namespace: 'shop' }] },
    });
    const kept = '/api/kubernetes/apis/auth.platform.io/v1/userbindings';
    const own = '/auth/v2/userbindings';
    for (const name of ['one', 'two']) await send('admin', 'POST', own, userBinding(name));
    await eventually(
      async () => JSON.stringify((await server.kubernetes.call('GET', '/apis/rbac.authorization.k8s.io/v1/rolebindings')).body),
      (text) => ['alice-view', 'one', 'two'].every((name) => text.includes(`"auth.platform.io/userbinding":"${name}"`)),
    );
    const seenBefore = (await seen('admin')).length;

    await send('admin', 'DELETE', `${rbac}/of-alice`);
    await send('admin', 'DELETE', `${rbac}/of-bob`);
    await send('admin', 'DELETE', `${own}/one`);
    await send('admin', 'DELETE', own, { names: ['two'] });
    await send('admin', 'DELETE', `${kept}/alice-view`);
    const { items } = await eventually(
      () => list('admin'),
      (found) => found.items.length === seenBefore + 4,
    );
    expect(items.slice(0, 4).map(told).toReversed()).to.deep.equal([
      'admin delete rolebindings',
      'admin UserBindingDeleted',
      'admin UserBindingDeleted',
      'admin delete userbindings',
    ]);
    const [role, subjects] = ['ClusterRole/view', ['User/alice']];
    expect(items.slice(0, 4).map(({ grant }) => grant)).to.deep.equal([
      ...Array.from({ length: 3 }, () => ({ role, subjects, namespaces: ['shop'] })),
      { role, subjects },
    ]);
  });

  it('have another condition, counts, a file and a live list', async () => {
    expect(await seen('admin', `?user=${alice}&actor=alice&from=2026-01-01T00:00:00Z`)).to.deep.equal([
      'alice AccessRequested',
      'alice delete pods',
    ]);
    const counts = auditCounts.parse(await (await get('admin', `/counts?by=verb&user=${alice}`)).json());
    expect(counts).to.deep.include({ scope: 'All', total: 19 });
    expect((await (await get('admin', `/export?user=${alice}`)).text()).trimEnd().split('\n')).to.have.lengthOf(19);

    const { metadata } = await list('admin');
    const headers = { accept: 'text/event-stream' };
    const path = `/auth/v1/audit?watch=true&timeoutSeconds=5&user=${alice}&resourceVersion=${metadata.resourceVersion}`;
    const stream = await server.request(path, { as: 'admin', headers });
    const event = (parts: Partial<AuditEvent>): AuditEvent => ({
      ...{ auditID: randomUUID(), cluster: 'local', source: 'door', verb: 'delete', sourceIPs: [], outcome: 'success' },
      ...{ objectRef: { apiGroup: '', resource: 'nodes', name: 'node-1' }, requestReceivedTimestamp: new Date().toISOString() },
      ...parts,
    });
    const [foreign, own] = [
      event({ user: { username: 'bob' } }),
      event({ user: { username: 'bob' }, impersonatedUser: { username: 'alice' } }),
    ];
    await server.auditStore.append([foreign, own]);
    const text = await stream.text();
    expect(text).to.include(own.auditID).and.not.to.include(foreign.auditID);
  });

  it('are refused to another user, known or not, and none of an unknown user', async () => {
    for (const path of [`?user=${alice}`, `/counts?by=hour&user=${alice}`, `/export?user=${alice}`, '?user=none'])
      expect((await get('bob', path)).status, path).to.equal(403);
    expect((await get('alice', `?user=${nameOf('bob@example.com')}`)).status).to.equal(403);
    expect(await list('admin', '?user=none')).to.deep.include({ scope: 'All', items: [] });
  });

  it('are not those of an earlier user, nor those of the password Secret of another', async () => {
    const secret = (name: string, requestReceivedTimestamp: string): AuditEvent => ({
      ...{ auditID: `${name} ${requestReceivedTimestamp}`, cluster: 'local', source: 'door', verb: 'get', user: { username: 'bob' } },
      ...{ sourceIPs: [], outcome: 'failure', requestReceivedTimestamp },
      objectRef: { apiGroup: '', resource: 'secrets', namespace: serviceNamespace, name },
    });
    const [now, before] = [new Date().toISOString(), '2026-01-12T08:30:00.000Z'];
    const kept = secret(`user-password-${alice}`, now);
    await server.auditStore.append([
      kept,
      secret(`user-password-${alice}`, before),
      secret(`user-password-${nameOf('bob@example.com')}`, now),
    ]);
    const { items } = await list('admin', `?user=${alice}&resource=secrets`);
    expect(items.map(({ auditID }) => auditID)).to.deep.equal([kept.auditID]);
  });
});
