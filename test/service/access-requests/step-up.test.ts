/** Recent logins that a policy requires, and credentials that are not accepted, with users of the embedded issuer. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { isAllowed } from '../../support/grants.ts';
import { aNamespace } from '../bindings/support.ts';
import type { Browser } from '../identity/browser.ts';
import { Clock } from '../login/support.ts';
import { aPolicy, policiesPath, type Refusal, type Request, user } from './support.ts';

const password = 'correct horse';
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
  let requester: Browser;
  let approver: Browser;
  before(async () => {
    const { admin } = service;
    await admin.apply(aNamespace('shop'));
    const subjects = [user(jane)];
    const policies = [
      aPolicy('at-once', { subjects, approvals: 0, approvers: [], requireStepUp: true }),
      aPolicy('decided', { subjects, approvers: [user(carl)], requireStepUp: true }),
    ];
    await admin.apply(...policies);
    for (const { metadata } of policies)
      await eventually(
        () => admin.call('GET', `${policiesPath}/${metadata.name}`),
        ({ body }) => JSON.stringify(body).includes('"type":"Ready"'),
      );
    requester = (await service.logIn(jane, password)).browser;
    approver = (await service.logIn(carl, password)).browser;
    for (const { metadata } of policies)
      await eventually(
        () => service.request(`/auth/v1/accesspolicies/${metadata.name}`, { headers: headersOf(requester) }),
        ({ status }) => status === 200,
      );
  });
  afterEach(() => clock.reset());

  const headersOf = ({ cookies }: Browser) => ({
    cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/json',
  });
  const post = async (headers: Record<string, string>, path: string, body?: unknown) => {
    const answer = await service.request(`/auth/v1/accessrequests${path}`, {
      method: 'POST',
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Request & Refusal };
  };
  const reasonOf = ({ body }: { body: Refusal }) => body.details?.causes?.[0]?.reason;

  it('give a role at once without approvals, after a recent login', async () => {
    clock.advance(360);
    const stale = await post(headersOf(requester), '', asked);
    expect([stale.status, reasonOf(stale)]).to.deep.equal([401, 'StepUpRequired']);
    clock.reset();

    const { status, body } = await post(headersOf(requester), '', asked);
    expect(status, JSON.stringify(body)).to.equal(201);
    expect(body.status).to.include({ phase: 'Active' });
    await eventually(
      () => isAllowed(service.admin, jane, { verb: 'list', group: '', resource: 'pods', ...{ namespace: 'shop' } }),
      Boolean,
    );
    expect((await post(headersOf(requester), `/${body.metadata.name}/end`)).status).to.equal(200);
  });

  it('are decided after a recent login of the approver', async () => {
    const { body } = await post(headersOf(requester), '', { ...asked, policy: 'decided' });
    clock.advance(360);
    const stale = await post(headersOf(approver), `/${body.metadata.name}/decision`, { approve: true });
    expect([stale.status, reasonOf(stale)]).to.deep.equal([401, 'StepUpRequired']);
    clock.reset();
    const decided = await post(headersOf(approver), `/${body.metadata.name}/decision`, { approve: true });
    expect(decided.body.status).to.include({ phase: 'Active' });
    expect((await post(headersOf(approver), `/${body.metadata.name}/end`)).body.status).to.include({ phase: 'Ended' });
  });

  it('JIT-17 are not made, decided or ended with an access token', async () => {
    const { body } = await post(headersOf(requester), '', { ...asked, policy: 'decided' });
    const token = await service.request('/auth/v1/accesstoken', {
      method: 'POST',
      headers: headersOf(approver),
      body: JSON.stringify({ description: 'ci' }),
    });
    const made = (await token.json()) as { token: string };
    const headers = { authorization: `Bearer ${made.token}`, 'content-type': 'application/json' };
    for (const answer of [
      await post(headers, '', asked),
      await post(headers, `/${body.metadata.name}/decision`, { approve: true }),
      await post(headers, `/${body.metadata.name}/end`),
    ])
      expect([answer.status, reasonOf(answer)]).to.deep.equal([403, 'AccessTokenNotAllowed']);
  });
});
