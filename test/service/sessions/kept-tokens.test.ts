import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { json } from '../login/provider/answers.ts';
import { Browser, logIn, type Reply, renewPayloadOf, userInfoOf } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster } from '../login/support.ts';
import { exchanges, expiresCookie, handleOf, logout, objects, patchUser, refresh, revokedName, session, tokens } from './support.ts';

describe('tokens that the caller keeps', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  const service = forSuite(() => cluster.service({ provider, config: { login: { perMinute: 100_000 } } }));
  const other = forSuite(() => cluster.service({ provider }));

  let people = 0;
  beforeEach(() => {
    provider.misbehave();
    provider.tokenSeconds = 900;
    people += 1;
    const sub = `keeper-${people}`;
    // As an issuer whose session lives on: every login through it has the same `sid` and `auth_time`.
    const authTime = Math.floor(cluster.clock.now().getTime() / 1000) - 100;
    provider.person = { ...provider.person, sub, email: `${sub}@example.com`, sid: `session-of-${sub}`, auth_time: authTime };
    provider.forgetRequests();
  });

  const revoked = async () => (await objects(cluster.kubernetes, 'revokedtokens')).filter(({ spec }) => spec.kind !== 'Flow');
  const info = ({ url }: { url: string }, bearer: string) => new Browser(url).info('v2', bearer);
  const both = () => [service, other];
  const expectEnded = async ({ bearer, refreshToken }: { bearer: string; refreshToken: string }) => {
    for (const at of both()) {
      expect((await info(at, bearer)).body).to.have.nested.property('details.causes[0].reason', 'TokenRevoked');
      expect((await refresh(new Browser(at.url), refreshToken)).status).to.equal(401);
      expect((await logout(new Browser(at.url), refreshToken)).status).to.equal(401);
    }
  };

  it('are what a login without token_storage gives', async () => {
    const { callback } = await logIn(service, { storage: 'unasked' });
    const { token, ...ext } = userInfoOf(callback).ext;

    expect(ext).to.include({ token_storage: 'local' });
    expect(token).to.have.all.keys('token_type', 'access_token', 'id_token', 'refresh_token', 'issued_at', 'expire_at', 'token_storage');
    expect((await info(service, token?.access_token ?? '')).status).to.equal(200);
  });

  it('END-03 end on both replicas by a logout as documented, without Authorization; another login of the same person lives', async () => {
    const [mine, theirs] = [await tokens(service), await tokens(other)];
    const seconds = await tokens(service, { browser: new Browser(service.url) });
    provider.person = { ...provider.person, sid: 'another-session' };
    const elsewhere = await tokens(service);
    provider.forgetRequests();
    const reply = await logout(new Browser(service.url), mine.refreshToken);

    expect(reply.status, reply.text).to.equal(200);
    expect(Object.keys(renewPayloadOf(reply)).sort()).to.deep.equal(['expire_at', 'issued_at', 'token_storage', 'token_type']);
    expect(exchanges(provider)).to.equal(0);
    expect(provider.hits('revocation')).to.equal(1);
    await expectEnded(mine);
    for (const at of both()) expect((await info(at, elsewhere.bearer)).status).to.equal(200);
    for (const one of [theirs, seconds, elsewhere]) {
      const renewed = await refresh(new Browser(other.url), one.refreshToken);
      expect(renewed.status, renewed.text).to.equal(200);
      for (const at of both()) expect((await info(at, renewPayloadOf(renewed).access_token ?? '')).status).to.equal(200);
    }
  });

  it('END-03 end by what the contract names: the login, the bearer tokens handed out last, and those of the session at the issuer', async () => {
    const { bearer, refreshToken } = await tokens(service);
    const before = new Set((await revoked()).map(({ metadata }) => metadata.name));
    const begun = cluster.clock.now().getTime();
    expect((await logout(new Browser(service.url), refreshToken)).status).to.equal(200);
    const ended = cluster.clock.now().getTime();

    const written = (await revoked()).filter(({ metadata }) => !before.has(metadata.name));
    expect(written.map(({ spec }) => spec.kind).sort()).to.deep.equal(['Bearer', 'Logout', 'Refresh']);
    const of = (kind: string) => written.find(({ spec }) => spec.kind === kind);
    expect(of('Bearer')?.metadata.name).to.equal(revokedName('Bearer', bearer));
    const notBefore = Date.parse(of('Logout')?.spec.notBefore ?? '');
    expect(notBefore).to.be.within(begun, begun + 3_000);
    expect(ended).to.be.at.least(notBefore);
    expect(of('Logout')?.spec.session).to.match(/^[0-9a-f]{40}$/);
    const day = 86_400_000;
    for (const kind of ['Bearer', 'Logout'])
      expect(Date.parse(of(kind)?.spec.expiration ?? '')).to.be.within(begun + day - 1, begun + 2 * day);
    expect(Date.parse(of('Refresh')?.spec.expiration ?? '')).to.be.within(begun + 6.9 * day, begun + 7 * day);
  });

  it('END-05 leave the next login through a living session of the issuer alone, with its renewals', async () => {
    const first = await tokens(service);
    expect((await logout(new Browser(service.url), first.refreshToken)).status).to.equal(200);
    await expectEnded(first);
    let { bearer, refreshToken } = await tokens(service);
    for (let n = 0; n < 3; n += 1) {
      for (const at of both()) expect((await info(at, bearer)).status).to.equal(200);
      cluster.clock.advance(600);
      const renewed = renewPayloadOf(await refresh(new Browser(n % 2 === 0 ? other.url : service.url), refreshToken));
      [bearer, refreshToken] = [renewed.access_token ?? '', renewed.refresh_token ?? ''];
    }
  });

  it('END-05 leave sessions of the same session at the issuer alone, too', async () => {
    const kept = await tokens(service);
    const { browser, handle } = await session(service);
    expect((await logout(new Browser(other.url), kept.refreshToken)).status).to.equal(200);

    expect((await browser.info('v2')).status).to.equal(200);
    expect((await refresh(browser, handle)).status).to.equal(200);
  });

  it('END-05 end in all tabs, when one has renewed and another logs out with the old token', async () => {
    const { bearer, refreshToken } = await tokens(service);
    cluster.clock.advance(20);
    const renewed = renewPayloadOf(await refresh(new Browser(other.url), refreshToken));
    const newer = { bearer: renewed.access_token ?? '', refreshToken: renewed.refresh_token ?? '' };
    expect(newer.bearer).to.not.equal(bearer);
    expect((await logout(new Browser(service.url), refreshToken)).status).to.equal(200);

    await expectEnded({ bearer, refreshToken });
    await expectEnded(newer);
  });

  it('END-05 end with a logout everywhere, and the next login counts', async () => {
    const first = await tokens(service);
    const headers = { authorization: `Bearer ${first.bearer}` };
    expect((await new Browser(service.url).request('/auth/v1/sessions', { method: 'DELETE', headers })).status).to.equal(204);

    await expectEnded(first);
    const { bearer, refreshToken } = await tokens(service);
    expect((await info(service, bearer)).status).to.equal(200);
    expect((await refresh(new Browser(service.url), refreshToken)).status).to.equal(200);
  });

  describe('END-02', () => {
    const ends: Record<string, (user: string, at: string) => Promise<void>> = {
      'a logout everywhere or another password': (user, at) =>
        patchUser(cluster.kubernetes, user, { status: { sessionsNotBefore: at } }, '/status'),
      disabling: (user) => patchUser(cluster.kubernetes, user, { spec: { is_disabled: true } }),
    };
    for (const [what, end] of Object.entries(ends)) {
      it(`are not renewed after ${what}, also not with an older token, and not afterwards`, async () => {
        provider.misbehave({ keepsRefreshTokens: true });
        const { browser, bearer, refreshToken } = await tokens(service);
        const newer = handleOf(await refresh(browser, refreshToken));
        const { user } = userInfoOf(await info(service, bearer)).ext;
        cluster.clock.advance(20);
        await end(
          String(user),
          cluster.clock
            .now()
            .toISOString()
            .replace(/\.\d+Z$/, 'Z'),
        );
        for (const at of both())
          await eventually(
            () => info(at, bearer),
            ({ status }) => status === 401,
          );
        provider.forgetRequests();
        for (const at of both())
          for (const token of [refreshToken, newer]) expect((await refresh(new Browser(at.url), token)).status).to.equal(401);

        expect(exchanges(provider)).to.equal(0);
        expect(provider.hits('revocation'), 'once').to.equal(1);
        if (what === 'disabling') {
          await patchUser(cluster.kubernetes, String(user), { spec: { is_disabled: false } });
          await eventually(
            () => info(service, bearer),
            ({ status }) => status === 200,
          );
          expect((await refresh(browser, newer)).status, 'the login is over').to.equal(401);
        }
      });
    }
  });

  it('REC-06 do not outlive the record of their user, deleted with kubectl and made again under its name', async () => {
    const kept = await tokens(service);
    const { browser, handle, user } = await session(service);
    cluster.clock.advance(2);
    expect((await cluster.kubernetes.call('DELETE', `/apis/auth.platform.io/v1/users/${user}`)).status).to.equal(200);
    for (const at of both())
      await eventually(
        () => info(at, kept.bearer),
        ({ status }) => status === 401,
      );
    cluster.clock.advance(2);
    const again = await tokens(service);
    expect(userInfoOf(await info(service, again.bearer)).ext.user).to.equal(user);
    provider.misbehave({ keepsRefreshTokens: true });
    provider.forgetRequests();

    for (const at of both()) {
      await eventually(
        () => refresh(new Browser(at.url), kept.refreshToken),
        ({ status }) => status === 401,
      );
      const old = new Browser(at.url);
      for (const [name, value] of browser.cookies) old.cookies.set(name, value);
      expect((await refresh(old, handle)).status).to.equal(401);
      expect((await refresh(new Browser(at.url), again.refreshToken)).status).to.equal(200);
    }
  });

  it("END-01 LIM-09 cost nothing while they are made up: no call, no object, and no user's login ends", async () => {
    const mine = await tokens(service);
    const before = (await revoked()).length;
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
    withCookie.cookies.set('atrium_session', 'a'.repeat(43));
    expect(expiresCookie(await logout(withCookie, name))).to.equal(true);

    expect((await revoked()).length).to.equal(before);
    expect(provider.requests).to.deep.equal([]);
    expect((await info(service, mine.bearer)).status).to.equal(200);
    expect((await cluster.kubernetes.call('DELETE', `/apis/auth.platform.io/v1/users/${user}`)).status).to.equal(200);
    for (const at of both())
      await eventually(
        () => refresh(new Browser(at.url), mine.refreshToken),
        ({ status }) => status === 401,
      );
  });

  it('LIM-09 count in login.perMinute only when they are not ours', async () => {
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

  it('are worth nothing without the service, and at a service of another client', async () => {
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
    await expectEnded(kept);
  });

  it('leave a refresh token out that is too long for a seal, end it at the issuer, and say so in the log', async () => {
    const long = 'x'.repeat(8_000);
    provider.misbehave({ tokenAnswer: { refresh_token: long } });
    const kept = await tokens(service);

    expect(kept.refreshToken.length).to.be.within(1, 8192);
    expect(provider.requests.find(({ endpoint }) => endpoint === 'revocation')?.parameters.get('token')).to.equal(long);
    const lines = service.logLines.join('');
    expect(lines).to.include('too long to be kept by the caller').and.to.not.include(long.slice(0, 100));
    expect((await refresh(new Browser(service.url), kept.refreshToken)).status).to.equal(401);
    expect((await logout(new Browser(service.url), kept.refreshToken)).status).to.equal(200);
    await expectEnded(kept);
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

  it('are found beside the cookie of a session that has ended, which goes', async () => {
    const { refreshToken } = await tokens(service);
    const browser = new Browser(service.url);
    browser.cookies.set('atrium_session', 'a'.repeat(43));
    const renewed = await refresh(browser, refreshToken);

    expect(renewed.status, renewed.text).to.equal(200);
    expect(expiresCookie(renewed)).to.equal(true);
  });

  for (const [claim, value] of [
    ['sub', 'somebody-else'],
    ['iss', 'https://other.example/'],
    ['email', 'somebody.else@example.com'],
  ] as const) {
    it(`REN-04 end when another ${claim} comes back, on both replicas, and no question is asked about that person`, async () => {
      const { browser, refreshToken } = await tokens(service);
      provider.forgetRequests();
      // Without groups, which the userinfo endpoint would be asked for.
      provider.misbehave({ refreshed: { claims: { [claim]: value, groups: undefined } } });
      const reply = await refresh(browser, refreshToken);

      expect(reply.status).to.equal(401);
      expect(reply.text).to.not.include('eyJ');
      expect(provider.hits('revocation'), 'the new tokens are dropped').to.equal(1);
      if (claim !== 'email') expect(provider.hits('userinfo')).to.equal(0);
      provider.misbehave({ keepsRefreshTokens: true });
      for (const at of both()) expect((await refresh(new Browser(at.url), refreshToken)).status).to.equal(401);
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

  it('are 401 when the issuer gives nothing that counts and the old token has ended', async () => {
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

  it('REN-11 end at their absolute end', async () => {
    const short = await cluster.service({ provider, config: { login: { session: { absolute: '30m' } } } });
    let { refreshToken } = await tokens(short);
    for (let n = 0; n < 2; n += 1) {
      cluster.clock.advance(800);
      refreshToken = handleOf(await refresh(new Browser(short.url), refreshToken));
    }
    cluster.clock.advance(800);
    for (const ask of [refresh, logout]) expect((await ask(new Browser(short.url), refreshToken)).status).to.equal(401);
    await short.stop();
  });

  it('REN-07 are revoked at the issuer later when it was not reached at the logout', async () => {
    const { refreshToken } = await tokens(service);
    provider.misbehave({ answer: { revocation: json(500, {}) } });
    const reply: Reply = await logout(new Browser(service.url), refreshToken);
    expect([reply.status, reply.headers.get('warning')]).to.deep.equal([200, '199 - "identity provider not reached"']);
    provider.misbehave();
    provider.forgetRequests();

    await eventually(
      () => provider.hits('revocation'),
      (count) => count === 1,
    );
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
