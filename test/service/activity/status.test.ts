import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { badRequest } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { type AuditStatus, auditStatus } from '../../../src/activity/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';

async function withStore() {
  const auditStore = await SqliteStore.open(':memory:');
  const append = auditStore.append.bind(auditStore);
  let fault: Error | undefined;
  const usage = {
    ...({ bytes: 95, maxBytes: 100, isNearlyFull: true, whenFull: 'refuse' } as const),
    oldest: '2026-01-12T10:00:00.000Z',
  };
  Object.assign(auditStore, { usage: async () => (fault === undefined ? usage : Promise.reject(fault)) });
  auditStore.append = async (events) => {
    if (fault !== undefined) throw fault;
    await append(events);
  };
  const server = await startServer({ auditStore });
  return {
    ...server,
    usage,
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
  const write = () => server.request('/api/kubernetes/api/v1/namespaces/default/pods/none', { method: 'DELETE', as: 'admin' });
  const read = async () => auditStatus.parse(await (await server.request('/auth/v1/audit/status', { as: 'admin' })).json());
  const until = (isReached: (status: AuditStatus) => boolean) => eventually(read, isReached);

  it('is unknown before the first event, and refused without the right to list audits', async () => {
    expect(await read()).to.deep.include({ delivery: 'besteffort', store: 'Unknown', spool: 'Available', waiting: 0, lost: 0 });
    expect((await server.request('/auth/v1/audit/status', { as: 'viewer' })).status).to.equal(403);
    expect((await server.request('/auth/v1/audit/status')).status).to.equal(401);
  });

  it('tells that the store takes no events, why, and that it takes them again', async () => {
    server.fail(new Error('the disk is full'));
    await write();
    const failing = await until(({ store }) => store === 'Unavailable');
    expect(failing).to.include({ reason: 'the disk is full', lost: 0 });
    expect(failing.waiting).to.be.greaterThan(0);
    server.fail();
    expect(await until(({ store }) => store === 'Available')).to.not.have.property('reason');
  });

  it('counts events that are lost, and has the time of the last one', async () => {
    server.fail(badRequest('refused'));
    await write();
    const { lost, lastLost = '' } = await until((status) => status.lost > 0);
    server.fail();
    expect(lost).to.be.greaterThan(0);
    expect(Number.isNaN(Date.parse(lastLost))).to.equal(false);
  });

  it('tells the room of the store, and none while the store does not tell it', async () => {
    expect((await read()).usage).to.deep.equal(server.usage);
    server.fail(new Error('no answer'));
    expect(await read()).to.not.have.property('usage');
    server.fail();
  });
});
