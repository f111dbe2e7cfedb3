import { expect } from 'chai';
import { tokenInText } from '../../support/token-in-text.ts';
import { hangUp, json, never, oauthError } from '../login/provider/answers.ts';
import { Browser, renewPayloadOf } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { publicURL } from '../login/support.ts';
import {
  cookieName,
  exchanges,
  expiresCookie,
  handleOf,
  isIn,
  logout,
  refresh,
  revoked,
  revokedName,
  session,
  sessionObject,
  tokens,
  twoReplicas,
  whenHeard,
  whenOut,
} from './support.ts';

/** Returns the address of `Link: <address>; rel="logout"`. */
const logoutLink = (headers: Headers): URL => new URL(/^<([^>]+)>; rel="logout"$/.exec(headers.get('link') ?? '')?.[1] ?? '');

describe('logout', () => {
  const { cluster, provider, service, other } = twoReplicas();
  beforeEach(() => {
    provider.become('jane-1');
  });

  it('ends a session here and at the provider', async () => {
    const { browser, handle, path } = await session(service);
    const before = cluster.clock.now().getTime();
    const reply = await logout(browser, handle);
    const payload = renewPayloadOf(reply);

    expect(reply.status).to.equal(200);
    expect(reply.headers.get('warning')).to.equal(null);
    expect(Object.keys(payload).sort()).to.deep.equal(['expire_at', 'issued_at', 'token_storage', 'token_type']);
    // Times have whole seconds.
    expect(Date.parse(payload.expire_at)).to.be.within(before - 999, cluster.clock.now().getTime());
    expect(expiresCookie(reply)).to.equal(true);
    expect(await sessionObject(cluster.kubernetes, path)).to.equal(undefined);
    expect(provider.revocationsOf('jane-1')).to.have.length(1);
  });

  it('REN-07 leaves no valid credential, on any replica', async () => {
    const one = await session(service);
    const { browser, secret, handle } = one;
    const earlier = browser.cookies.get(cookieName);
    await logout(browser, handle);
    expect(await isIn(one, service)).to.equal(false);
    await whenOut(one, other);

    for (const { url } of [service, other]) {
      for (const ask of [(old: Browser) => old.info('v2'), (old: Browser) => refresh(old, handle), (old: Browser) => logout(old, handle)]) {
        const old = new Browser(url);
        old.cookies.set(cookieName, earlier ?? secret);
        const reply = await ask(old);
        expect(reply.status).to.equal(401);
        expect(expiresCookie(reply)).to.equal(true);
      }
    }
  });

  it('REN-07 leaves no valid token, on any replica', async () => {
    const { browser, bearer, refreshToken } = await tokens(service);
    const reply = await logout(browser, refreshToken, { headers: { authorization: `Bearer ${bearer}` } });

    expect(reply.status).to.equal(200);
    expect(renewPayloadOf(reply)).to.include({ token_storage: 'local' }).and.not.have.any.keys('access_token', 'refresh_token');
    const names = (await revoked(cluster.kubernetes)).map(({ metadata, spec }) => [metadata.name, spec.kind]);
    expect(names).to.deep.include([revokedName('Bearer', bearer), 'Bearer']);
    expect(names.filter(([, kind]) => kind === 'Refresh')).to.have.length(1);
    const ended = provider.requests.find(({ endpoint }) => endpoint === 'revocation')?.parameters.get('token') ?? '';
    expect(ended).to.not.equal('').and.to.not.equal(refreshToken);
    expect(provider.grants.isRefreshable(ended)).to.equal(false);
    provider.misbehave({ keepsRefreshTokens: true });
    await whenHeard(other, cluster.kubernetes);
    for (const { url } of [service, other]) {
      const old = new Browser(url);
      expect((await old.info('v2', bearer)).body).to.have.nested.property('details.causes[0].reason', 'TokenRevoked');
      expect((await refresh(old, refreshToken)).status).to.equal(401);
      expect((await logout(old, refreshToken)).status).to.equal(401);
    }
    expect(exchanges(provider)).to.equal(0);
  });

  it('REN-07 also revokes the tokens of the previous refresh token', async () => {
    const { browser, refreshToken } = await tokens(service);
    const { refresh_token: next = '', access_token: bearer = '' } = renewPayloadOf(await refresh(browser, refreshToken));
    await logout(browser, next, { headers: { authorization: `Bearer ${bearer}` } });

    for (const { url } of [service, other]) expect((await refresh(new Browser(url), refreshToken)).status).to.equal(401);
  });

  for (const [what, answer] of Object.entries({ fails: json(500, {}), 'hangs up': hangUp, 'never answers': never })) {
    it(`REN-07 ends the session here when the provider ${what}`, async () => {
      const { browser, handle, path } = await session(service);
      const local = await tokens(service);
      provider.misbehave({ answer: { revocation: answer } });
      for (const ask of [() => logout(browser, handle), () => logout(local.browser, local.refreshToken)]) {
        const reply = await ask();
        expect(reply.status).to.equal(200);
        expect(reply.headers.get('warning')).to.equal('199 - "identity provider not reached"');
      }

      expect(await sessionObject(cluster.kubernetes, path)).to.equal(undefined);
      expect(service.logLines.join('')).to.include('identity provider unreachable at a logout');
      provider.misbehave();
      expect((await refresh(local.browser, local.refreshToken)).status).to.equal(401);
    });
  }

  it('redeems the refresh token where there is no revocation endpoint', async () => {
    const bare = await TestProvider.start({ now: cluster.clock.now });
    bare.misbehave({ metadata: { revocation_endpoint: undefined } });
    const replica = await cluster.service({ provider: bare });
    const { browser, handle } = await session(replica);
    const reply = await logout(browser, handle);

    expect(reply.status).to.equal(200);
    expect(reply.text).not.to.match(tokenInText);
    expect(exchanges(bare)).to.equal(1);
    await replica.stop();
    await bare.stop();
  });

  it('is 200 also when the provider does not know the token any more: its error is ignored', async () => {
    const { browser, handle, path } = await session(service);
    const local = await tokens(service);
    provider.misbehave({ answer: { revocation: oauthError(400, 'invalid_token') } });
    for (const reply of [await logout(browser, handle), await logout(local.browser, local.refreshToken)]) {
      expect(reply.status, reply.text).to.equal(200);
      expect(reply.headers.get('warning')).to.equal(null);
    }

    expect(await sessionObject(cluster.kubernetes, path)).to.equal(undefined);
  });

  it('REN-09 does not end the session of another user', async () => {
    provider.become('alice');
    const alice = await session(service);
    provider.become('bob');
    const bob = await session(service);
    const reply = await logout(alice.browser, bob.handle);

    expect(reply.status).to.equal(400);
    for (const person of ['alice', 'bob']) expect(provider.revocationsOf(person), person).to.deep.equal([]);
    expect((await alice.browser.info('v2')).status).to.equal(200);
    expect((await bob.browser.info('v2')).status).to.equal(200);
    expect((await logout(alice.browser, '')).status).to.equal(400);
  });

  it('REN-10 redirects browsers to the configured address only', async () => {
    const { browser, handle } = await session(service);
    const path = `/api/v2/token/logout?refresh_token=${handle}&post_logout_redirect_uri=https%3A%2F%2Fevil.example&state=x`;
    const { status, headers, text } = await browser.request(path);
    const link = logoutLink(headers);

    expect(status).to.equal(200);
    expect(`${link.origin}${link.pathname}`).to.equal(`${provider.issuer}/end_session`);
    expect([...link.searchParams.keys()].sort()).to.deep.equal(['client_id', 'id_token_hint', 'post_logout_redirect_uri', 'state']);
    expect(link.searchParams.get('post_logout_redirect_uri')).to.equal(`${publicURL}/`);
    expect(link.searchParams.get('state')).to.match(/^[\w-]{43}$/);
    expect(link.searchParams.get('client_id')).to.equal('atrium');
    expect(text).not.to.include('evil.example');
  });

  it('leaves a large ID token out of that address', async () => {
    provider.misbehave({ idToken: { claims: { groups: Array.from({ length: 300 }, (_, n) => `group-${n}`) } } });
    const { browser, handle } = await session(service);

    expect(logoutLink((await logout(browser, handle)).headers).searchParams.has('id_token_hint')).to.equal(false);
  });

  it('accepts the previous handle for a moment, which was sent during a renewal', async () => {
    const { browser, handle, path } = await session(service);
    expect(handleOf(await refresh(browser, handle))).not.to.equal(handle);

    expect((await logout(browser, handle)).status).to.equal(200);
    expect(await sessionObject(cluster.kubernetes, path)).to.equal(undefined);
  });

  it('ignores an Authorization header that it cannot use', async () => {
    for (const authorization of ['Basic amFuZTpwYXNz', 'Bearer nonsense', 'Bearer']) {
      const { browser, refreshToken } = await tokens(service);
      expect((await logout(browser, refreshToken, { headers: { authorization } })).status, authorization).to.equal(200);
    }
  });

  it('takes the token out of the body of a form', async () => {
    const { browser, refreshToken } = await tokens(service);
    const reply = await browser.request('/api/v2/token/logout', {
      method: 'POST',
      body: new URLSearchParams({ refresh_token: refreshToken }),
    });

    expect(reply.status, reply.text).to.equal(200);
    expect((await refresh(browser, refreshToken)).status).to.equal(401);
  });
});
