import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { FaultProxy } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant, isAllowed } from '../../support/grants.ts';
import { type Journey, replaceEachCall } from '../../support/proxy-pages.ts';
import { startServer } from '../../support/server.ts';
import { bindingsPath } from '../bindings/support.ts';
import { aGroup, ask, groups, mayImpersonate, memberNamesOf, nativeGroups, untilActsAs, whenSeen } from '../groups/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { type AccessRequests, aliceAsksBob, type Request, requestsPath } from './support.ts';

const carl = nameOf('carl@example.com');
const pods = { verb: 'list', group: '', resource: 'pods', namespace: 'shop' };

/** Calls of the controllers of access requests and bindings. */
const controllers = /rolebindings|userbindings\/\*\/status|PATCH userbindings/;

describe('a page of a proxy in place of each call to the API server, about access', () => {
  let faults: FaultProxy;
  let access: AccessRequests;
  const server = forSuite(() =>
    startServer({
      config: { features: { accessRequests: true } },
      objects: [aUser('carl@example.com')],
      async between({ url, certificateAuthority, serving }) {
        faults = await FaultProxy.start({ target: url, certificateAuthority, serving });
        return faults;
      },
    }),
  );

  before(async () => {
    access = await aliceAsksBob(server);
    await grant(server.kubernetes, 'alice', 'atrium-users-admin');
    await server.kubernetes.apply(...mayImpersonate('alice', 'crew'));
    await untilActsAs(server, 'alice', 'crew');
  });
  const journeys = <T>(journey: Journey<T>) => replaceEachCall(faults, journey);

  /** Returns the open requests, as they are in the cluster. */
  async function openRequests(): Promise<Request[]> {
    const { items } = (await server.kubernetes.call('GET', requestsPath)).body as { items: Request[] };
    return items.filter(({ status }) => ['Pending', 'Approving', 'Active', undefined].includes(status?.phase));
  }
  /** Ends all requests. */
  async function endRequests(): Promise<void> {
    for (const request of await openRequests())
      await eventually(
        () => access.end({ as: 'alice' }, request),
        ({ status }) => status === 200,
      );
  }
  const bindingOf = async ({ metadata: { uid } }: Request) => (await server.kubernetes.call('GET', `${bindingsPath}/ar-${uid}`)).status;
  const untilMayListPods = (expected: boolean) =>
    eventually(
      () => isAllowed(server.kubernetes, 'alice', pods),
      (may) => may === expected,
    );

  it('makes no request that is not there, and refuses none for another reason', async () => {
    const run = async () => (await access.ask({ as: 'alice' })).status;
    const calls = await journeys({
      prepare: endRequests,
      run,
      expected: 201,
      check: async (_, result) => expect(await openRequests()).to.have.length(result === 201 ? 1 : 0),
      async again() {
        await endRequests();
        return run();
      },
    });

    expect(calls).to.include('POST accessrequests');
  });

  it('loses no decision, and gives no access without one', async () => {
    const calls = await journeys({
      async prepare() {
        await endRequests();
        return access.asked({ as: 'alice' });
      },
      run: async (request) => (await access.decide({ as: 'bob' }, request)).status,
      passedOver: controllers,
      expected: 200,
      async check(request, result) {
        const { status } = await access.stored(request);
        const isApproved = status?.decisions?.length === 1;
        if (result === 200) expect(isApproved).to.equal(true);
        if (isApproved) await access.untilPhase(request, 'Active');
        else expect([status?.phase, await bindingOf(request)]).to.deep.equal(['Pending', 404]);
        await untilMayListPods(isApproved);
      },
      // The decision counts if the page answered a later call.
      async again(request) {
        const { status } = await access.decide({ as: 'bob' }, request);
        const isActive = (await access.stored(request)).status?.phase === 'Active';
        return status === 409 && isActive ? 200 : status;
      },
    });

    expect(calls).to.include.members(['PATCH accessrequests/*/status', 'POST userbindings']);
  });

  it('confirms no end of access that goes on', async () => {
    const calls = await journeys({
      async prepare() {
        await endRequests();
        const request = await access.asked({ as: 'alice' });
        expect((await access.decide({ as: 'bob' }, request)).status).to.equal(200);
        await untilMayListPods(true);
        return request;
      },
      run: async (request) => (await access.end({ as: 'alice' }, request)).status,
      passedOver: controllers,
      expected: 200,
      async check(_, result) {
        // The UserBinding may wait for the leader. Its RBAC is gone.
        if (result === 200) await untilMayListPods(false);
      },
      async again(request) {
        const { status } = await access.end({ as: 'alice' }, request);
        await untilMayListPods(false);
        return status;
      },
    });

    expect(calls).to.include('DELETE userbindings/*');
  });

  it('takes no member for added, removed or unknown', async () => {
    const run = async () => {
      for (const [method, expected] of [
        ['POST', [carl]],
        ['DELETE', []],
      ] as const) {
        const { status, body } = await ask(server, 'alice', method, `${groups}/crew/members`, { body: { names: [carl] } });
        const code = body.items[0]?.code ?? status;
        if (code >= 400) return code;
        expect(await memberNamesOf(server.kubernetes, 'crew')).to.deep.equal(expected);
      }
      return 200;
    };
    const calls = await journeys({
      async prepare() {
        await server.kubernetes.call('DELETE', `${nativeGroups}/crew`);
        await server.kubernetes.apply(aGroup('crew'));
        const { body } = await server.kubernetes.call('GET', `${nativeGroups}/crew`);
        await whenSeen(server, 'alice', 'crew', (body as Request & { metadata: { resourceVersion: string } }).metadata.resourceVersion);
      },
      run,
      expected: 200,
    });

    expect(calls).to.include('PATCH groups/*');
  });
});
