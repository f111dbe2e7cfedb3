/** Times of access requests while no replica leads: the leader was killed, or all replicas have just started. */
import { expect } from 'chai';
import { after, before, beforeEach, describe, it } from 'mocha';
import { asService } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { holdLeases } from '../../support/held-leases.ts';
import { startServer } from '../../support/server.ts';
import { bindingsPath } from '../bindings/support.ts';
import { type AccessRequests, aliceAsksBob, type Request, requestsPath } from './support.ts';

const pendingSeconds = 300;
const options = '/auth/v1/accessrequests/options?verb=list&group=&resource=pods&namespace=shop';

describe('an access request while no replica leads', () => {
  let aheadMs = 0;
  const server = forSuite(() =>
    startServer({
      config: { features: { accessRequests: true }, accessRequests: { pendingSeconds, maxOpen: 2 } },
      now: () => new Date(Date.now() + aheadMs),
    }),
  );
  let access: AccessRequests;
  let at: string;
  let stopHolding = async () => {};

  before(async () => {
    access = await aliceAsksBob(server);
    await server.stopFirst();
    stopHolding = await holdLeases(server.kubernetes, 'atrium-access-requests');
    at = (await server.replica()).url;
  });
  after(() => stopHolding());
  beforeEach(() => {
    aheadMs = 0;
  });
  const passSeconds = (seconds: number) => {
    aheadMs = seconds * 1000;
  };
  /** Stores a request like one that was asked for and ended, without a status: its replica was killed between the two writes. */
  const leave = async (name: string, spec: Record<string, unknown> = {}): Promise<Request> => {
    const asked = await access.asked({ as: 'alice', at });
    expect((await access.end({ as: 'alice', at }, asked)).status).to.equal(200);
    const stored = (await access.stored(asked)) as Request & { apiVersion: string; kind: string };
    const { apiVersion, kind } = stored;
    const object = { apiVersion, kind, metadata: { name }, spec: { ...stored.spec, ...spec } };
    const left = await server.kubernetes.call('POST', requestsPath, object, asService);
    expect(left.status, JSON.stringify(left.body)).to.equal(201);
    return left.body as Request;
  };
  const bindingOf = ({ metadata: { uid } }: Request) => server.kubernetes.call('GET', `${bindingsPath}/ar-${uid}`);

  for (const approve of [true, false])
    it(`refuses ${approve ? 'an approval' : 'a denial'} after the time of the request (case 68)`, async () => {
      const request = await access.asked({ as: 'alice', at });
      passSeconds(pendingSeconds + 1);
      const { status, body } = await access.decide({ as: 'bob', at }, request, approve);

      expect(status, JSON.stringify(body)).to.equal(409);
      expect(body.message).to.include('the request has lapsed: it was not decided within 300 seconds');
      expect((await access.stored(request)).status).to.deep.include({ phase: 'Pending' });
      expect((await access.stored(request)).status?.decisions ?? []).to.deep.equal([]);
      expect((await bindingOf(request)).status).to.equal(404);
      const inbox = await access.call('GET', '/auth/v1/accessrequests?inbox=true', { as: 'bob', at });
      expect(JSON.stringify(inbox.body)).to.not.include(request.metadata.name);
      const ended = await access.end({ as: 'alice', at }, request);
      expect(ended.body.status, JSON.stringify(ended.body)).to.include({ phase: 'Lapsed', reason: 'NotDecided' });
    });

  it('takes an approval until the time of the request', async () => {
    const request = await access.asked({ as: 'alice', at });
    passSeconds(pendingSeconds - 5);
    const { status, body } = await access.decide({ as: 'bob', at }, request);
    expect(status, JSON.stringify(body)).to.equal(200);
    expect((await access.end({ as: 'bob', at }, request)).body.status).to.include({ phase: 'Ended', reason: 'EndedByUser' });
  });

  it('takes an approval of a request that a killed replica left without a status', async () => {
    const request = await leave('areq-c000000000000000');
    const { status, body } = await access.decide({ as: 'bob', at }, request);

    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.status?.decisions).to.have.lengthOf(1);
    expect(body.status).to.include({ phase: 'Active' });
    expect((await access.end({ as: 'bob', at }, request)).body.status).to.include({ phase: 'Ended' });
  });

  it('names the phase to an approver of a request that needs no approval, and has no status', async () => {
    const request = await leave('areq-d000000000000000', { approvals: 0 });
    const { status, body } = await access.decide({ as: 'bob', at }, request);

    expect(status, JSON.stringify(body)).to.equal(409);
    expect(body.message).to.include('the request cannot be decided: the phase is Approving');
    expect((await access.end({ as: 'bob', at }, request)).body.status).to.include({ phase: 'Lapsed' });
  });

  it('refuses an approval of a request without a status after its time', async () => {
    const request = await leave('areq-e000000000000000');
    passSeconds(pendingSeconds + 1);
    const { status, body } = await access.decide({ as: 'bob', at }, request);

    expect(status, JSON.stringify(body)).to.equal(409);
    expect(body.message).to.include('the request has lapsed: it was not decided within 300 seconds');
    expect((await bindingOf(request)).status).to.equal(404);
    expect((await access.end({ as: 'alice', at }, request)).body.status).to.include({ phase: 'Lapsed', reason: 'NotDecided' });
  });

  it('counts access after its end as no open request, and ends it as expired', async () => {
    const request = await access.asked({ as: 'alice', at });
    expect((await access.decide({ as: 'bob', at }, request)).body.status).to.include({ phase: 'Active' });
    expect((await access.ask({ as: 'alice', at })).status).to.equal(409);
    passSeconds(601);
    const offered = await access.call('GET', options, { as: 'alice', at });
    expect(offered.body, JSON.stringify(offered.body)).to.deep.include({ open: [] });
    const again = await access.asked({ as: 'alice', at });
    expect((await access.stored(request)).status).to.include({ phase: 'Active' });
    const { status, body } = await access.end({ as: 'bob', at }, request);
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.status).to.include({ phase: 'Ended', reason: 'Expired' });
    expect(body.status).to.not.have.property('endedBy');
    passSeconds(0);
    expect((await access.end({ as: 'alice', at }, again)).body.status).to.include({ phase: 'Withdrawn' });
  });

  for (const [what, spec] of [
    ['break-glass', { breakGlass: true }],
    ['a request without approvals', { approvals: 0 }],
  ] as const)
    it(`gives no access for ${what} that a killed replica left without a status`, async () => {
      await stopHolding();
      passSeconds(61);
      const left = await leave(`areq-${what === 'break-glass' ? 'b' : 'a'}${'0'.repeat(15)}`, spec);
      const { status } = await access.untilPhase(left, 'Lapsed');
      expect(status).to.include({ reason: 'NotGranted' });
      expect(status).to.not.have.property('binding');
      expect((await bindingOf(left)).status).to.equal(404);
      expect(server.auditLines.filter((line) => /BreakGlassUsed|AccessGranted/.test(line) && line.includes('areq-b0000'))).to.deep.equal(
        [],
      );
    });
});
