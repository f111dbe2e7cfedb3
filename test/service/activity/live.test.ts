import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant, isAllowed, revoke } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aRole } from '../access/objects.ts';
import { withAuditStore } from '../audit-store/installation.ts';
import { EventStream } from '../users/event-stream.ts';

const audits = { apiGroups: ['auth.platform.io'], resources: ['audits'], verbs: ['list'] };
const right = { verb: 'list', group: 'auth.platform.io', resource: 'audits' };
const accept = { Accept: 'text/event-stream' };

async function withStore() {
  const auditStore = await SqliteStore.open(':memory:');
  const server = await startServer({ auditStore, objects: [aRole('auditors', [audits])] });
  await grant(server.kubernetes, 'bob', 'auditors');
  await eventually(
    () => isAllowed(server.kubernetes, 'bob', right),
    (isIn) => isIn,
  );
  return {
    ...server,
    auditStore,
    async stop() {
      await server.stop();
      await auditStore.stop();
    },
  };
}

const anEvent = (number: number, parts: Partial<AuditEvent> = {}): AuditEvent => ({
  ...{ auditID: `e${number}`, cluster: 'local', source: 'door', verb: 'delete', user: { username: 'jo' }, sourceIPs: ['192.0.2.1'] },
  objectRef: { apiGroup: '', resource: 'pods', namespace: 'shop', name: `cart-${number}` },
  requestReceivedTimestamp: new Date(Date.UTC(2026, 0, 12, 10, 0, number)).toISOString(),
  outcome: 'success',
  ...parts,
});

const idsOf = ({ events }: EventStream) => events.flatMap(({ event, data }) => (event === 'ADDED' ? data.object.auditID : []));
const untilTold = (stream: EventStream, auditID: string) =>
  stream.until((events) => events.some(({ data }) => data.object.auditID === auditID));

describe('GET /auth/v1/audit?watch=true', () => {
  const server = forSuite(withStore);
  const leaving: AbortController[] = [];
  const ask = (as: Person, query: string, { headers = {}, at = server.url } = {}) => {
    const controller = new AbortController();
    leaving.push(controller);
    return server.request(`/auth/v1/audit?watch=true${query}`, { as, at, headers: { ...accept, ...headers }, signal: controller.signal });
  };
  const follow = async (...asked: Parameters<typeof ask>) => {
    const response = await ask(...asked);
    expect(response.status).to.equal(200);
    const stream = new EventStream(response);
    await stream.until((events) => events.length > 0);
    return stream;
  };
  afterEach(() => {
    for (const controller of leaving.splice(0)) controller.abort();
  });

  it('tells each event once, in the order of arrival: after the list, after an interruption, and at another replica', async () => {
    await server.auditStore.append([anEvent(1), anEvent(2)]);
    const listed = auditEventList.parse(await (await server.request('/auth/v1/audit?verb=delete', { as: 'bob' })).json());
    expect(listed.items.map(({ auditID }) => auditID)).to.deep.equal(['e2', 'e1']);
    await server.auditStore.append([anEvent(3)]);
    const first = await follow('bob', `&verb=delete&resourceVersion=${listed.metadata.resourceVersion}`);
    await server.auditStore.append([anEvent(5), anEvent(4), anEvent(6, { verb: 'get' })]);
    await untilTold(first, 'e4');
    const { lastEventID } = first;
    await server.auditStore.append([anEvent(7)]);
    await untilTold(first, 'e7');
    expect(idsOf(first)).to.deep.equal(['e3', 'e5', 'e4', 'e7']);

    const replica = await server.replica();
    const again = await follow('bob', '&verb=delete', { at: replica.url, headers: { 'Last-Event-ID': lastEventID } });
    await server.auditStore.append([anEvent(8)]);
    await untilTold(again, 'e8');
    expect(idsOf(again)).to.deep.equal(['e7', 'e8']);
  });

  it('begins now without a place', async () => {
    await server.auditStore.append([anEvent(10)]);
    const stream = await follow('bob', '&verb=delete');
    await server.auditStore.append([anEvent(11)]);
    await untilTold(stream, 'e11');
    expect(idsOf(stream)).to.deep.equal(['e11']);
  });

  it('tells users of their own actions and of actions on them, without the session of another user', async () => {
    const [own, hidden] = [await follow('alice', ''), await follow('alice', '&session=s-jo')];
    await server.auditStore.append([
      anEvent(20, { session: 's-jo', access: { requester: 'alice', policy: 'shop', role: 'ClusterRole/edit' } }),
      anEvent(21),
      anEvent(22, { user: { username: 'alice' }, session: 's-alice' }),
    ]);
    await untilTold(own, 'e22');
    expect(idsOf(own)).to.deep.equal(['e20', 'e22']);
    expect(JSON.stringify(own.events)).to.include('s-alice').and.not.include('s-jo').and.not.include('"e21"');
    const elsewhere = await follow('alice', '&session=s-alice&resourceVersion=1');
    await untilTold(elsewhere, 'e22');
    expect(idsOf(hidden)).to.deep.equal([]);
  });

  it('ends when the caller loses the right to list audits, and when a caller gets it', async () => {
    await grant(server.kubernetes, 'viewer', 'auditors');
    await eventually(
      () => isAllowed(server.kubernetes, 'viewer', right),
      (isIn) => isIn,
    );
    const all = await follow('viewer', '&verb=delete');
    await revoke(server.kubernetes, 'viewer', 'auditors');
    expect(await all.untilError()).to.equal(403);
    const own = await follow('viewer', '&verb=delete');
    await grant(server.kubernetes, 'viewer', 'auditors');
    expect(await own.untilError()).to.equal(410);
  });

  it('refuses places, headers and parameters that it cannot use', async () => {
    const code = async (query: string, headers = {}) => (await ask('bob', query, { headers })).status;
    expect(await code('', { Accept: 'application/json' })).to.equal(400);
    expect(await code('&continue=1.1')).to.equal(400);
    expect(await code('&resourceVersion=now')).to.equal(400);
    expect(await code('', { 'Last-Event-ID': 'x' })).to.equal(400);
    expect((await ask('alice', '&actor=bob')).status).to.equal(403);
    expect((await server.request('/auth/v1/audit?watch=true', { headers: accept })).status).to.equal(401);
    expect(await (await follow('bob', '&resourceVersion=999999')).untilError()).to.equal(410);
  });
});

describe('GET /auth/v1/audit?watch=true, with a store of its own', () => {
  const service = forSuite(async () => {
    const started = await withAuditStore();
    await started.startStore();
    return started;
  });
  const create = async (name: string) => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
    const path = '/api/kubernetes/api/v1/namespaces/default/configmaps';
    expect((await service.request(path, { method: 'POST', as: 'admin', body })).status).to.equal(201);
  };

  it('goes on once the store is back', async () => {
    const left = new AbortController();
    const path = '/auth/v1/audit?watch=true&resource=configmaps';
    const stream = new EventStream(await service.request(path, { as: 'admin', headers: accept, signal: left.signal }));
    const names = () =>
      stream.events.flatMap(({ event, data }) => (event === 'ADDED' ? JSON.stringify(data).match(/"name":"(\w+)"/)?.[1] : []));
    await create('first');
    await eventually(names, (told) => told.length === 1);
    await service.stopStore();
    await create('second');
    await service.startStore();
    expect(await eventually(names, (told) => told.length === 2)).to.deep.equal(['first', 'second']);
    left.abort();
    await stream.untilOver();
  });
});
