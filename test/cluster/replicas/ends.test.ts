/** Ends of access after the leader was killed: another replica makes them, before the Lease of the leader expires. */
import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import { z } from 'zod';
import { type AccessRequests, aPolicy, mergePatch, policiesPath, user } from '../../service/access-requests/support.ts';
import { aBinding, aNamespace, Bindings, bindingsPath } from '../../service/bindings/support.ts';
import { aUser } from '../../service/users/a-user.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { Installation } from './installation.ts';
import type { Replica } from './replica.ts';

const leaseSpec = z.object({ spec: z.object({ holderIdentity: z.string(), renewTime: z.string() }) });

describe('access whose end comes after the leader was killed by SIGKILL', () => {
  let service: Installation;
  let bindings: Bindings;
  let access: AccessRequests;

  before(async () => {
    service = await Installation.start({ features: { accessRequests: true } });
    const { admin } = service;
    bindings = new Bindings(admin);
    access = service.accessRequests();
    await admin.apply(aNamespace('shop'), ...['alice', 'bob'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
  });
  after(() => service?.stop());
  afterEach(async () => {
    if (service.replicas.length < 2) await service.startReplica();
  });

  const leaseOf = async (name: string) =>
    leaseSpec.parse((await service.admin.call('GET', `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases/${name}`)).body)
      .spec;
  const hasLed = async (replica: Replica, lease: string) => (await replica.log()).includes(`"lease":"${lease}","msg":"elected leader"`);

  /** Kills the leader. @returns the other replica, and the Lease that the leader has left */
  async function killLeader(lease: string): Promise<{ survivor: Replica; left: z.output<typeof leaseSpec>['spec'] }> {
    const [one, other] = service.replicas;
    if (one === undefined || other === undefined) throw new Error('there are not two replicas');
    const [leader, survivor] = (await hasLed(one, lease)) ? [one, other] : [other, one];
    expect([await hasLed(leader, lease), await hasLed(survivor, lease)], lease).to.deep.equal([true, false]);
    await service.killReplica(leader);
    return { survivor, left: await leaseOf(lease) };
  }

  /** Waits until the RBAC of a UserBinding is gone, and checks which replica deleted it. */
  async function isEndedBy(survivor: Replica, { name, lease, left }: { name: string; lease: string; left: object }): Promise<void> {
    await bindings.untilBound(name, []);
    expect(await leaseOf(lease), 'the Lease of the killed leader').to.deep.equal(left);
    const deletions = async () =>
      (await survivor.log()).split('\n').filter((line) => line.includes(name) && line.includes('in place of the leader'));
    // The replica lists the RoleBindings of all namespaces between its deletion of the ClusterRoleBinding and the line of its log.
    expect(await eventually(deletions, ({ length }) => length > 0)).to.have.lengthOf(1);
    expect(await hasLed(survivor, lease)).to.equal(false);
  }

  it('ends a UserBinding at its time', async () => {
    const lease = 'atrium-user-bindings';
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
    await service.admin.apply(aBinding('short', { expiresAt: inAnHour }), aBinding('long', { expiresAt: inAnHour }));
    for (const name of ['short', 'long']) await bindings.until(name, 'Synced');
    const { survivor, left } = await killLeader(lease);
    const expiresAt = new Date(Date.now() + 1000).toISOString().replace(/\.\d+Z$/, 'Z');
    expect((await service.admin.call('PATCH', `${bindingsPath}/short`, { spec: { expiresAt } }, mergePatch)).status).to.equal(200);

    await isEndedBy(survivor, { name: 'short', lease, left });
    expect(await bindings.bound('long')).to.deep.equal(['User jane']);
    await bindings.until('short', 'Expired');
  });

  it('ends the access of a request whose policy is deleted', async () => {
    const lease = 'atrium-access-requests';
    await service.admin.apply(aPolicy('shop', { subjects: [user('alice')], approvers: [user('bob')] }));
    await eventually(
      () => service.admin.call('GET', `${policiesPath}/shop`),
      ({ body }) => JSON.stringify(body).includes('"type":"Ready"'),
    );
    const request = await eventually(
      () => access.ask({ as: 'alice' }),
      ({ status }) => status === 201,
    );
    const name = `ar-${request.body.metadata.uid}`;
    await eventually(
      () => access.decide({ as: 'bob' }, request.body),
      ({ status }) => status === 200,
    );
    await bindings.untilBound(name, ['User alice in shop']);
    const { survivor, left } = await killLeader(lease);
    await service.admin.remove(`${policiesPath}/shop`);

    await isEndedBy(survivor, { name, lease, left });
    const { status } = await access.untilPhase(request.body, 'Ended');
    expect(status).to.include({ reason: 'PolicyChanged' });
  });
});
