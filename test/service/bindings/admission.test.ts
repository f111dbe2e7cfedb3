/** Accounts that may change a UserBinding with kubectl, on the embedded cluster and, with TEST_CLUSTER=real, on an API server. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { apiServer } from '../../support/api-server.ts';
import { clientOf } from '../../support/client-of.ts';
import { type ClusterAdmin, eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aBinding, Bindings, bindingsPath, grantBinding } from './support.ts';

const merge = { 'content-type': 'application/merge-patch+json' };

describe('the admission policy of UserBindings', () => {
  const cluster = forSuite(() => apiServer());
  const admin = clientOf(cluster, 'admin');
  /** May write all UserBindings, and bind `view`. */
  const manager = clientOf(cluster, 'manager');
  /** May write all UserBindings, and bind no role. */
  const alice = clientOf(cluster, 'alice');

  before(async () => {
    await admin.install();
    await grantBinding(admin, ['view']);
    for (const client of [manager, alice])
      await eventually(
        () => client.call('GET', bindingsPath),
        ({ status }) => status === 200,
      );
  });

  it('REC-11 lets a user without the right to bind shorten the time of a role, and not extend it', async () => {
    const change = async (by: ClusterAdmin, spec: object) => (await by.call('PATCH', `${bindingsPath}/term`, { spec }, merge)).status;
    await admin.apply(aBinding('term', { notBefore: '2030-06-01T00:00:00Z', expiresAt: '2031-06-01T00:00:00Z' }));

    expect(await change(alice, { expiresAt: '2031-05-01T00:00:00Z' })).to.equal(200);
    expect(await change(alice, { notBefore: '2030-07-01T00:00:00Z' })).to.equal(200);
    // The text sorts before the current one, and the time is later.
    expect(await change(alice, { expiresAt: '2031-04-30T23:00:00-14:00' })).to.equal(403);
    expect(await change(alice, { expiresAt: '2031-06-01T00:00:00Z' })).to.equal(403);
    expect(await change(alice, { expiresAt: null })).to.equal(403);
    expect(await change(alice, { notBefore: '2030-07-01T00:00:01+01:00' })).to.equal(403);
    expect(await change(alice, { notBefore: null })).to.equal(403);
    const kept = await new Bindings(admin).read('term');
    expect(kept?.spec).to.include({ notBefore: '2030-07-01T00:00:00Z', expiresAt: '2031-05-01T00:00:00Z' });
    expect(await change(manager, { notBefore: null, expiresAt: '2040-01-01T00:00:00Z' })).to.equal(200);
  });

  it('lets a user without that right add an expiry', async () => {
    await admin.apply(aBinding('endless'));
    const path = `${bindingsPath}/endless`;
    expect((await alice.call('PATCH', path, { spec: { expiresAt: '2030-01-01T00:00:00Z' } }, merge)).status).to.equal(200);
    expect((await alice.call('PATCH', path, { spec: { expiresAt: null } }, merge)).status).to.equal(403);
  });
});
