import type { StoreUsage } from '@atrium/audit-store/store.ts';
import { expect } from 'chai';
import { auditStatus } from '../../../src/activity/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { withAuditStore } from './installation.ts';

const batchSize = 200;

/** Starts a store of 1 MiB. */
async function aSmallStore(whenFull: 'removeOldest' | 'refuse', retention = {}) {
  const service = await withAuditStore(
    { config: { audit: { checkpointInterval: '1s' } } },
    { retention: { maxSize: '1MiB', whenFull, ...retention } },
  );
  await service.startStore();
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${await service.accountToken('atrium-audit-store')}` };
  const ask = (path: string, body: object) => fetch(`${service.storeURL}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  let count = 0;
  return {
    ...service,
    ask,
    /** Appends a batch. */
    async append() {
      const events = Array.from({ length: batchSize }, () => {
        count += 1;
        return {
          ...{ auditID: `e${count}`, cluster: 'local', source: 'door', verb: 'get', sourceIPs: [], outcome: 'success' },
          ...{ objectRef: { apiGroup: '', resource: 'widgets' }, userAgent: 'x'.repeat(200) },
          requestReceivedTimestamp: new Date(1_700_000_000_000 + count).toISOString(),
        };
      });
      return ask('/v1/events', { events });
    },
    async metric(name: string) {
      const text = await (await fetch(`${service.storeMetricsURL()}/metrics`)).text();
      return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
    },
    readiness: async () => (await fetch(`${service.storeMetricsURL()}/readyz?verbose`)).text(),
  };
}

describe('a store at its size', () => {
  const removing = forSuite(() => aSmallStore('removeOldest'));
  const refusing = forSuite(() => aSmallStore('refuse'));
  const withRecordings = forSuite(() => aSmallStore('removeOldest', { maxRecordingsSize: '1KiB' }));

  it('removes its oldest events, and takes further ones', async () => {
    for (let batch = 0; batch < 15; batch += 1) expect((await removing.append()).status).to.equal(204);
    await eventually(
      () => removing.metric('atrium_audit_store_removed_total'),
      (removed) => removed > 0,
    );
    await eventually(
      () => removing.metric('atrium_audit_store_bytes'),
      (bytes) => bytes <= 1024 * 1024,
    );
    expect(await removing.metric('atrium_audit_store_max_bytes')).to.equal(1024 * 1024);
    const answer = await removing.ask('/v1/queries', { filter: { resource: 'widgets' }, limit: 1 });
    expect(((await answer.json()) as { events: { auditID: string }[] }).events.map(({ auditID }) => auditID)).to.deep.equal(['e3000']);
    expect(await removing.readiness()).to.include('[+]size ok');
  });

  it('refuses further events with whenFull: refuse, and tells the reason', async () => {
    let answer = await refusing.append();
    for (let batch = 1; batch < 15 && answer.status === 204; batch += 1) answer = await refusing.append();
    expect([answer.status, ((await answer.json()) as { message: string }).message]).to.deep.equal([
      503,
      'the audit store is not available, try again',
    ]);
    expect(await refusing.readiness()).to.match(
      /^\[-\]size failed \(not critical\): \d+ of 1048576 bytes are used; at the bound events are refused/m,
    );
    expect(await refusing.metric('atrium_audit_store_removed_total')).to.equal(0);
    const page = await refusing.ask('/v1/queries', { filter: { resource: 'widgets' }, limit: 1 });
    expect(page.status).to.equal(200);
  });

  it('tells its bytes, their bound, what happens there, and the oldest event', async () => {
    const { usage } = (await (await refusing.ask('/v1/usage', {})).json()) as { usage: StoreUsage };
    expect(usage).to.include({ maxBytes: 1024 * 1024, isNearlyFull: true, whenFull: 'refuse' });
    expect(usage.bytes).to.be.at.least(1024 * 1024);
    const status = await eventually(
      async () => auditStatus.parse(await (await removing.request('/auth/v1/audit/status', { as: 'admin' })).json()),
      ({ store }) => store !== 'Unavailable',
    );
    expect(status.usage).to.include({ maxBytes: 1024 * 1024, whenFull: 'removeOldest' });
    expect(status.usage?.bytes).to.be.greaterThan(0);
    expect(Date.parse(status.usage?.oldest ?? '')).to.be.greaterThan(1_700_000_000_001);
  });

  it('removes the oldest recordings beyond their bound', async () => {
    for (const [hour, id] of ['r1', 'r2'].entries()) {
      const recording = {
        ...{ id, cluster: 'local', user: { username: 'alice' }, objectRef: { namespace: 'shop', name: 'cart-0', subresource: 'exec' } },
        ...{ mode: 'besteffort', startedAt: `2026-11-29T1${hour}:00:00.000Z`, width: 80, height: 24, seconds: 1, bytes: 900, lostBytes: 0 },
      };
      const step = { recording, isNew: true, part: { number: 1, lines: Buffer.alloc(900).toString('base64') } };
      expect((await (await withRecordings.ask('/v1/recordings', step)).json()) as object).to.deep.equal({ isDone: true });
    }
    const ids = async () => {
      const answer = await withRecordings.ask('/v1/recordings/list', { filter: {}, limit: 10 });
      return ((await answer.json()) as { recordings: { id: string }[] }).recordings.map(({ id }) => id);
    };
    expect(await eventually(ids, (kept) => kept.length < 2)).to.deep.equal(['r2']);
    const expired = await withRecordings.ask('/v1/queries', { filter: { event: 'RecordingExpired' }, limit: 10 });
    const { events } = (await expired.json()) as { events: { objectRef: object; reason: string; shell: object }[] };
    expect(events.map(({ objectRef, reason, shell }) => ({ ...objectRef, reason, ...shell }))).to.deep.equal([
      { apiGroup: 'auth.platform.io', resource: 'recordings', namespace: 'shop', name: 'r1', reason: 'Size', user: 'alice', pod: 'cart-0' },
    ]);
    expect((await withRecordings.append()).status).to.equal(204);
  });
});
