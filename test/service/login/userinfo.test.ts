import { expect } from 'chai';
import { recordName } from '../../../src/users/record/account.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { expectEnded, info, logout, refresh, session, tokens, twoReplicas } from '../sessions/support.ts';
import { type Answer, hangUp, html, json, never } from './provider/answers.ts';
import { Browser, logIn, renewPayloadOf, userInfoOf } from './provider/browser.ts';

const challenge = { 'www-authenticate': 'Bearer error="invalid_token"' };
const forGood: Record<string, Answer> = {
  '401 with a challenge': json(401, { error: 'invalid_token' }, challenge),
  '401 without a challenge': json(401, {}),
  '403': json(403, {}),
  '404 as HTML': html(404),
};
const forNow: Record<string, Answer> = {
  '500': json(500, {}),
  '429': json(429, {}),
  HTML: html(200),
  'no subject': json(200, { email: 'x@example.com' }),
  'a broken connection': hangUp,
  'no answer': never,
};
const withoutGroups = { idToken: { claims: { groups: undefined } } };
const withoutEmail = { idToken: { claims: { email: undefined } } };

describe('a userinfo endpoint that refuses', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000 } } });
  const told = () => party().service.logLines.filter((line) => line.includes('userinfo endpoint failed'));

  beforeEach(() => party().provider.become());

  for (const [what, userinfo] of Object.entries({ ...forGood, ...forNow }))
    it(`cases/18 costs a login no more than its claims: ${what}`, async () => {
      const { provider, service } = party();
      provider.misbehave({ ...withoutGroups, answer: { userinfo } });
      const before = told().length;
      for (const storage of ['cookie', 'local'] as const) {
        const { callback, browser } = await logIn(service, { storage });
        expectOK(callback);
        const { name, groups, ext } = userInfoOf(callback);
        expect({ name, groups }).to.deep.equal({ name: provider.person.email, groups: [] });
        expect(userInfoOf(await browser.info('v2', ext.token?.access_token)).name).to.equal(provider.person.email);
      }
      expect(told().slice(before)).to.have.length(2);
    }).timeout(30_000);

  for (const [what, userinfo] of Object.entries(forGood))
    it(`cases/18 is the cause of a 401 where only it knows the user name: ${what}`, async () => {
      const { provider, service } = party();
      provider.misbehave({ ...withoutEmail, answer: { userinfo } });
      for (const storage of ['cookie', 'local'] as const) {
        const { callback } = await logIn(service, { storage });
        expectStatus(callback, 401, 'UserInfoRefused');
        const [cause] = (callback.body as { details: { causes: { message: string; field: string }[] } }).details.causes;
        expect(cause?.message).to.equal(
          `has no email claim, and the userinfo endpoint of the identity provider answered ${what.slice(0, 3)}`,
        );
        expect(callback.headers.get('retry-after')).to.equal(null);
      }
    });

  it('cases/18 is 503 where only it knows the user name and may know it later, and the log names it', async () => {
    const { provider, service } = party();
    provider.misbehave({ ...withoutEmail, answer: { userinfo: json(500, {}) } });
    expectStatus((await logIn(service)).callback, 503);
    expect(service.logLines.filter((line) => line.includes('userinfo endpoint: answered 500'))).to.not.have.length(0);
  });

  for (const userinfo of [json(403, {}), json(500, {})])
    it('cases/18 REC-04 takes nothing from a login at its renewal, with both storages', async () => {
      const { provider, service } = party();
      provider.misbehave({ claimsOnlyAtUserInfo: true });
      const { browser, handle, user } = await session(service);
      const kept = await tokens(service);
      provider.misbehave({ claimsOnlyAtUserInfo: true, answer: { userinfo } });
      expectOK(await refresh(browser, handle));
      const renewed = await refresh(kept.browser, kept.refreshToken);
      expectOK(renewed);
      for (const reply of [await browser.info('v2'), await info(service, renewPayloadOf(renewed).access_token ?? '')]) {
        const { name, groups, ext } = userInfoOf(reply);
        expect({ name, groups, user: ext.user }).to.deep.equal({ name: provider.person.email, groups: ['dev', 'oncall'], user });
      }
    });
});

describe('claims that only the userinfo endpoint tells', () => {
  const { cluster, provider, service, other } = twoReplicas();
  before(() => cluster.kubernetes.apply(clusterRoleBinding('learnt-view', 'view', { kind: 'Group', name: 'learnt' })));
  beforeEach(() => provider.become(undefined, { groups: ['learnt'], sid: undefined }));

  const listConfigMaps = (at: { url: string }, bearer: string) =>
    new Browser(at.url).request('/api/kubernetes/api/v1/namespaces/default/configmaps', { headers: { authorization: `Bearer ${bearer}` } });

  for (const [what, misbehaviour] of Object.entries({
    'all claims': { claimsOnlyAtUserInfo: true },
    email: withoutEmail,
    groups: withoutGroups,
    'all claims beside a JWT access token': { claimsOnlyAtUserInfo: true, accessTokenAudience: 'another' },
  }))
    it(`I1 hold for the bearer of a login on every replica, and at /api/kubernetes: ${what}`, async () => {
      provider.misbehave(misbehaviour);
      const { callback } = await logIn(service, { storage: 'local' });
      expectOK(callback);
      const { name, groups, email, ext } = userInfoOf(callback);
      const bearer = ext.token?.access_token ?? '';
      for (const at of [service, other]) {
        const reply = await info(at, bearer);
        expectOK(reply);
        const shown = userInfoOf(reply);
        expect(shown).to.deep.include({ name, groups, email });
        expect(shown.ext.user).to.equal(recordName(String(provider.person.email)));
        expect(shown.ext.expires_at).to.equal(ext.token?.expire_at);
        const found = await eventually(
          () => listConfigMaps(at, bearer),
          ({ status }) => status === 200,
        );
        expect(found.body).to.have.property('kind', 'ConfigMapList');
      }
    });

  it('I1 hold after a renewal at another replica, and are asked for again', async () => {
    provider.misbehave({ claimsOnlyAtUserInfo: true });
    const { refreshToken } = await tokens(service);
    provider.forgetRequests();
    const renewed = await refresh(new Browser(other.url), refreshToken);
    expectOK(renewed);
    expect(provider.hits('userinfo')).to.equal(1);
    const bearer = renewPayloadOf(renewed).access_token ?? '';
    for (const at of [service, other]) expect(userInfoOf(await info(at, bearer)).groups).to.deep.equal(['learnt']);
  });

  it('I1 end with the login: a logout, and the end of the token', async () => {
    provider.misbehave({ claimsOnlyAtUserInfo: true });
    const { bearer, refreshToken, browser } = await tokens(service);
    expectOK(await info(other, bearer));
    expectOK(await logout(browser, refreshToken));
    await expectEnded([service, other], { bearer, refreshToken });
  });

  it('I1 end with the token', async () => {
    provider.misbehave({ claimsOnlyAtUserInfo: true });
    const { bearer } = await tokens(service);
    cluster.clock.advance(901 + 60);
    try {
      expectStatus(await info(service, bearer), 401, 'TokenExpired');
    } finally {
      cluster.clock.reset();
    }
  });

  it('I1 are ignored when a caller writes them', async () => {
    provider.misbehave({ claimsOnlyAtUserInfo: true });
    const { bearer } = await tokens(service);
    const changed = `${bearer.slice(0, -9)}${bearer.at(-9) === 'A' ? 'B' : 'A'}${bearer.slice(-8)}`;
    for (const token of [
      changed,
      bearer.replace('atb.oidc.', 'atb.other.'),
      bearer.replace('atb.oidc.', ''),
      'atb.oidc.k1.x',
      'atb.oidc.x',
    ])
      expectStatus(await info(service, token), 401);
  });

  it('I1 leave the bearer token as it is where the ID token tells them', async () => {
    const { callback } = await logIn(service, { storage: 'local' });
    const { token } = userInfoOf(callback).ext;
    expect(token?.access_token).to.equal(token?.id_token);
  });
});

describe('a login with claims of the userinfo endpoint, where the cluster reads the token alone', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000 } } });
  beforeEach(() => party().provider.become());

  for (const storage of ['cookie', 'local'] as const) {
    it(`I1 refuses a login at once whose token has no user name, with storage ${storage}`, async () => {
      const { provider, forwarding } = party();
      provider.misbehave(withoutEmail);
      const { callback } = await logIn(await forwarding(), { storage });
      expectStatus(callback, 401, 'ClaimMissing');
      expect(callback.text).to.include('has no email claim, and the cluster reads the token alone');
    });

    it(`I1 reports in the log that groups of userinfo are ignored, with storage ${storage}`, async () => {
      const { provider, forwarding } = party();
      const service = await forwarding();
      provider.misbehave(withoutGroups);
      const { callback, browser } = await logIn(service, { storage });
      expectOK(callback);
      expect(userInfoOf(callback).groups).to.deep.equal([]);
      expect(userInfoOf(await browser.info('v2', userInfoOf(callback).ext.token?.access_token)).groups).to.deep.equal([]);
      expect(service.logLines.filter((line) => line.includes('does not read the groups of the userinfo endpoint'))).to.not.have.length(0);
    });
  }
});
