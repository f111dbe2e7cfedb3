import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { tokenInText } from '../../support/token-in-text.ts';
import { Browser, logIn, userInfoOf } from '../login/provider/browser.ts';
import type { TestProvider } from '../login/provider/provider.ts';
import {
  becomeOfOneSession,
  cookieName,
  exchanges,
  expectEnded,
  expiresCookie,
  handleOf,
  info,
  logout,
  refresh,
  revoked,
  session,
  tokens,
  twoReplicas,
  whenHeard,
} from './support.ts';

describe('tokens that the client stores', () => {
  const { cluster, provider, service, other } = twoReplicas();
  beforeEach(() => {
    becomeOfOneSession(provider, cluster.clock);
  });

  it('are the default of a login without token_storage', async () => {
    const { callback } = await logIn(service, { storage: 'unasked' });
    const { token, ...ext } = userInfoOf(callback).ext;

    expect(ext).to.include({ token_storage: 'local' });
    expect(token).to.have.all.keys('token_type', 'access_token', 'id_token', 'refresh_token', 'issued_at', 'expire_at', 'token_storage');
    expect((await info(service, token?.access_token ?? '')).status).to.equal(200);
  });

  it('END-01 LIM-09 cost nothing if they are forged: no call, no object, and no login of a user ends', async () => {
    const mine = await tokens(service);
    const before = (await revoked(cluster.kubernetes)).length;
    provider.forgetRequests();
    const { user, name } = { user: String(userInfoOf(await info(service, mine.bearer)).ext.user), name: String(provider.person.email) };
    const [kid = ''] = mine.refreshToken.split('.');
    const changed = `${mine.refreshToken.slice(0, -2)}${mine.refreshToken.endsWith('AA') ? 'BB' : 'AA'}`;
    for (const text of [name, user, mine.bearer, changed, `${kid}.${'A'.repeat(60)}`, 'k1.x', 'a'.repeat(43), '%00'.repeat(2)]) {
      for (const ask of [logout, refresh]) {
        const reply = await ask(new Browser(service.url), text);
        expect(reply.status, text).to.equal(401);
      }
    }
    const withCookie = new Browser(service.url);
    withCookie.cookies.set(cookieName, 'a'.repeat(43));
    expect(expiresCookie(await logout(withCookie, name))).to.equal(true);

    expect((await revoked(cluster.kubernetes)).length).to.equal(before);
    expect(provider.requests).to.deep.equal([]);
    expect((await info(service, mine.bearer)).status).to.equal(200);
    expect((await cluster.kubernetes.call('DELETE', `/apis/auth.platform.io/v1/users/${user}`)).status).to.equal(200);
    for (const at of [service, other])
      await eventually(
        () => refresh(new Browser(at.url), mine.refreshToken),
        ({ status }) => status === 401,
      );
  });

  it('LIM-09 count in login.perMinute only if the service has not issued them', async () => {
    const strict = await cluster.service({ provider, config: { login: { perMinute: 5 } } });
    provider.misbehave({ keepsRefreshTokens: true });
    const { refreshToken } = await tokens(service);
    const at = new Browser(strict.url);
    const statuses = [];
    for (let n = 0; n < 8; n += 1) statuses.push((await refresh(at, refreshToken)).status);
    expect(statuses).to.deep.equal(Array(8).fill(200));
    for (let n = 0; n < 8; n += 1) await refresh(at, 'made-up');
    const refused = await refresh(at, 'made-up');
    expect(refused.status).to.equal(429);
    expect(refused.headers.get('retry-after')).to.match(/^[1-9]\d*$/);

    expect((await refresh(at, refreshToken)).status).to.equal(200);
    expect((await logout(at, refreshToken)).status).to.equal(200);
    await strict.stop();
  });

  it('are useless without the service, and at a service of another client', async () => {
    const { refreshToken } = await tokens(service);
    expect(refreshToken.length).to.be.at.most(8192);
    provider.forgetRequests();
    const client = new TestClient(provider);
    expect(await client.redeem(refreshToken)).to.equal('invalid_grant');
    const stranger = await cluster.service({ provider, config: { login: { clientID: 'another' } } });

    expect((await refresh(new Browser(stranger.url), refreshToken)).status).to.equal(401);
    await stranger.stop();
  });

  it('come with a seal where the issuer gives no refresh token, which logs out and renews nothing', async () => {
    provider.misbehave({ tokenAnswer: { refresh_token: undefined } });
    const kept = await tokens(service);
    expect(kept.refreshToken).to.not.equal('');
    const renewal = await refresh(new Browser(service.url), kept.refreshToken);

    expect(renewal.status).to.equal(401);
    expect((await info(service, kept.bearer)).status, 'the bearer token goes on').to.equal(200);
    provider.forgetRequests();
    expect((await logout(new Browser(service.url), kept.refreshToken)).status).to.equal(200);
    expect(provider.hits('revocation')).to.equal(0);
    await expectEnded([service, other], kept);
  });

  it('omit a refresh token that is too long for a seal, revoke it at the issuer, and log a warning', async () => {
    const long = 'x'.repeat(8_000);
    provider.misbehave({ tokenAnswer: { refresh_token: long } });
    const kept = await tokens(service);

    expect(kept.refreshToken.length).to.be.within(1, 8192);
    expect(provider.requests.find(({ endpoint }) => endpoint === 'revocation')?.parameters.get('token')).to.equal(long);
    const lines = service.logLines.join('');
    expect(lines).to.include('too long for clients that store tokens').and.to.not.include(long.slice(0, 100));
    expect((await refresh(new Browser(service.url), kept.refreshToken)).status).to.equal(401);
    expect((await logout(new Browser(service.url), kept.refreshToken)).status).to.equal(200);
    await expectEnded([service, other], kept);
  });

  it('are not refreshed, nor ended, where only sessions are offered and no cookie comes', async () => {
    const sessionsOnly = await cluster.service({ provider, config: { login: { tokenStorage: ['cookie'] } } });
    const { refreshToken } = await tokens(service);
    provider.forgetRequests();
    for (const ask of [refresh, logout]) {
      const reply = await ask(new Browser(sessionsOnly.url), refreshToken);
      expect(reply.status).to.equal(400);
      expect(reply.body).to.have.nested.property('details.causes[0].field', 'refresh_token');
    }
    expect(provider.requests).to.deep.equal([]);
    await sessionsOnly.stop();
  });

  it('are accepted beside the cookie of a session that has ended, which is expired', async () => {
    const { refreshToken } = await tokens(service);
    const browser = new Browser(service.url);
    browser.cookies.set(cookieName, 'a'.repeat(43));
    const renewed = await refresh(browser, refreshToken);

    expect(renewed.status, renewed.text).to.equal(200);
    expect(expiresCookie(renewed)).to.equal(true);
  });

  for (const [claim, value] of [
    ['sub', 'somebody-else'],
    ['iss', 'https://other.example/'],
    ['email', 'somebody.else@example.com'],
  ] as const) {
    it(`REN-04 end when another ${claim} comes back, on both replicas, without a userinfo request`, async () => {
      const { browser, refreshToken } = await tokens(service);
      provider.forgetRequests();
      // Missing groups would cause a userinfo request.
      provider.misbehave({ refreshed: { claims: { [claim]: value, groups: undefined } } });
      const reply = await refresh(browser, refreshToken);

      expect(reply.status).to.equal(401);
      expect(reply.text).to.not.match(tokenInText);
      expect(provider.hits('revocation'), 'the new tokens are dropped').to.equal(1);
      if (claim !== 'email') expect(provider.hits('userinfo')).to.equal(0);
      provider.misbehave({ keepsRefreshTokens: true });
      await whenHeard(other, cluster.kubernetes);
      for (const at of [service, other]) expect((await refresh(new Browser(at.url), refreshToken)).status).to.equal(401);
      expect(exchanges(provider), 'the issuer is not asked again').to.equal(1);
    });
  }

  it('REN-04 end a session, too, when the same person comes back under another name', async () => {
    const { browser, handle } = await session(service);
    provider.misbehave({ refreshed: { claims: { email: 'renamed@example.com' } } });

    expect((await refresh(browser, handle)).status).to.equal(401);
    expect((await browser.info('v2')).status).to.equal(401);
  });

  it('REN-04 end when the same record comes back under another user name, as sessions do', async () => {
    const named = await cluster.service({ provider, config: { login: { claims: { username: 'preferred_username' } } } });
    provider.person = { ...provider.person, preferred_username: 'mine', email_verified: true };
    const kept = await tokens(named);
    const { browser, handle } = await session(named);
    provider.misbehave({ refreshed: { claims: { preferred_username: 'theirs' } } });

    expect((await refresh(kept.browser, kept.refreshToken)).status).to.equal(401);
    expect((await refresh(browser, handle)).status).to.equal(401);
    provider.misbehave({ keepsRefreshTokens: true });
    expect((await refresh(kept.browser, kept.refreshToken)).status).to.equal(401);
    await named.stop();
  });

  it('are 401 if the issuer returns no valid token and the old token has expired', async () => {
    const { browser, refreshToken } = await tokens(service);
    provider.misbehave({ refreshed: 'absent' });
    const held = await refresh(browser, refreshToken);
    expect(held.status).to.equal(200);
    cluster.clock.advance(1_000);
    provider.forgetRequests();
    const reply = await refresh(browser, handleOf(held));

    expect(reply.status).to.equal(401);
    expect(reply.body).to.have.property('message').that.includes('token_storage=cookie');
    expect(provider.hits('revocation')).to.equal(1);
  });
});

/** An attacker who has found such a token, and knows the issuer. */
class TestClient {
  readonly #provider: TestProvider;

  constructor(provider: TestProvider) {
    this.#provider = provider;
  }

  async redeem(refreshToken: string): Promise<string> {
    const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken, client_id: 'atrium' });
    const answer = await fetch(`${this.#provider.issuer}/token`, { method: 'POST', body });
    return ((await answer.json()) as { error: string }).error;
  }
}
