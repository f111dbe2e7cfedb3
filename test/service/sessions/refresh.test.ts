import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { json } from '../login/provider/answers.ts';
import { Browser, logIn, renewPayloadOf } from '../login/provider/browser.ts';
import { aService, exchanges, expiresCookie, handleOf, refresh, session, sessionObject, tokens } from './support.ts';

describe('refresh', () => {
  const { cluster, provider, service } = aService();
  beforeEach(() => {
    provider.become('jane-1');
  });

  const ages = (payload: { issued_at: string; expire_at: string }) =>
    (Date.parse(payload.expire_at) - Date.parse(payload.issued_at)) / 1000;

  it('REN-01 renews a session without disclosing a token', async () => {
    const { browser, handle } = await session(service);
    const reply = await refresh(browser, handle);
    const payload = renewPayloadOf(reply);

    expect(reply.status).to.equal(200);
    expect(reply.headers.get('cache-control')).to.equal('no-store');
    expect(Object.keys(payload).sort()).to.deep.equal(['expire_at', 'issued_at', 'refresh_token', 'token_storage', 'token_type']);
    expect(payload).to.include({ token_type: 'Bearer', token_storage: 'cookie' });
    expect(payload.refresh_token)
      .to.match(/^[\w-]{43}$/)
      .and.not.equal(handle);
    expect(ages(payload)).to.be.within(898, 902);
    expect(exchanges(provider)).to.equal(1);
    expect((await refresh(browser, payload.refresh_token ?? '')).status).to.equal(200);
  });

  it('REN-01 renews tokens for clients that store them', async () => {
    const { browser, bearer, refreshToken } = await tokens(service);
    cluster.clock.advance(2);
    const reply = await refresh(browser, refreshToken);
    const payload = renewPayloadOf(reply);

    expect(reply.status).to.equal(200);
    expect(payload.token_storage).to.equal('local');
    expect(payload.access_token).to.be.a('string').and.not.equal(bearer);
    expect(payload.refresh_token).to.be.a('string').and.not.equal(refreshToken);
    expect(ages(payload)).to.be.within(898, 902);
    expect((await browser.info('v2', payload.access_token)).status).to.equal(200);
  });

  it('REN-01 works without a new ID token, and where refresh tokens are not rotated', async () => {
    const { browser, handle } = await session(service);
    const local = await tokens(service);
    provider.misbehave({ refreshed: 'absent', keepsRefreshTokens: true });

    expect((await refresh(browser, handle)).status).to.equal(200);
    const reply = await refresh(local.browser, local.refreshToken);
    expect(reply.status).to.equal(200);
    const payload = renewPayloadOf(reply);
    expect(payload).to.not.have.any.keys('access_token', 'id_token');
    expect((await browser.info('v2', local.bearer)).status, 'the old one holds until then').to.equal(200);
    expect(Date.parse(payload.expire_at)).to.be.greaterThan(cluster.clock.now().getTime());
    expect((await refresh(local.browser, handleOf(reply))).status).to.equal(200);
  });

  it('REN-01 takes the token out of the body of a form', async () => {
    const { browser, refreshToken } = await tokens(service);
    const reply = await browser.request('/api/v1/token/refresh', {
      method: 'POST',
      body: new URLSearchParams({ refresh_token: refreshToken }),
    });

    expect(reply.status, reply.text).to.equal(200);
    const asJSON = { method: 'POST' as const, body: '{"refresh_token":"a"}', headers: { 'content-type': 'application/json' } };
    expect((await browser.request('/api/v1/token/refresh', asJSON)).status).to.equal(415);
    expect((await fetch(`${service.url}/api/v1/token/refresh`, { method: 'HEAD' })).status).to.equal(405);
  });

  describe('REN-02', () => {
    const refused = {
      'no token': '',
      'an empty token': 'refresh_token=',
      'a token of 10 kB': `refresh_token=${'a'.repeat(10_000)}`,
      'a token twice': 'refresh_token=a&refresh_token=b',
      'control characters': 'refresh_token=a%00b',
      'characters beyond ASCII': 'refresh_token=%C3%A9',
    };
    for (const [what, query] of Object.entries(refused)) {
      it(`refuses ${what}, without asking the provider`, async () => {
        const reply = await new Browser(service.url).request(`/api/v2/token/refresh?${query}`);

        expect(reply.status).to.equal(400);
        expect(reply.body).to.deep.include({ kind: 'Status', reason: 'BadRequest' });
        expect(provider.requests).to.deep.equal([]);
      });
    }

    it('answers garbage with 401', async () => {
      const { status } = await refresh(new Browser(service.url), 'garbage');
      expect(status).to.equal(401);
    });

    it('refuses the handle of another session, which lives on', async () => {
      const [jane, other] = [await session(service), await session(service)];
      const { status, body } = await refresh(jane.browser, other.handle);

      expect(status).to.equal(400);
      expect(body).to.have.nested.property('details.causes[0].field', 'refresh_token');
      expect((await refresh(jane.browser, jane.handle)).status).to.equal(200);
      expect((await refresh(other.browser, other.handle)).status).to.equal(200);
    });

    it('accepts the previous handle for ten seconds, and no longer', async () => {
      const { browser, handle } = await session(service);
      const current = handleOf(await refresh(browser, handle));

      expect(handleOf(await refresh(browser, handle))).to.equal(current);
      expect(exchanges(provider)).to.equal(1);
      cluster.clock.advance(11);
      expect((await refresh(browser, handle)).status).to.equal(400);
      expect((await refresh(browser, current)).status).to.equal(200);
    });

    it('is useless without the cookie', async () => {
      const { handle, path } = await session(service);

      expect((await refresh(new Browser(service.url), handle)).status).to.equal(401);
      expect(await sessionObject(cluster.kubernetes, path)).not.to.equal(undefined);
    });
  });

  describe('in the background', () => {
    afterEach(() => cluster.clock.thaw());

    it('runs when a session is used whose tokens are about to expire', async () => {
      const { browser } = await session(service);
      cluster.clock.advance(600);
      expect((await browser.info('v2')).status).to.equal(200);
      expect(exchanges(provider)).to.equal(0);
      cluster.clock.advance(150);
      expect((await browser.info('v2')).status).to.equal(200);

      await eventually(
        () => exchanges(provider),
        (count) => count === 1,
      );
      cluster.clock.advance(600);
      expect((await browser.info('v2')).status).to.equal(200);
      expect(exchanges(provider)).to.equal(1);
    });

    it('runs when the tokens have expired, and the request waits for it', async () => {
      const { browser } = await session(service);
      cluster.clock.advance(1200);
      const replies = await Promise.all(Array.from({ length: 20 }, () => browser.info('v2')));

      expect(new Set(replies.map(({ status }) => status))).to.deep.equal(new Set([200]));
      expect(exchanges(provider)).to.equal(1);
    });

    it('keeps the handle, because no client would learn of a new one', async () => {
      const { browser, handle } = await session(service);
      cluster.clock.advance(1200);
      expect((await browser.info('v2')).status).to.equal(200);
      expect(exchanges(provider)).to.equal(1);
      cluster.clock.advance(60);

      expect((await refresh(browser, handle)).status).to.equal(200);
      expect(exchanges(provider)).to.equal(2);
    });

    it('keeps the session while the provider cannot be reached', async () => {
      const { browser } = await session(service);
      // The service makes no further request to the provider for three seconds.
      cluster.clock.freeze();
      provider.misbehave({ answer: { token: json(500, {}) } });
      cluster.clock.advance(750);
      expect((await browser.info('v2')).status).to.equal(200);
      await eventually(
        () => exchanges(provider),
        (count) => count === 1,
      );
      await Promise.all(Array.from({ length: 20 }, () => browser.info('v2')));
      expect(exchanges(provider)).to.equal(1);
      cluster.clock.advance(200);
      const late = await browser.info('v2');
      expect(late.status).to.equal(503);
      expect(expiresCookie(late)).to.equal(false);
      provider.misbehave();
      cluster.clock.advance(4);
      expect((await browser.info('v2')).status).to.equal(200);
    });
  });

  it('shares one exchange among concurrent requests with the same token', async () => {
    const { browser, refreshToken } = await tokens(service);
    const replies = await Promise.all(Array.from({ length: 20 }, () => refresh(browser, refreshToken)));

    expect(new Set(replies.map(({ status }) => status))).to.deep.equal(new Set([200]));
    expect(new Set(replies.map(({ text }) => text)).size).to.equal(1);
    expect(exchanges(provider)).to.equal(1);
  });

  it('keeps a session without a refresh token until its expiry', async () => {
    const { browser, callback } = await logInUntilReady({ flow: 'id_token' });
    const handle = String((callback.body as { ext: { token: { refresh_token: string } } }).ext.token.refresh_token);

    expect(handleOf(await refresh(browser, handle))).to.equal(handle);
    cluster.clock.advance(1000);
    expect((await refresh(browser, handle)).status).to.equal(401);
  });

  const logInUntilReady = async (options: Parameters<typeof logIn>[1]) => {
    const idTokens = await cluster.service({ provider, config: { login: { responseMode: 'id_token' } } });
    await session(service);
    return eventually(
      () => logIn(idTokens, options).catch(() => ({ browser: new Browser(''), callback: { status: 0, body: {} } })),
      ({ callback }) => callback.status === 200,
    );
  };
});
