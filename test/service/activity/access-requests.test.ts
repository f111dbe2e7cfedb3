/** Access requests in the events of the door. */
import { randomUUID } from 'node:crypto';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { AccessRequests, aPolicy, type Request, user } from '../access-requests/support.ts';
import { aNamespace, applyKnown } from '../bindings/support.ts';
import { aUser } from '../users/a-user.ts';

describe('events of the door and access requests', () => {
  const server = forSuite(async () => {
    const auditStore = await SqliteStore.open(':memory:');
    const started = await startServer({ auditStore, config: { features: { accessRequests: true } } });
    const stop = async () => {
      await started.stop();
      await auditStore.stop();
    };
    return { ...started, auditStore, stop };
  });
  let access: AccessRequests;
  let request: Request;

  /** Deletes a ConfigMap at the door, and returns the status and the event. */
  const deleted = async (as: Person, namespace: string) => {
    const id = randomUUID();
    const path = `/api/kubernetes/api/v1/namespaces/${namespace}/configmaps/none`;
    const { status } = await server.request(path, { method: 'DELETE', as, headers: { 'x-request-id': id } });
    const { events } = await eventually(
      () => server.auditStore.list({ requestID: id }, { limit: 1 }),
      (page) => page.events.length === 1,
    );
    return [status, events[0]?.accessRequests];
  };
  const phaseIs = (phase: string) =>
    eventually(
      () => access.call('GET', `/auth/v1/accessrequests/${request.metadata.name}`, { as: 'alice' }),
      ({ body }) => body.status?.phase === phase,
    );

  before(async () => {
    await server.kubernetes.apply(aNamespace('shop'), aNamespace('other'));
    await applyKnown(server, ...['alice', 'bob'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
    access = new AccessRequests(server);
    await access.apply(aPolicy('shop', { subjects: [user('alice')], approvers: [user('bob')], roleRefs: ['edit'] }));
    request = await access.asked({ as: 'alice' }, { roleRef: 'edit' });
  });

  it('name no request that is not approved', async () => {
    expect(await deleted('alice', 'shop')).to.deep.equal([403, undefined]);
  });

  it('name the request that gives the caller a role in the namespace', async () => {
    expect((await access.decide({ as: 'bob' }, request)).status).to.equal(200);
    await phaseIs('Active');
    const { name } = request.metadata;
    await eventually(
      () => deleted('alice', 'shop'),
      ([status]) => status === 404,
    );

    expect(await deleted('alice', 'shop')).to.deep.equal([404, [name]]);
    expect(await deleted('alice', 'other')).to.deep.equal([403, undefined]);
    expect(await deleted('admin', 'shop')).to.deep.equal([404, undefined]);
  });

  it('name no request that has ended', async () => {
    expect((await access.end({ as: 'alice' }, request)).status).to.equal(200);
    await phaseIs('Ended');
    expect(await deleted('alice', 'shop')).to.deep.equal([403, undefined]);
  });
});
