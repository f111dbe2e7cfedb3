import { expect } from 'chai';
import { z } from 'zod';
import { serviceNamespace } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { Clock } from '../login/support.ts';
import { nameOf } from '../users/a-user.ts';
import { Desk, failure, list, password, pathOf } from './desk.ts';

describe('operations on second factors', () => {
  const emails = ['jane@example.com', 'joe@example.com', 'manager@example.com', 'chief@example.com'];
  const service = forSuite(() => startEmbeddedLogin({ emails, password }));
  const [jane = '', joe = '', manager = '', chief = ''] = emails;
  const stored = async () =>
    z
      .object({ items: z.array(z.object({ spec: z.object({ user: z.string(), type: z.string() }) })) })
      .parse((await service.admin.call('GET', `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/factors`)).body)
      .items.map(({ spec }) => `${spec.user} ${spec.type}`);

  before(async () => {
    await service.admin.apply(
      clusterRoleBinding('manages', 'atrium-users-admin', { kind: 'User', name: manager }),
      clusterRoleBinding('chief-views', 'view', { kind: 'User', name: chief }),
    );
  });

  it('list, rename and remove the caller’s own factors, which the issuer’s page has set up', async () => {
    const desk = await Desk.of(service, jane);
    expect(await desk.factors()).to.deep.equal({ rule: 'optional', kinds: ['totp'], isTOTPSuspended: false, items: [] });
    expect(await desk.enrol()).to.equal(200);

    const { items } = await desk.factors();
    expect(items.map(({ type, left }) => [type, left])).to.have.deep.members([
      ['TOTP', undefined],
      ['RecoveryCodes', 10],
    ]);
    expect(JSON.stringify(items)).not.to.contain('sealed');
    const { id } = items.find(({ type }) => type === 'TOTP') ?? { id: '' };
    const renamed = await desk.call('PATCH', `${pathOf(jane)}/${id}`, { name: ' phone ' });
    expect(renamed.status).to.equal(200);
    expect(renamed.body).to.include({ id, name: 'phone' });
    // S11: other administrators read these names.
    for (const name of ['x'.repeat(65), 'joe@example.com', 'pho\u200dne', 'a\u202eb'])
      expect((await desk.call('PATCH', `${pathOf(jane)}/${id}`, { name })).status, JSON.stringify(name)).to.equal(400);

    expect((await desk.call('DELETE', `${pathOf(jane)}/${id}`)).status).to.equal(204);
    expect((await desk.factors()).items).to.deep.equal([]);
    expect((await desk.call('DELETE', `${pathOf(jane)}/${id}`)).status).to.equal(404);
    expect(service.lines.some((line) => line.includes('"FactorRemoved"'))).to.equal(true);
    expect((await service.logIn(jane, password)).status).to.equal(200);
  });

  it('refuse those of other users, unless the caller may read and reset them', async () => {
    const desk = await Desk.of(service, joe);
    await desk.enrol();
    const [{ id } = { id: '' }] = (await desk.factors()).items;
    const other = await Desk.of(service, jane);
    for (const [method, path, body] of [
      ['GET', pathOf(joe), undefined],
      ['PATCH', `${pathOf(joe)}/${id}`, { name: 'mine' }],
      ['DELETE', `${pathOf(joe)}/${id}`, undefined],
      ['DELETE', pathOf(joe), undefined],
      ['GET', pathOf('nobody@example.com'), undefined],
    ] as const)
      expect((await other.call(method, path, body)).status, `${method} ${path}`).to.equal(403);
    const helper = await Desk.of(service, manager);

    expect(list.parse((await helper.call('GET', pathOf(joe))).body).items).to.have.length(2);
    expect((await helper.call('DELETE', `${pathOf(joe)}/${id}`)).status).to.equal(403);
    expect((await helper.call('DELETE', pathOf(manager))).status).to.equal(403);
    expect((await helper.call('GET', pathOf('nobody@example.com'))).status).to.equal(404);
    expect((await helper.call('DELETE', pathOf(joe))).status).to.equal(204);

    expect(await stored())
      .not.to.include(`${nameOf(joe)} TOTP`)
      .and.not.to.include(`${nameOf(joe)} RecoveryCodes`);
    expect((await desk.call('GET', '/auth/v1/me')).status).to.equal(401);
    expect((await service.logIn(joe, password)).status).to.equal(200);
    expect(service.lines.some((line) => line.includes('"FactorsReset"'))).to.equal(true);
  });

  it('MFA-10 let a manager reset no user with roles without the right to impersonate the user', async () => {
    const desk = await Desk.of(service, chief);
    await desk.enrol();
    const helper = await Desk.of(service, manager);

    const { status } = await helper.call('DELETE', pathOf(chief));

    expect(status).to.equal(403);
    expect(await stored()).to.include(`${nameOf(chief)} TOTP`);
    expect((await desk.call('GET', '/auth/v1/me')).status).to.equal(200);
  });

  it('MFA-13 refuse a step-up that another user completes', async () => {
    const desk = await Desk.of(service, jane);
    const { auth_url } = JSON.parse((await desk.browser.get(`${service.url}/api/v2/token/login?token_storage=cookie&max_age=0`)).body);
    expect(new URL(auth_url).searchParams.get('max_age')).to.equal('0');
    const page = await desk.browser.get(auth_url);
    const { body } = await desk.browser.submit(page, { email: manager, password });
    const question = { url: page.url, response: page.response, body };
    const { url: back } = await desk.browser.submit(question, { logout: 'yes' });
    const { response, body: answer } = await desk.browser.get(`${service.url}/api/v2/token/callback${back.search}`);

    expect(response.status, answer).to.equal(401);
    expect(failure.parse(JSON.parse(answer)).details.causes[0]?.reason).to.equal('SubjectDiffers');
  });

  it('take no odd parameters of a step-up', async () => {
    for (const query of ['max_age=-1', 'max_age=86401', 'max_age=x', `acr_values=${'x'.repeat(257)}`, 'prompt=enrol&factor=sms'])
      expect((await service.request(`/api/v2/token/login?${query}`)).status, query).to.equal(400);
  });
});

describe('operations on second factors, some time after the login', () => {
  const jane = 'jane@example.com';
  const plain = 'plain@example.com';
  const clock = new Clock();
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [jane, plain],
      password,
      credentials: 'impersonate',
      login: { stepUp: { maxAge: '5m' } },
      now: clock.now,
    }),
  );
  /** Runs with a service clock at which the login is no longer recent. The issuer keeps its own clock. */
  const later = async (act: () => Promise<void>) => {
    clock.advance(360);
    await act().finally(() => clock.reset());
  };
  const tokens = z.object({ access_token: z.string(), refresh_token: z.string() });

  it('MFA-08 require a recent login, and refuse older sessions and access tokens', async () => {
    const desk = await Desk.of(service, jane);
    await desk.enrol();
    const { items } = await desk.factors();
    const [{ id } = { id: '' }] = items;
    const made = await service.request('/auth/v1/accesstoken', {
      method: 'POST',
      headers: {
        cookie: desk.browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ description: 'stolen' }),
    });
    const { token } = z.object({ token: z.string() }).parse(await made.json());
    await later(async () => {
      for (const [method, body] of [
        ['PATCH', { name: 'mine' }],
        ['DELETE', undefined],
      ] as const) {
        const answer = await desk.call(method, `${pathOf(jane)}/${id}`, body);
        expect(answer.status).to.equal(401);
        expect(failure.parse(answer.body).details.causes[0]?.reason).to.equal('StepUpRequired');
        expect(answer.headers.get('www-authenticate')).to.equal(
          'Bearer realm="atrium", error="insufficient_user_authentication", max_age="300"',
        );
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        const byToken = await service.request(`${pathOf(jane)}/${id}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
        expect(byToken.status).to.equal(403);
        expect(failure.parse(await byToken.json()).details.causes[0]?.reason).to.equal('StepUpNotPossible');
      }
    });
    expect((await desk.factors()).items).to.deep.equal(items);
    expect((await desk.call('GET', '/auth/v1/me')).status).to.equal(200);
  });

  it('MFA-13 do not accept a refresh as a recent login', async () => {
    const { body } = await service.logIn(plain, password, '?token_storage=local');
    const { ext } = z.object({ ext: z.object({ token: tokens }) }).parse(JSON.parse(body));
    const rename = async (bearer: string) => {
      const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
      const path = `${pathOf(plain)}/t-${'0'.repeat(64)}`;
      return service.request(path, { method: 'PATCH', headers, body: JSON.stringify({ name: 'mine' }) });
    };
    await later(async () => {
      const query = new URLSearchParams({ refresh_token: ext.token.refresh_token });
      const renewed = await service.request(`/api/v2/token/refresh?${query}`);
      expect(renewed.status).to.equal(200);
      const { access_token, refresh_token } = tokens.parse(await renewed.json());
      // An access token of the same second may be identical.
      expect(refresh_token).not.to.equal(ext.token.refresh_token);

      const answer = await rename(access_token);

      expect(answer.status).to.equal(401);
      expect(failure.parse(await answer.json()).details.causes[0]?.reason).to.equal('StepUpRequired');
    });
    // A recent login passes the check, and the factor does not exist.
    const again = await service.logIn(plain, password, '?token_storage=local');
    const fresh = z.object({ ext: z.object({ token: tokens }) }).parse(JSON.parse(again.body)).ext.token.access_token;
    expect((await rename(fresh)).status).to.equal(404);
  });
});
