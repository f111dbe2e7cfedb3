import { expect } from 'chai';
import { expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { refresh, session, tokens } from '../sessions/support.ts';
import { logIn, renewPayloadOf, userInfoOf } from './provider/browser.ts';
import type { Misbehaviour } from './provider/misbehaviour.ts';

/** Many clients take `null` and an empty text of an optional member for an absent one, and issuers rely on it. */
describe('an optional member of an issuer that is null or empty', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000, scopes: ['openid', 'email', 'groups', 'offline_access'] } } });
  const logged = (member: string) => party().service.logLines.filter((line) => line.includes('token endpoint') && line.includes(member));

  beforeEach(() => party().provider.become());

  const absent: Record<string, Misbehaviour> = {
    'refresh_token null': { tokenAnswer: { refresh_token: null } },
    'refresh_token empty': { tokenAnswer: { refresh_token: '' } },
    'scope null': { tokenAnswer: { scope: null } },
    'scope empty': { tokenAnswer: { scope: '' } },
    'expires_in null': { tokenAnswer: { expires_in: null } },
    'expires_in empty': { tokenAnswer: { expires_in: '' } },
    'an extension null': { tokenAnswer: { error: null, session_state: null } },
    'claims of the ID token null': {
      idToken: {
        claims: { name: null, email_verified: null, azp: null, auth_time: null, acr: null, at_hash: null, federated_claims: null },
      },
    },
    'claims of the ID token empty': { idToken: { claims: { name: '', preferred_username: '', azp: '', acr: '', at_hash: '' } } },
    'claims of userinfo null': {
      idToken: { claims: { groups: undefined } },
      userInfo: { name: null, email_verified: null, picture: null, acr: null },
    },
  };
  for (const [what, misbehaviour] of Object.entries(absent))
    for (const storage of ['cookie', 'local'] as const)
      it(`cases/19 counts as absent: ${what}, at a login with storage ${storage}`, async () => {
        const { provider, service } = party();
        provider.misbehave(misbehaviour);
        const { callback } = await logIn(service, { storage });
        expectOK(callback);
        expect(userInfoOf(callback).groups).to.deep.equal(['dev', 'oncall']);
      });

  for (const claims of [{ groups: null }, { groups: '' }, { email: null }, { email: '' }])
    it(`cases/19 asks userinfo for a claim of the ID token that is empty: ${JSON.stringify(claims)}`, async () => {
      const { provider, service } = party();
      provider.misbehave({ idToken: { claims } });
      const { callback, browser } = await logIn(service);
      expectOK(callback);
      const { name, email, groups } = userInfoOf(await browser.info('v2'));
      expect({ name, email, groups }).to.deep.equal({
        name: provider.person.email,
        email: provider.person.email,
        groups: ['dev', 'oncall'],
      });
    });

  it('cases/19 keeps the refresh token of the login where a renewal answers null or an empty one', async () => {
    const { provider, service } = party();
    for (const refreshToken of [null, '']) {
      provider.misbehave({ keepsRefreshTokens: true });
      const { browser, handle } = await session(service);
      const kept = await tokens(service);
      provider.misbehave({ keepsRefreshTokens: true, tokenAnswer: { refresh_token: refreshToken, scope: null, expires_in: null } });
      const first = await refresh(browser, handle);
      expectOK(first);
      expectOK(await refresh(browser, renewPayloadOf(first).refresh_token ?? ''));
      const local = await refresh(kept.browser, kept.refreshToken);
      expectOK(local);
      expectOK(await refresh(kept.browser, renewPayloadOf(local).refresh_token ?? ''));
    }
  });

  it('cases/19 keeps the known claims if a renewal answers id_token null', async () => {
    const { provider, service } = party();
    const { browser, handle } = await session(service);
    provider.misbehave({ tokenAnswer: { id_token: null } });
    expectOK(await refresh(browser, handle));
    expect(userInfoOf(await browser.info('v2')).groups).to.deep.equal(['dev', 'oncall']);
  });

  it('cases/19 reads a discovery document with optional members that are null', async () => {
    const { cluster, provider } = party();
    provider.misbehave({
      metadata: {
        userinfo_endpoint: null,
        revocation_endpoint: null,
        end_session_endpoint: null,
        token_endpoint_auth_methods_supported: null,
        id_token_signing_alg_values_supported: null,
        pushed_authorization_request_endpoint: '',
      },
      idToken: { claims: { groups: null } },
    });
    const service = await cluster.service({ provider });
    const { callback, info } = await logIn(service);
    expectOK(callback);
    expect(userInfoOf(callback).groups).to.deep.equal([]);
    expect(info).to.not.have.property('logout_url');
    await service.stop();
  });

  for (const [member, value] of Object.entries({
    access_token: null,
    token_type: 'mac',
    expires_in: -1,
    scope: ['openid'],
    refresh_token: 7,
  }))
    it(`cases/19 names the token endpoint and the member in the log: ${member} ${JSON.stringify(value)}`, async () => {
      const { provider, service } = party();
      provider.misbehave({ tokenAnswer: { [member]: value } });
      const { callback } = await logIn(service);
      expectStatus(callback, 503);
      expect(logged(member)).to.not.have.length(0);
      expect(callback.text).to.not.include(member);
    });

  it('cases/19 names the ID token of the token endpoint in the log where it is missing', async () => {
    const { provider, service } = party();
    provider.misbehave({ tokenAnswer: { id_token: '' } });
    const { callback } = await logIn(service);
    expectStatus(callback, 401, 'id_token');
    expect(logged('id_token')).to.not.have.length(0);
  });
});

describe('an ID token for several audiences', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000, audiences: ['other'] } } });
  beforeEach(() => party().provider.become());

  for (const storage of ['cookie', 'local'] as const)
    it(`cases/25 is accepted without azp where each audience is trusted, with storage ${storage}`, async () => {
      const { provider, service } = party();
      provider.misbehave({ idToken: { claims: { aud: ['atrium', 'other'] } } });
      const { callback, browser } = await logIn(service, { storage });
      expectOK(callback);
      const { token } = userInfoOf(callback).ext;
      expectOK(await browser.info('v2', token?.access_token));
      expectOK(await browser.info('v2', provider.idToken({ claims: { aud: ['atrium', 'other'] } })));
    });

  for (const [what, claims] of Object.entries({
    'holds an audience that is not trusted, without azp': { aud: ['atrium', 'stranger'] },
    'is for another party': { aud: ['atrium', 'other'], azp: 'other' },
    'is for a trusted audience alone': { aud: ['other'] },
  }))
    it(`cases/25 is refused at a login if it ${what}`, async () => {
      const { provider, service } = party();
      provider.misbehave({ idToken: { claims } });
      expectStatus((await logIn(service)).callback, 401, 'id_token');
    });
});
