/** Recent logins that a policy requires, and credentials that are not accepted, with users of the embedded issuer. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { isAllowed } from '../../support/grants.ts';
import { aNamespace } from '../bindings/support.ts';
import { Clock } from '../login/support.ts';
import { type Member, password, SessionRequests } from './sessions.ts';
import { aPolicy, type Refusal, user } from './support.ts';

const [jane, carl] = ['jane@example.com', 'carl@example.com'];
const asked = {
  policy: 'at-once',
  roleRef: 'view',
  scope: 'namespace',
  namespaces: ['shop'],
  reason: 'the shop is down',
  durationSeconds: 600,
};

describe('access requests that require a recent login', () => {
  const clock = new Clock();
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [jane, carl],
      password,
      credentials: 'impersonate',
      features: { accessRequests: true },
      login: { stepUp: { maxAge: '5m' } },
      now: clock.now,
    }),
  );
  let sessions: SessionRequests;
  let requester: Member;
  let approver: Member;
  before(async () => {
    sessions = new SessionRequests(service);
    const { admin } = service;
    await admin.apply(aNamespace('shop'));
    const subjects = [user(jane)];
    [requester, approver] = [await sessions.logIn(jane), await sessions.logIn(carl)];
    const policies = [
      aPolicy('at-once', { subjects, approvals: 0, approvers: [], requireStepUp: true }),
      aPolicy('decided', { subjects, approvers: [user(carl)], requireStepUp: true }),
    ];
    await sessions.apply(policies, [requester]);
  });
  afterEach(() => clock.reset());

  const reasonOf = ({ body }: { body: Refusal }) => body.details?.causes?.[0]?.reason;

  it('give a role at once without approvals, after a recent login', async () => {
    clock.advance(360);
    const stale = await sessions.post(requester, '', asked);
    expect([stale.status, reasonOf(stale)]).to.deep.equal([401, 'StepUpRequired']);
    clock.reset();

    const { status, body } = await sessions.post(requester, '', asked);
    expect(status, JSON.stringify(body)).to.equal(201);
    expect(body.status).to.include({ phase: 'Active' });
    await eventually(
      () => isAllowed(service.admin, jane, { verb: 'list', group: '', resource: 'pods', ...{ namespace: 'shop' } }),
      Boolean,
    );
    expect((await sessions.post(requester, `/${body.metadata.name}/end`)).status).to.equal(200);
  });

  it('are decided after a recent login of the approver', async () => {
    const { body } = await sessions.post(requester, '', { ...asked, policy: 'decided' });
    clock.advance(360);
    const stale = await sessions.post(approver, `/${body.metadata.name}/decision`, { approve: true });
    expect([stale.status, reasonOf(stale)]).to.deep.equal([401, 'StepUpRequired']);
    clock.reset();
    const decided = await sessions.post(approver, `/${body.metadata.name}/decision`, { approve: true });
    expect(decided.body.status).to.include({ phase: 'Active' });
    expect((await sessions.post(approver, `/${body.metadata.name}/end`)).body.status).to.include({ phase: 'Ended' });
  });

  it('JIT-17 are not made, decided, ended or reviewed with an access token', async () => {
    const { body } = await sessions.post(requester, '', { ...asked, policy: 'decided' });
    const token = await service.request('/auth/v1/accesstoken', {
      method: 'POST',
      headers: approver.headers,
      body: JSON.stringify({ description: 'ci' }),
    });
    const made = (await token.json()) as { token: string };
    const headers = { authorization: `Bearer ${made.token}`, 'content-type': 'application/json' };
    for (const answer of [
      await sessions.post({ headers }, '', asked),
      await sessions.post({ headers }, `/${body.metadata.name}/decision`, { approve: true }),
      await sessions.post({ headers }, `/${body.metadata.name}/end`),
      await sessions.post({ headers }, `/${body.metadata.name}/review`, {}),
    ])
      expect([answer.status, reasonOf(answer)]).to.deep.equal([403, 'AccessTokenNotAllowed']);
  });
});
