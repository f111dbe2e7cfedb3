import { expect } from 'chai';
import { recordName } from '../../../src/users/record/account.ts';
import { html } from '../login/provider/answers.ts';
import { Browser, logIn, userInfoOf } from '../login/provider/browser.ts';
import { refresh } from '../sessions/support.ts';
import { expectOK, expectStatus, relyingParty } from './conformance/relying-party.ts';

describe('info', () => {
  const party = relyingParty();

  it('shows a session the fields of the callback, except those that are shown once', async () => {
    const { browser, callback } = await logIn(party().service, { parameters: { return_to: '/x' } });
    const { ext: told, ...person } = userInfoOf(callback);
    const { token: _token, return_to: _path, ...lasting } = told;
    for (const version of ['v1', 'v2'] as const) {
      const reply = await browser.info(version);
      expectOK(reply);
      expect(reply.body).to.deep.equal({ ...person, ext: lasting });
      expect(reply.headers.get('vary'))
        .to.match(/authorization/i)
        .and.match(/cookie/i);
      expect(reply.headers.get('cache-control')).to.equal('no-store');
    }
  });

  it('returns the owner of a bearer token', async () => {
    const { service } = party();
    const { callback } = await logIn(service, { storage: 'local' });
    const { ext } = userInfoOf(callback);
    const reply = await new Browser(service.url).info('v2', ext.token?.access_token);
    expectOK(reply);
    const info = userInfoOf(reply);
    expect(info).to.deep.include({ name: 'jane@example.com', uid: 'jane-1', groups: ['dev', 'oncall'] });
    expect(info.ext).to.deep.include({ user: recordName('jane@example.com'), token_storage: 'local', phase: 'Normal' });
    expect(info.ext.expires_at).to.equal(ext.token?.expire_at);
    expect(info.ext).to.not.have.any.keys('token', 'return_to');
  });

  it('asks userinfo once for claims that an access token lacks', async () => {
    const { cluster, provider } = party();
    const { groups, ...person } = provider.person;
    const service = await cluster.service({ provider, config: { login: { bearer: 'access_token' } } });
    try {
      provider.person = person;
      const grant = { person: { ...person, groups }, scope: 'openid', nonce: undefined };
      const bearer = provider.grants.rememberAccessToken(grant, provider.idToken({ header: { typ: 'at+jwt' } }));
      for (let asked = 0; asked < 3; asked += 1)
        expect(userInfoOf(await new Browser(service.url).info('v2', bearer)).email).to.equal('jane@example.com');
      expect(provider.hits('userinfo')).to.equal(1);
      expect(provider.requests.find(({ endpoint }) => endpoint === 'userinfo')?.headers.authorization).to.equal(`Bearer ${bearer}`);
    } finally {
      provider.person = { ...person, groups };
    }
  });

  it('sends no ID token to userinfo: the service alone is its audience', async () => {
    const { provider, service } = party();
    for (const claims of [{}, { nonce: 'a-nonce' }, { at_hash: 'a-hash', scope: 'openid' }]) {
      provider.forgetRequests();
      const bearer = provider.idToken({ claims: { groups: undefined, jti: JSON.stringify(claims), ...claims } });
      expectOK(await new Browser(service.url).info('v2', bearer));
      expect(provider.hits('userinfo')).to.equal(0);
    }
  });

  it('keeps the userinfo claims if a renewal cannot request them', async () => {
    const { provider, service } = party();
    provider.misbehave({ claimsOnlyAtUserInfo: true });
    const { browser, callback } = await logIn(service);
    expectOK(callback);
    provider.misbehave({ claimsOnlyAtUserInfo: true, answer: { userinfo: html(500) } });
    expectOK(await refresh(browser, userInfoOf(callback).ext.token?.refresh_token ?? ''));
    expect(userInfoOf(await browser.info('v2'))).to.deep.include({ name: 'jane@example.com', groups: ['dev', 'oncall'] });
  });

  it('requires a credential that is valid', async () => {
    const { provider, service } = party();
    const browser = new Browser(service.url);
    const missing = await browser.info('v2');
    expectStatus(missing, 401);
    expect(missing.headers.get('www-authenticate')).to.equal('Bearer realm="atrium"');
    const expired = await browser.info('v2', provider.idToken({ claims: { exp: Math.floor(Date.now() / 1000) - 61 } }));
    expectStatus(expired, 401, 'TokenExpired');
    expect(expired.headers.get('www-authenticate')).to.include('error="invalid_token"');
    expectStatus(await browser.request('/api/v2/token/info', { headers: { authorization: 'Basic eDp5' } }), 401);
  });

  it('answers HEAD', async () => {
    const { browser } = await logIn(party().service);
    const reply = await browser.request('/api/v2/token/info', { method: 'HEAD' });
    expect(reply.status).to.equal(200);
    expect(reply.text).to.equal('');
  });
});

describe('info, where the cluster judges tokens', () => {
  const party = relyingParty();

  it('goes by the claims while the cluster is out of reach', async () => {
    const { cluster, provider } = party();
    const service = await cluster.service({ provider, config: { kubernetes: { credentials: 'passthrough' } } });
    const { callback } = await logIn(service, { storage: 'local' });
    expectOK(callback);
    await service.relay.cut();
    const reply = await new Browser(service.url).info('v2', provider.idToken({ claims: { jti: 'not seen before' } }));
    expectOK(reply);
    expect(userInfoOf(reply)).to.deep.include({ name: 'jane@example.com', groups: ['dev', 'oncall'] });
  });
});
