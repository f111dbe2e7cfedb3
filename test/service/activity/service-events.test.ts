/** Audit events of actions of the service itself, and of connections to containers. */
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { AccessRequests, aPolicy, policiesPath, user } from '../access-requests/support.ts';
import { aNamespace, applyKnown } from '../bindings/support.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { closed, closeOpened, cookieOf, echo, email, exec, logIn, openUpgrade, startProxy } from '../proxy/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';

/** Returns the events of a question, oldest first, once there are that many. */
const eventsOf = async (store: SqliteStore, filter: Parameters<SqliteStore['list']>[0], count: number) => {
  const { events } = await eventually(
    () => store.list(filter, { limit: 100 }),
    ({ events }) => events.length >= count,
  );
  return events.reverse();
};

async function aServer() {
  const auditStore = await SqliteStore.open(':memory:');
  const started = await startServer({ auditStore, config: { features: { accessRequests: true, groups: true } } });
  const stop = async () => {
    await started.stop();
    await auditStore.stop();
  };
  return { ...started, auditStore, stop };
}

describe('events of the service in the audit store', () => {
  const server = forSuite(aServer);

  it('tell that a user asked for a role, got it and lost it', async () => {
    await server.kubernetes.apply(aNamespace('shop'));
    await applyKnown(server, ...['alice', 'bob'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
    const access = new AccessRequests(server);
    await access.apply(aPolicy('shop', { subjects: [user('alice')], approvers: [user('bob')] }));
    const request = await access.asked({ as: 'alice' });
    expect((await access.decide({ as: 'bob', headers: { 'X-Request-Id': 'decision-1' } }, request)).status).to.equal(200);
    expect((await access.end({ as: 'alice' }, request)).status).to.equal(200);

    const events = await eventsOf(server.auditStore, { requester: 'alice' }, 4);
    expect(events.map(({ event, verb, user: by }) => [event, verb, by?.username])).to.deep.equal([
      ['AccessRequested', 'create', 'alice'],
      ['AccessGranted', 'update', undefined],
      ['AccessDecided', 'update', 'bob'],
      ['AccessEnded', 'update', 'alice'],
    ]);
    expect(events[2]).to.deep.include({
      source: 'service',
      outcome: 'success',
      reason: 'Approved',
      requestID: 'decision-1',
      objectRef: { apiGroup: 'auth.platform.io', resource: 'accessrequests', subresource: 'approval', name: request.metadata.name },
    });
    const status = 'patch accessrequests/status';
    expect(events.map(({ write }) => write)).to.deep.equal([undefined, status, status, status]);
    const ids = events.map(({ auditID }) => auditID);
    expect(new Set(ids).size).to.equal(4);
    for (const id of ids) expect(id).to.match(/^own-write-/);
    expect(events[2]?.access).to.deep.include({ requester: 'alice', policy: 'shop', role: 'view', namespaces: ['shop'] });
  });

  it('have the time of an early end as the end of the access, also in the table for spreadsheets', async () => {
    const access = new AccessRequests(server);
    const byUser = await access.asked({ as: 'alice' });
    expect((await access.decide({ as: 'bob' }, byUser)).status).to.equal(200);
    expect((await access.end({ as: 'alice' }, byUser)).status).to.equal(200);
    const byPolicy = await access.asked({ as: 'alice' });
    expect((await access.decide({ as: 'bob' }, byPolicy)).status).to.equal(200);
    await server.kubernetes.remove(`${policiesPath}/shop`);
    await access.untilPhase(byPolicy, 'Ended');

    for (const request of [byUser, byPolicy]) {
      const filter = { event: 'AccessEnded', name: request.metadata.name };
      const [event] = await eventsOf(server.auditStore, filter, 1);
      const { ended } = (await access.stored(request)).status ?? {};
      expect(event?.access?.until).to.equal(ended);
      const csv = await server.request(`/auth/v1/audit/export?${new URLSearchParams({ ...filter, format: 'csv' })}`, { as: 'admin' });
      const [titles = '', cells = ''] = (await csv.text()).split('\r\n');
      expect(cells.split('","')[titles.split('","').indexOf('until')]).to.equal(ended);
    }
  });

  it('tell changes of a user at the user', async () => {
    const name = nameOf('alice@example.com');
    const filter = { resource: 'users', name };
    const before = (await server.auditStore.list(filter, { limit: 100 })).events.length;
    const patched = await server.request(`/auth/v1/users/${name}`, {
      method: 'PATCH',
      as: 'admin',
      body: { spec: { username: 'Alice' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    expect(patched.status).to.equal(200);
    const event = (await eventsOf(server.auditStore, filter, before + 1)).at(-1);
    expect(event).to.deep.include({ source: 'service', event: 'UserPatched', verb: 'patch', outcome: 'success' });
    expect(event?.user?.username).to.equal('admin');
  });
});

describe('events of writes that the service refuses', () => {
  const server = forSuite(aServer);
  const alice = nameOf('alice@example.com');
  before(() => applyKnown(server, aUser('alice@example.com', { subjectName: 'alice' }), aUser('bob@example.com', { subjectName: 'bob' })));
  let count = 0;
  const refused = async (method: string, path: string, body?: unknown) => {
    count += 1;
    const requestID = `refused-${count}`;
    const answer = await server.request(path, { method, as: 'bob', body, headers: { 'X-Request-Id': requestID } });
    expect(answer.status, await answer.text()).to.equal(403);
    return eventsOf(server.auditStore, { event: 'AccessDenied', requestID }, 1);
  };
  const ofUser = { apiGroup: 'auth.platform.io', resource: 'users', name: alice };

  it('name the right that the caller lacks, at its object', async () => {
    const [patch, ...others] = await refused('PATCH', `/auth/v1/users/${alice}`, { spec: { username: 'Mine' } });
    expect(others).to.deep.equal([]);
    expect(patch).to.deep.include({ source: 'service', verb: 'patch', objectRef: ofUser, outcome: 'failure', reason: 'Forbidden' });
    expect(patch?.responseStatus).to.deep.equal({ code: 403 });
    expect(patch?.user?.username).to.equal('bob');
    const [password] = await refused('PATCH', `/auth/v1/users/${alice}`, { spec: { password: 'Another-of-bob-1' } });
    expect(password).to.deep.include({ verb: 'update', objectRef: { ...ofUser, subresource: 'password' } });
    expect(JSON.stringify(password)).not.to.include('Another-of-bob-1');
    expect((await refused('DELETE', `/auth/v1/users/${alice}`))[0]).to.deep.include({ verb: 'delete', objectRef: ofUser });
    const members = await refused('POST', '/auth/v1/groups/dev/members', { names: [alice] });
    const ofGroup = { apiGroup: 'auth.platform.io', resource: 'groups', name: 'dev' };
    expect(members.map(({ verb, objectRef }) => ({ verb, objectRef }))).to.deep.equal([{ verb: 'patch', objectRef: ofGroup }]);
  });

  it('are one for each object of a deletion of several', async () => {
    const names = [alice, nameOf('bob@example.com')];
    const path = '/auth/v1/users';
    await server.request(path, { method: 'DELETE', as: 'bob', body: { names }, headers: { 'X-Request-Id': 'refused-bulk' } });
    const events = await eventsOf(server.auditStore, { event: 'AccessDenied', requestID: 'refused-bulk' }, 2);
    expect(events.map(({ verb, objectRef }) => [verb, objectRef.name]).sort()).to.deep.equal(names.map((name) => ['delete', name]).sort());
  });

  it('are not told for reads, and once for a request of access', async () => {
    const headers = { 'X-Request-Id': 'refused-read' };
    expect((await server.request(`/auth/v1/users/${alice}`, { as: 'bob', headers })).status).to.equal(403);
    await server.kubernetes.apply(aNamespace('shop'));
    const access = new AccessRequests(server);
    await access.apply(aPolicy('shop', { subjects: [user('alice')], approvers: [user('alice')] }));
    const request = await access.asked({ as: 'alice' });
    expect((await access.decide({ as: 'alice', headers: { 'X-Request-Id': 'refused-own' } }, request)).status).to.equal(403);
    const own = await eventsOf(server.auditStore, { requestID: 'refused-own' }, 1);
    expect(own.map(({ event }) => event)).to.deep.equal(['AccessRefused']);
    expect((await server.auditStore.list({ requestID: 'refused-read' }, { limit: 10 })).events).to.deep.equal([]);
  });
});

describe('events of a connection to a container', () => {
  const between = new ApiServerBetween();
  const server = forSuite(async () => {
    const auditStore = await SqliteStore.open(':memory:');
    const started = await startProxy(between, { auditStore });
    const stop = async () => {
      await started.stop();
      await auditStore.stop();
    };
    return { ...started, auditStore, stop };
  });
  afterEach(closeOpened);

  it('tell its begin, its command and its end with its bytes, in the session of the user', async () => {
    const upstream = echo(between);
    const browser = await logIn(server);
    const path = `${exec}&container=cart&tty=true&command=${'x'.repeat(1000)}`;
    const { status, socket } = await openUpgrade(server, { ...cookieOf(browser), Origin: server.url }, { path });
    expect(status).to.equal(101);
    await eventsOf(server.auditStore, { resource: 'pods' }, 1);
    socket?.write('four');
    await eventually(
      () => socket?.read()?.toString() ?? '',
      (text) => text.includes('echo'),
    );
    upstream[0]?.end();
    await closed(socket);

    const [begin, end] = await eventsOf(server.auditStore, { resource: 'pods' }, 2);
    const objectRef = { apiGroup: '', resource: 'pods', subresource: 'exec', namespace: 'default', name: 'x' };
    expect(begin).to.deep.include({
      source: 'door',
      stage: 'ResponseStarted',
      objectRef,
      responseStatus: { code: 101 },
      outcome: 'success',
    });
    expect(begin?.connection).to.deep.equal({ container: 'cart', command: ['id', 'x'.repeat(256)], tty: true });
    expect(end).to.deep.include({ source: 'door', stage: 'ResponseComplete', objectRef, requestID: begin?.requestID });
    expect(end?.connection?.bytesSent).to.equal(4);
    expect(end?.connection?.bytesReceived).to.be.greaterThan(4);
    expect(begin?.session).to.match(/^s-/);
    const logins = await eventsOf(server.auditStore, { event: 'LoginSucceeded', name: nameOf(email) }, 1);
    expect(logins[0]?.objectRef).to.deep.include({ resource: 'users', subresource: 'sessions' });
    expect(logins[0]?.session).to.equal(begin?.session);
  });
});
