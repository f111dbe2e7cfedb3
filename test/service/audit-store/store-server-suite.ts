import { gzipSync } from 'node:zlib';
import { verifyChain } from '@atrium/audit-store/chain.ts';
import type { Recording } from '@atrium/audit-store/recording.ts';
import { auditPage, chainPart } from '@atrium/audit-store/store.ts';
import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import { RemoteStore } from '../../../src/audit/remote-store.ts';
import { checkpointList } from '../../../src/audit-chain/schema.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { withAuditStore } from './installation.ts';

const configMaps = '/api/kubernetes/api/v1/namespaces/default/configmaps';

/** Tests that hold on each database. */
export function itKeepsEventsOfReplicas(databaseSettings: () => Promise<object> = async () => ({})): void {
  const service = forSuite(async () => withAuditStore({}, await databaseSettings()));
  const names = async () => {
    const response = await service.request('/auth/v1/audit?resource=configmaps', { as: 'admin' });
    expect(response.status).to.equal(200);
    return auditEventList.parse(await response.json()).items.map(({ objectRef }) => objectRef.name);
  };
  const create = async (name: string) => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
    expect((await service.request(configMaps, { method: 'POST', as: 'admin', body })).status).to.equal(201);
  };
  const metric = async (name: string) =>
    new RegExp(`^${name} (.*)$`, 'm').exec(await (await fetch(`${service.metricsURL}/metrics`)).text())?.[1];
  const check = async () => /^\[.\]auditStore .*$/m.exec(await (await fetch(`${service.metricsURL}/readyz?verbose`)).text())?.[0];

  it('wait at the replica while the store is away, which a check, a metric and the query tell', async () => {
    await create('first');
    const shown = await eventually(check, (line) => line !== '[+]auditStore ok');
    expect(shown).to.include('[-]auditStore failed (not critical): connect ECONNREFUSED');
    expect(await metric('atrium_audit_events_waiting')).to.equal('1');
    const query = await service.request('/auth/v1/audit', { as: 'admin' });
    expect([query.status, ((await query.json()) as { message: string }).message]).to.deep.equal([
      503,
      'the audit store is not available, try again',
    ]);
  });

  it('arrive once it is back, in their order, and none is lost', async () => {
    await create('second');
    await service.startStore();
    expect(await eventually(names, (found) => found.length === 2)).to.deep.equal(['second', 'first']);
    expect(await eventually(check, (line) => line === '[+]auditStore ok')).to.equal('[+]auditStore ok');
    expect(await metric('atrium_audit_events_lost_total')).to.equal('0');
    expect(service.logLines.filter((line) => line.includes('"msg":"audit store is not available"'))).to.have.length(1);
  });

  it('are counted at the store, too', async () => {
    const response = await service.request('/auth/v1/audit/counts?by=verb', { as: 'admin' });
    expect(response.status).to.equal(200);
  });

  it('are still there after a restart of the store', async () => {
    await service.stopStore();
    await service.startStore();
    expect(await eventually(names, (found) => found.length === 2)).to.deep.equal(['second', 'first']);
  });
}

/** Tests of the end of events that hold on each database. */
export function itRemovesExpiredEvents(databaseSettings: () => Promise<object> = async () => ({})): void {
  const retention = { age: '720h', maxEvents: 3 };
  const service = forSuite(async () =>
    withAuditStore({ config: { audit: { checkpointInterval: '1s' } } }, { ...(await databaseSettings()), retention }),
  );
  const ask = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${await service.accountToken('atrium-audit-store')}` };
    return fetch(`${service.storeURL}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  };
  /** Asks the store itself: a question to the service would be an event of its own. */
  const query = async () => {
    const response = await ask('/v1/queries', { filter: { resource: 'widgets' }, limit: 10 });
    return auditPage.parse(await response.json()).events.map(({ auditID }) => auditID);
  };
  const append = async (...events: [auditID: string, daysOld: number][]) => {
    const parts = { cluster: 'local', source: 'door', verb: 'get', sourceIPs: [], outcome: 'success' };
    const body = events.map(([auditID, days]) => ({
      ...{ ...parts, auditID, objectRef: { apiGroup: '', resource: 'widgets' } },
      requestReceivedTimestamp: new Date(Date.now() - days * 86_400_000).toISOString(),
    }));
    const answer = await ask('/v1/events', { events: body });
    expect(answer.status).to.equal(204);
  };

  it('removes events above the configured age and number after a checkpoint is kept, and tells how many', async () => {
    await service.startStore();
    await append(['old-1', 40], ['old-2', 31], ['kept-1', 29], ['kept-2', 0]);
    expect(await eventually(query, (found) => found.length === 2)).to.deep.equal(['kept-2', 'kept-1']);
    const removed = async () =>
      /^atrium_audit_store_removed_total (.*)$/m.exec(await (await fetch(`${service.storeMetricsURL()}/metrics`)).text())?.[1];
    expect(await eventually(removed, (count) => count !== '0')).to.equal('2');
    await append(['kept-3', 0], ['kept-4', 0]);
    expect(await eventually(query, (found) => !found.includes('kept-2'))).to.deep.equal(['kept-4', 'kept-3']);
    const told = auditPage.parse(await (await ask('/v1/queries', { filter: { event: 'AuditExpired' }, limit: 10 })).json());
    expect(told.events.map(({ verb, objectRef, reason }) => [verb, objectRef.resource, objectRef.name, reason])).to.deep.equal([
      ['delete', 'audits', '3-4', 'Number'],
      ['delete', 'audits', '1-2', 'Age'],
    ]);
    const { items } = checkpointList.parse(await (await service.request('/auth/v1/audit/checkpoints', { as: 'admin' })).json());
    expect(items.at(-1)?.removed?.sequence).to.equal(4);
    const chain = await ask('/v1/chain', { after: 0, limit: 100 });
    const { events, newest = 0 } = chainPart.parse(await chain.json());
    expect(events[0]?.sequence).to.equal(5);
    expect((await verifyChain(events, items, { sequence: newest })).gap).to.equal(undefined);
    await service.stopStore();
    expect(service.storeLines.filter((line) => line.includes('"msg":"expired audit events were removed"'))).to.have.length(2);
  });
}

/** Tests of the paths of the store that hold on each database. */
export function itServesStoreCalls(databaseSettings: () => Promise<object> = async () => ({})): void {
  const service = forSuite(async () => {
    const started = await withAuditStore({}, await databaseSettings());
    await started.startStore();
    return started;
  });
  const ask = async (token: string | undefined, path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    return fetch(`${service.storeURL}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  };
  const query = { filter: {}, limit: 10 };
  const event = {
    auditID: 'a1',
    cluster: 'local',
    source: 'door',
    verb: 'delete',
    user: { username: 'ada' },
    sourceIPs: [],
    userAgent: 'kubectl',
    objectRef: { apiGroup: '', resource: 'pods', namespace: 'shop', name: 'cart-0' },
    requestReceivedTimestamp: '2026-01-12T10:00:00.000Z',
    milliseconds: 8,
    outcome: 'success',
    responseStatus: { code: 200 },
    requestID: 'r1',
  };
  const recording = {
    ...{ id: 'r1', cluster: 'local', user: { username: 'ada' }, mode: 'required', startedAt: '2026-01-12T10:00:00.000Z' },
    objectRef: { namespace: 'shop', name: 'cart-0', subresource: 'exec' },
    ...{ seconds: 0, width: 80, height: 24, bytes: 0, lostBytes: 0 },
  };
  const paths = {
    '/v1/events': { events: [event] },
    '/v1/queries': query,
    '/v1/counts': { filter: {}, by: 'verb' },
    '/v1/chain': { after: 0, limit: 1 },
    '/v1/checkpoints': { kept: [] },
    '/v1/usage': {},
    '/v1/recordings': { recording, isNew: true },
    '/v1/recordings/list': { filter: {}, limit: 1 },
    '/v1/recordings/get': { id: 'r1' },
    '/v1/recordings/read': { id: 'r1', after: 0 },
    '/v1/recordings/delete': { id: 'r1' },
  };

  it('refuses callers without a token of the service account for the store, on every path', async () => {
    await service.kubernetes.apply({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'stranger', namespace: serviceNamespace },
    });
    const refused: [string | undefined, number][] = [
      [undefined, 401],
      ['guessed', 401],
      [await service.accountToken(undefined), 401],
      [await service.accountToken('other'), 401],
      [await service.accountToken('atrium-audit-store', 'stranger'), 403],
    ];
    for (const [path, body] of Object.entries(paths))
      for (const [token, code] of refused) {
        const response = await ask(token, path, body);
        expect([response.status, ((await response.json()) as { kind: string }).kind], path).to.deep.equal([code, 'Status']);
      }
    const { events } = (await (await ask(await service.accountToken('atrium-audit-store'), '/v1/queries', query)).json()) as { events: [] };
    expect(events).to.deep.equal([]);
  });

  it('keeps a batch that is sent twice once, with members of a newer replica', async () => {
    const token = await service.accountToken('atrium-audit-store');
    for (let sent = 0; sent < 2; sent += 1)
      expect((await ask(token, '/v1/events', { events: [{ ...event, added: 'later' }] })).status).to.equal(204);
    const { events } = (await (await ask(token, '/v1/queries', query)).json()) as { events: unknown[] };
    expect(events).to.deep.equal([event]);
  });

  it('keeps, lists, reads and deletes a recording for a replica', async () => {
    const remote = new RemoteStore({ url: service.storeURL, tokenFile: service.tokenFile });
    try {
      const kept = { ...recording, bytes: 3 } as Recording;
      const part = { number: 1, lines: gzipSync('one').toString('base64') };
      expect(await remote.recordings.keep({ recording: kept, isNew: true })).to.equal(true);
      expect(await remote.recordings.keep({ recording: kept, isNew: false, part })).to.equal(true);
      expect(await remote.recordings.list({ actor: 'ada' }, { limit: 10 })).to.deep.equal({ recordings: [kept] });
      expect([await remote.recordings.get('r1'), await remote.recordings.read('r1', 0)]).to.deep.equal([kept, [part]]);
      expect([await remote.recordings.delete('r1'), await remote.recordings.delete('r1')]).to.deep.equal([true, false]);
      expect(await remote.recordings.get('r1')).to.equal(undefined);
      expect(await remote.recordings.keep({ recording: kept, isNew: false })).to.equal(false);
    } finally {
      await remote.stop();
    }
  });

  it('refuses a condition that it does not know, a batch above its bound and a body above its bound', async () => {
    const token = await service.accountToken('atrium-audit-store');
    const unknown = await ask(token, '/v1/queries', { filter: { colour: 'red' }, limit: 1 });
    expect([unknown.status, JSON.stringify(await unknown.json())]).to.satisfy(
      ([code, text]: [number, string]) => code === 400 && text.includes('filter.colour'),
    );
    expect((await ask(token, '/v1/events', { events: Array.from({ length: 201 }, () => event) })).status).to.equal(400);
    expect((await ask(token, '/v1/events', { events: [{ ...event, userAgent: 'x'.repeat(5_000_000) }] })).status).to.equal(413);
  });

  it('has probes and metrics on its second port', async () => {
    const ready = await (await fetch(`${service.storeMetricsURL()}/readyz?verbose`)).text();
    expect(ready).to.include('[+]store ok').and.to.include('[+]kubernetes ok');
    expect(await (await fetch(`${service.storeMetricsURL()}/metrics`)).text()).to.include(
      'atrium_audit_store_events_total{outcome="stored"} 2',
    );
  });
}
