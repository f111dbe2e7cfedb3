/** Users with several names: a person never decides on an own request. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { asService, eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aGroup, aNamespace, applyKnown } from '../bindings/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { AccessRequests, aPolicy, aRequest, mergePatch, type Request, reasonsOf, requestsPath, user } from './support.ts';

const email = 'manager@example.com';
const issuer = 'https://other.example.com';
const begin = '2030-01-01T00:00:00Z';
const until = '2030-01-01T00:10:00Z';

describe('access requests of a user with a linked account and a group', () => {
  const server = forSuite(() => startServer({ config: { features: { accessRequests: true } } }));
  let access: AccessRequests;
  before(async () => {
    access = new AccessRequests(server);
    await server.kubernetes.apply(aNamespace('shop'));
    const person = aUser(email, { subjectName: 'manager' });
    const linked = { issuer, sub: 'm-1', subjectName: 'nobody', groups: [], linkedTime: '2026-01-01T00:00:00Z' };
    await applyKnown(server, { ...person, status: { ...(person.status as object), subjects: [linked] } });
    await applyKnown(server, aUser('bob@example.com', { subjectName: 'bob' }), aGroup('deciders', [nameOf(email)]));
    const approvers = [user('nobody'), user('bob'), { kind: 'Group', name: 'local:deciders' }];
    await access.apply(aPolicy('shop', { subjects: [user('manager')], approvers, requireStepUp: false }));
  });

  it('JIT-03 are not decided under its linked name, nor as a member of the group that approves', async () => {
    const request = await access.asked({ as: 'manager' });
    for (const as of ['nobody', 'manager'] as const)
      for (const approve of [true, false]) {
        const own = await access.decide({ as }, request, approve);
        expect([own.status, ...reasonsOf(own)], JSON.stringify(own.body)).to.deep.equal([403, 'OwnRequest']);
      }
    expect((await access.stored(request)).status)
      .to.include({ phase: 'Pending' })
      .and.not.have.property('decisions');
    // Access may be ended under any name of the requester.
    expect((await access.end({ as: 'nobody' }, request)).body.status).to.include({ phase: 'Withdrawn' });
  });

  it('JIT-03 are not reviewed under its linked name, nor as a member of the group that approves', async () => {
    const [policy, record] = await Promise.all([
      server.kubernetes.call('GET', '/apis/auth.platform.io/v1/accesspolicies/shop'),
      server.kubernetes.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(email)}`),
    ]);
    const uidOf = ({ body }: { body: unknown }) => (body as Request).metadata.uid;
    const spec = {
      requester: 'manager',
      record: nameOf(email),
      recordUID: uidOf(record),
      policy: { name: 'shop', uid: uidOf(policy), generation: 1 },
      breakGlass: true,
    };
    const made = await server.kubernetes.call('POST', requestsPath, aRequest('areq-00000000000000c3', spec), asService);
    const request = made.body as Request;
    for (const status of [{ phase: 'Approving', begin, until }, { phase: 'Lapsed' }])
      await server.kubernetes.call('PATCH', `${requestsPath}/${request.metadata.name}/status`, { status }, { ...mergePatch, ...asService });
    const review = (as: 'nobody' | 'manager' | 'bob') =>
      access.call('POST', `/auth/v1/accessrequests/${request.metadata.name}/review`, { as, body: {} });
    for (const as of ['nobody', 'manager'] as const) {
      const own = await review(as);
      expect([own.status, ...reasonsOf(own)], JSON.stringify(own.body)).to.deep.equal([403, 'OwnRequest']);
    }
    const other = await eventually(
      () => review('bob'),
      ({ status }) => status === 200,
    );
    expect(other.body.status?.review).to.include({ by: 'bob' });
  });
});
