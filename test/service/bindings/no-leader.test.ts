/** Ends of UserBindings while no replica leads, as after a leader was killed. */
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { holdLeases } from '../../support/held-leases.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, Bindings, bindingsPath } from './support.ts';

const merge = { 'content-type': 'application/merge-patch+json' };
const hourMs = 3_600_000;
const inAnHour = `${new Date(Date.now() + hourMs).toISOString().slice(0, 19)}Z`;
const inTwoHours = `${new Date(Date.now() + 2 * hourMs).toISOString().slice(0, 19)}Z`;
const inNamespaces = { scope: 'namespace', constraint: [{ namespace: 'one' }, { namespace: 'two' }] };

describe('UserBindings while no replica leads', () => {
  let aheadMs = 0;
  let pokes = 0;
  const server = forSuite(() => startServer({ now: () => new Date(Date.now() + aheadMs) }));
  let bindings: Bindings;
  let stopHolding = async () => {};
  /** Wakes the queues, which wait for the clock. */
  const poke = async () => {
    pokes += 1;
    await server.kubernetes.apply(aBinding(`poke-${pokes}`, { expiresAt: inTwoHours }));
  };

  before(async () => {
    bindings = new Bindings(server.kubernetes);
    await server.kubernetes.apply(aNamespace('one'), aNamespace('two'));
    await server.kubernetes.apply(
      aBinding('ends', { expiresAt: inAnHour }),
      aBinding('ends-in-namespaces', { ...inNamespaces, expiresAt: inAnHour }),
      aBinding('put-off', { expiresAt: inAnHour }),
      aBinding('later', { expiresAt: inTwoHours }),
      aBinding('endless'),
      aBinding('deleted', inNamespaces),
    );
    for (const name of ['ends', 'ends-in-namespaces', 'put-off', 'later', 'endless', 'deleted']) await bindings.until(name, 'Synced');
    await server.stopFirst();
    stopHolding = await holdLeases(server.kubernetes, 'atrium-user-bindings');
    await server.replica();
  });
  after(() => stopHolding());

  it('end at their time at every replica, and others stay', async () => {
    await server.kubernetes.call('PATCH', `${bindingsPath}/put-off`, { spec: { expiresAt: inTwoHours } }, merge);
    aheadMs = hourMs + 10_000;
    await poke();
    await bindings.untilBound('ends', []);
    await bindings.untilBound('ends-in-namespaces', []);
    for (const name of ['put-off', 'later', 'endless']) expect(await bindings.bound(name)).to.deep.equal(['User jane']);
    // The status is that of the last leader: none has ended them.
    expect((await bindings.read('ends'))?.status?.phase).to.equal('Synced');
  });

  it('end when they are deleted, and wait for a leader to be gone', async () => {
    expect((await server.kubernetes.call('DELETE', `${bindingsPath}/deleted`)).status).to.equal(200);
    await eventually(
      async () => {
        await poke();
        return bindings.bound('deleted');
      },
      (bound) => bound.length === 0,
    );
    expect((await bindings.read('deleted'))?.metadata.finalizers).to.deep.equal(['auth.platform.io/userbinding']);
    await stopHolding();
    await bindings.untilGone('deleted');
    await bindings.until('ends', 'Expired');
    await bindings.untilBound('put-off', ['User jane']);
  });
});
