import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { hangUp } from '../login/provider/answers.ts';
import { Browser, type BrowserRequest, type Reply } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import type { TokenChange } from '../login/provider/tokens.ts';
import type { Service } from '../login/support.ts';
import { objects, refresh, session, sessionObject, tokens, twoReplicas } from './support.ts';

const path = '/api/v2/token/backchannel-logout';
const mergePatch = { 'content-type': 'application/merge-patch+json' };

describe('back-channel logout', () => {
  const { cluster, provider, service, other } = twoReplicas();
  beforeEach(() => {
    // Each test has another user, with a record and a session.
    const sub = randomUUID();
    provider.person = { ...provider.person, sub, email: `${sub}@example.com`, sid: `session-of-${sub}` };
  });

  const post = ({ url }: { url: string }, request: BrowserRequest): Promise<Reply> =>
    new Browser(url).request(path, { method: 'POST', ...request });
  const send = (token: string, to: { url: string } = service) => post(to, { body: new URLSearchParams({ logout_token: token }) });
  const sendNew = (...changes: TokenChange[]) => send(provider.logoutToken(...changes));
  const isIn = async (browser: Browser) => (await browser.info('v2')).status === 200;
  const at = ({ url }: Service, browser: Browser): Browser => {
    const copy = new Browser(url);
    for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
    return copy;
  };

  it('ends the named session on every replica, and no other of the same user', async () => {
    const { browser, path: object } = await session(service);
    const { sub } = provider.person;
    provider.person = { ...provider.person, sid: 'another-session' };
    const elsewhere = await session(service);
    expect(await isIn(at(other, browser))).to.equal(true);
    const reply = await sendNew({ claims: { sid: `session-of-${sub}` } });

    expect(reply.status, reply.text).to.equal(200);
    expect(reply.headers.get('cache-control')).to.equal('no-store');
    expect(reply.text).to.equal('');
    expect(await isIn(at(service, browser))).to.equal(false);
    expect(await sessionObject(cluster.kubernetes, object)).to.equal(undefined);
    await eventually(
      () => isIn(at(other, browser)),
      (stillIn) => !stillIn,
    );
    expect(await isIn(elsewhere.browser)).to.equal(true);
    expect(await isIn(at(other, elsewhere.browser))).to.equal(true);
  });

  it('takes a token that names the session alone, the type `JWT` or none, and further claims and fields', async () => {
    for (const change of [
      { claims: { sub: undefined } },
      { header: { typ: 'JWT' } },
      { header: { typ: undefined } },
      { claims: { x: 1 } },
    ]) {
      const { browser } = await session(service);
      const reply = await post(service, { body: new URLSearchParams({ logout_token: provider.logoutToken(change), state: 'x' }) });

      expect(reply.status, JSON.stringify(change)).to.equal(200);
      expect(await isIn(browser)).to.equal(false);
      provider.person = { ...provider.person, sid: randomUUID() };
    }
  });

  it('ends all sessions of a user who is named without a session, and leaves those of other users', async () => {
    const first = await session(service);
    provider.person = { ...provider.person, sid: 'second' };
    const second = await session(other);
    const { sub, email } = provider.person;
    provider.person = { ...provider.person, sub: 'bystander', email: 'bystander@example.com' };
    const bystander = await session(service);
    const reply = await sendNew({ claims: { sub, sid: undefined } });

    expect(reply.status, reply.text).to.equal(200);
    for (const { browser } of [first, second]) expect(await isIn(at(service, browser))).to.equal(false);
    expect(await isIn(bystander.browser)).to.equal(true);
    provider.person = { ...provider.person, sub, email };
    cluster.clock.advance(2);
    expect(await isIn((await session(service)).browser), 'after another log-in').to.equal(true);
  });

  it('ends the sessions and tokens of the user to which the issuer gave no `sid`, beside the named session', async () => {
    const { sub, email } = provider.person;
    const named = await session(service);
    provider.person = { ...provider.person, sid: undefined };
    const unnamed = await session(service);
    const { bearer } = await tokens(service);
    provider.person = { ...provider.person, sub: `other-${sub}`, email: `other-${email}` };
    const bystander = await session(service);
    const reply = await sendNew({ claims: { sub, sid: 'known to the issuer alone' } });

    expect(reply.status, reply.text).to.equal(200);
    expect(await sessionObject(cluster.kubernetes, unnamed.path)).to.equal(undefined);
    for (const replica of [service, other]) {
      await eventually(
        () => isIn(at(replica, unnamed.browser)),
        (stillIn) => !stillIn,
      );
      await eventually(
        () => new Browser(replica.url).info('v2', bearer),
        ({ status }) => status === 401,
      );
      expect(await isIn(at(replica, named.browser)), 'a session with another sid').to.equal(true);
      expect(await isIn(at(replica, bystander.browser)), 'another user').to.equal(true);
    }
  });

  it('is 200 for a session that does not exist, or no longer', async () => {
    const { browser } = await session(service);

    expect((await sendNew({ claims: { sid: 'never-heard-of' } })).status).to.equal(200);
    expect(await isIn(browser)).to.equal(true);
    expect((await sendNew()).status).to.equal(200);
    expect((await sendNew()).status).to.equal(200);
  });

  const wrong: Record<string, () => string> = {
    'that has expired': () => provider.logoutToken({ claims: { exp: seconds() - 61 } }),
    'without an end': () => provider.logoutToken({ claims: { exp: undefined } }),
    'from the future': () => provider.logoutToken({ claims: { iat: seconds() + 3_600, exp: seconds() + 3_700 } }),
    'without a time': () => provider.logoutToken({ claims: { iat: undefined } }),
    'without jti': () => provider.logoutToken({ claims: { jti: undefined } }),
    'about nobody': () => provider.logoutToken({ claims: { sub: undefined, sid: undefined } }),
    'about a session that is no text': () => provider.logoutToken({ claims: { sid: 7 } }),
    'of another type': () => provider.logoutToken({ header: { typ: 'at+jwt' } }),
    'for others too': () => provider.logoutToken({ claims: { aud: ['atrium', 'another-client'] } }),
    'that is an ID token': () => provider.idToken(),
    'that is an ID token under its type': () => provider.idToken({ header: { typ: 'logout+jwt' } }),
    'of a foreign key': () => provider.logoutToken({ signer: 'unpublished RS256' }),
    'that names a key of its own': () => provider.logoutToken({ header: { jku: 'http://127.0.0.1:1/keys' }, signer: 'unpublished RS256' }),
    'that is none': () => 'x',
    'that is empty': () => '',
  };
  const seconds = () => Math.floor(cluster.clock.now().getTime() / 1000);

  for (const [what, token] of Object.entries(wrong)) {
    it(`refuses one ${what}, and the session lives`, async () => {
      const { browser } = await session(service);
      const reply = await send(token());

      expect(reply.status, reply.text).to.equal(400);
      expect(reply.body).to.deep.include({ kind: 'Status', status: 'Failure', reason: 'BadRequest', code: 400 });
      expect(reply.body).to.have.nested.property('details.causes[0].field', 'logout_token');
      expect(reply.text).to.not.match(/\b(jti|exp|signature|keys?)\b/);
      expect(await isIn(browser)).to.equal(true);
    });
  }

  it('is neither a credential nor an ID token', async () => {
    const reply = await new Browser(service.url).info('v2', provider.logoutToken());
    expect(reply.status).to.equal(401);
  });

  it('ignores another issuer’s token for a session with the same name', async () => {
    const stranger = await TestProvider.start({ now: cluster.clock.now });
    stranger.person = provider.person;
    const { browser } = await session(service);

    expect((await send(stranger.logoutToken())).status).to.equal(400);
    expect((await send(stranger.logoutToken({ claims: { iss: provider.issuer } }))).status).to.equal(400);
    expect(await isIn(browser)).to.equal(true);
    await stranger.stop();
  });

  it('accepts a token once, of many that several replicas get concurrently', async () => {
    const token = provider.logoutToken();
    const replies = await Promise.all([service, other, service, other, service].map((replica) => send(token, replica)));

    expect(replies.map(({ status }) => status).sort()).to.deep.equal([200, 400, 400, 400, 400]);
    expect((await send(token, other)).status).to.equal(400);
  });

  it('accepts no replay: a user who has logged in again stays logged in', async () => {
    const { sub } = provider.person;
    const token = provider.logoutToken({ claims: { sid: undefined } });
    await session(service);
    expect((await send(token)).status).to.equal(200);
    cluster.clock.advance(2);
    provider.person = { ...provider.person, sub, sid: 'again' };
    const { browser } = await session(service);

    expect((await send(token)).status).to.equal(400);
    expect((await send(token, other)).status).to.equal(400);
    expect(await isIn(browser)).to.equal(true);
  });

  it('ends tokens that the client stores, on every replica, and their refresh tokens', async () => {
    provider.misbehave({ keepsRefreshTokens: true });
    const { bearer, refreshToken } = await tokens(service);
    expect((await sendNew()).status).to.equal(200);
    // Tokens that the provider issues from now on are newer than the logout.
    cluster.clock.advance(3);

    for (const replica of [service, other]) {
      const answer = await eventually(
        () => new Browser(replica.url).info('v2', bearer),
        ({ status }) => status === 401,
      );
      expect(answer.body).to.have.nested.property('details.causes[0].reason', 'TokenRevoked');
      expect((await refresh(new Browser(replica.url), refreshToken)).status).to.equal(401);
    }
    expect(provider.grants.isRefreshable(refreshToken), 'it was revoked, as the provider went on taking it').to.equal(false);
  });

  it('finds sessions of an earlier release', async () => {
    const { browser, path: object } = await session(service);
    const { browser: elsewhere } = await session(service);
    await unlabel(object);
    expect((await sendNew()).status).to.equal(200);

    expect(await sessionObject(cluster.kubernetes, object)).to.equal(undefined);
    expect(await isIn(browser)).to.equal(false);
    expect(await isIn(elsewhere)).to.equal(false);
  });

  it('refuses a session whose login was in progress, on every replica', async () => {
    const iat = seconds() + 50;
    expect((await sendNew({ claims: { iat, exp: iat + 120 } })).status).to.equal(200);
    const late = await session(service);
    const old = await session(service);
    await unlabel(old.path);

    for (const { browser, handle, path: object } of [late, old]) {
      expect(await sessionObject(cluster.kubernetes, object)).to.not.equal(undefined);
      for (const replica of [service, other]) {
        await eventually(
          () => isIn(at(replica, browser)),
          (stillIn) => !stillIn,
        );
        expect((await refresh(at(replica, browser), handle)).status).to.equal(401);
      }
    }
  });

  /** Removes the labels, which sessions of an earlier release do not have. */
  async function unlabel(object: string): Promise<void> {
    const labels = { 'auth.platform.io/session.sid': null, 'auth.platform.io/session.sub': null };
    expect((await sessionObject(cluster.kubernetes, object))?.metadata)
      .to.have.property('labels')
      .with.all.keys(Object.keys(labels));
    await cluster.kubernetes.call('PATCH', object, { metadata: { labels } }, mergePatch);
  }

  it('ends nothing partially when the API server cannot be reached: the same token is accepted afterwards', async () => {
    const { browser } = await session(service);
    const token = provider.logoutToken();
    await service.relay.cut();
    const reply = await send(token);
    await service.relay.mend();

    expect(reply.status, reply.text).to.be.oneOf([503, 504]);
    expect(reply.headers.get('retry-after')).to.match(/^\d+$/);
    expect(await isIn(browser)).to.equal(true);
    const again = await eventually(
      () => send(token),
      ({ status }) => status !== 503,
    );
    expect(again.status, again.text).to.equal(200);
    expect(await isIn(browser)).to.equal(false);
  });

  it('is 503 while the keys of the provider are unavailable', async () => {
    const unheard = await cluster.service({ provider });
    const token = provider.logoutToken();
    provider.misbehave({ answer: { discovery: hangUp, jwks: hangUp } });
    const reply = await send(token, unheard);
    await unheard.stop();

    expect(reply.status).to.equal(503);
  });

  it('records the user who was logged out, and no token', async () => {
    const { user } = await session(service);
    const token = provider.logoutToken({ claims: { canary: 'canary-in-a-claim' } });
    service.auditLines.length = 0;
    await send(token);
    const replayed = provider.logoutToken({ claims: { nonce: 'canary-nonce' } });
    await send(replayed);

    const events = service.auditLines.map((line): Record<string, unknown> => JSON.parse(line));
    expect(events).to.have.length(1);
    expect(events[0]).to.deep.include({ audit: 'LoggedOut', outcome: 'success', target: user, reason: 'BackChannel', code: 200 });
    const written = [...service.logLines, ...service.auditLines].join('');
    expect(written).to.include('logout token refused');
    for (const secret of [token, replayed, token.split('.')[1] ?? '', 'canary-', provider.person.sid])
      expect(written).to.not.include(secret);
    const records = JSON.stringify((await objects(cluster.kubernetes, 'revokedtokens')).filter(({ spec }) => spec.kind === 'Logout'));
    expect(records).to.not.include(provider.person.sid).and.to.not.include(provider.person.sub);
  });

  it('takes a form of moderate size, by POST alone', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const logout_token = provider.logoutToken();
    const asJson = { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ logout_token }) };

    expect((await post(service, asJson)).status).to.equal(415);
    expect((await post(service, { headers: form, body: `logout_token=${'x'.repeat(17_000)}` })).status).to.equal(413);
    expect((await post(service, { headers: form, body: `logout_token=${logout_token}&logout_token=${logout_token}` })).status).to.equal(
      400,
    );
    expect((await post(service, { headers: form, body: 'x=y' })).status).to.equal(400);
    const get = await new Browser(service.url).request(`${path}?${new URLSearchParams({ logout_token })}`);
    expect(get.status).to.equal(405);
    expect(get.headers.get('allow')).to.equal('OPTIONS, POST');
    expect((await send(logout_token)).status, 'it was not used up').to.equal(200);
  });

  it('throttles an address that sends forged tokens, and no other address', async () => {
    const strict = await cluster.service({
      provider,
      config: { login: { perMinute: 5 }, server: { trustedProxies: ['127.0.0.1'] } },
    });
    const from = (address: string, token: string) =>
      post(strict, { headers: { 'x-forwarded-for': address }, body: new URLSearchParams({ logout_token: token }) });
    const statuses = [];
    for (let n = 0; n < 7; n += 1) statuses.push((await from('203.0.113.1', 'x.y.z')).status);

    expect(statuses).to.deep.equal([400, 400, 400, 400, 400, 429, 429]);
    const many = [];
    for (let n = 0; n < 7; n += 1) many.push((await from('203.0.113.2', provider.logoutToken())).status);
    expect(many, 'as many as there are to log out').to.deep.equal([200, 200, 200, 200, 200, 200, 200]);
    expect((await from('203.0.113.1', 'x.y.z')).headers.get('retry-after')).to.match(/^\d+$/);
    await strict.stop();
  });

  it('does not exist when it is turned off', async () => {
    const without = await cluster.service({ provider, config: { features: { backchannelLogout: false } } });
    const reply = await send(provider.logoutToken(), without);
    await without.stop();

    expect(reply.status).to.equal(404);
  });
});
