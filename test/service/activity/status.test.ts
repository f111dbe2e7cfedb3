import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import type { StoreUsage } from '@atrium/audit-store/store.ts';
import { badRequest } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { type AuditStatus, auditStatus } from '../../../src/activity/schema.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer, type TestServer } from '../../support/server.ts';

async function withStore() {
  const auditStore = await SqliteStore.open(':memory:');
  const append = auditStore.append.bind(auditStore);
  let fault: Error | undefined;
  const usage: StoreUsage = { bytes: 95, maxBytes: 100, isNearlyFull: true, whenFull: 'refuse', oldest: '2026-01-12T10:00:00.000Z' };
  Object.assign(auditStore, { usage: async () => (fault === undefined ? { ...usage } : Promise.reject(fault)) });
  auditStore.append = async (events) => {
    if (fault !== undefined) throw fault;
    await append(events);
  };
  let aheadMs = 0;
  const server = await startServer({ auditStore, now: () => new Date(Date.now() + aheadMs) });
  return {
    ...server,
    /** Room of the store, which tests change. */
    usage,
    /** Reads the state as an administrator. */
    read: async () => auditStatus.parse(await (await server.request('/auth/v1/audit/status', { as: 'admin' })).json()),
    write: () => server.request('/api/kubernetes/api/v1/namespaces/default/pods/none', { method: 'DELETE', as: 'admin' }),
    /** Sets the clock of the service forward. */
    setAhead(milliseconds: number) {
      aheadMs = milliseconds;
    },
    /** Makes the store fail with an error, or answer again. */
    fail(error?: Error) {
      fault = error;
    },
    async stop() {
      fault = undefined;
      await server.stop();
      await auditStore.stop();
    },
  };
}

describe('GET /auth/v1/audit/status', () => {
  const server = forSuite(withStore);
  const read = () => server.read();
  const until = (isReached: (status: AuditStatus) => boolean) => eventually(read, isReached);

  it('is unknown before the first event, and refused without the right to list audits', async () => {
    expect(await read()).to.deep.include({ delivery: 'besteffort', store: 'Unknown', spool: 'Available', waiting: 0, lost: 0 });
    expect((await server.request('/auth/v1/audit/status', { as: 'viewer' })).status).to.equal(403);
    expect((await server.request('/auth/v1/audit/status')).status).to.equal(401);
  });

  it('tells that the store takes no events, why, and that it takes them again', async () => {
    server.fail(new Error('the disk is full'));
    await server.write();
    const failing = await until(({ store }) => store === 'Unavailable');
    expect(failing).to.include({ reason: 'the disk is full', lost: 0 });
    expect(failing.waiting).to.be.greaterThan(0);
    server.fail();
    expect(await until(({ store }) => store === 'Available')).to.not.have.property('reason');
  });

  it('counts events that are lost, and has the time of the last one for a day', async () => {
    server.fail(badRequest('refused'));
    await server.write();
    const { lost, lastLost = '' } = await until((status) => status.lost > 0);
    server.fail();
    expect(lost).to.be.greaterThan(0);
    expect(Number.isNaN(Date.parse(lastLost))).to.equal(false);
    server.setAhead(86_400_000);
    expect(await read())
      .to.include({ lost })
      .and.not.have.property('lastLost');
    server.setAhead(0);
  });

  it('tells the room of the store, and none while the store does not tell it', async () => {
    expect((await read()).usage).to.deep.equal(server.usage);
    server.fail(new Error('no answer'));
    expect(await read()).to.not.have.property('usage');
    server.fail();
  });
});

describe('ext.audit_alert of GET /api/v2/token/info', () => {
  const server = forSuite(withStore);
  const other = forSuite(() => startServer());
  const alertOf = async (as: Person, { request }: Pick<TestServer, 'request'> = server, version = 'v2') => {
    const answer = await request(`/api/${version}/token/info`, { as });
    expect(answer.status).to.equal(200);
    return ((await answer.json()) as { ext: { audit_alert?: unknown } }).ext.audit_alert;
  };

  it('is set for callers who may list audits while the store is nearly full', async () => {
    await eventually(
      () => alertOf('admin'),
      (alert) => alert === true,
    );
    expect(await alertOf('admin', server, 'v1')).to.equal(true);
    expect(await alertOf('viewer')).to.equal(undefined);
    expect(await alertOf('admin', other)).to.equal(undefined);
  });

  it('ends with the state', async () => {
    server.usage.isNearlyFull = false;
    await server.read();
    expect(await alertOf('admin')).to.equal(undefined);
  });

  it('is missing for a store that removes its oldest events', async () => {
    Object.assign(server.usage, { isNearlyFull: true, whenFull: 'removeOldest' });
    expect((await server.read()).usage).to.include({ isNearlyFull: true, whenFull: 'removeOldest' });
    expect(await alertOf('admin')).to.equal(undefined);
  });

  it('is set while the store takes no events', async () => {
    server.fail(new Error('the disk is full'));
    await server.write();
    await eventually(server.read, ({ store }) => store === 'Unavailable');
    expect(await alertOf('admin')).to.equal(true);
    expect(await alertOf('viewer')).to.equal(undefined);
    server.fail();
    await eventually(server.read, ({ store }) => store === 'Available');
    expect(await alertOf('admin')).to.equal(undefined);
  });

  it('sends no access review while the audit is kept', async () => {
    const answers = async () =>
      Number(/^atrium_cache_entries\{cache="access"\} (\d+)$/m.exec(await (await fetch(`${server.metricsURL}/metrics`)).text())?.[1]);
    const before = await answers();
    expect(before).to.be.greaterThan(0);
    expect(await alertOf('carol')).to.equal(undefined);
    expect(await answers()).to.be.at.most(before);
  });
});
