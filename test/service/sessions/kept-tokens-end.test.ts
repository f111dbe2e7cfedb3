import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { json } from '../login/provider/answers.ts';
import { Browser, renewPayloadOf, userInfoOf } from '../login/provider/browser.ts';
import {
  becomeOfOneSession,
  exchanges,
  expectEnded,
  handleOf,
  info,
  logout,
  patchUser,
  refresh,
  revoked,
  revokedName,
  session,
  tokens,
  twoReplicas,
  whenHeard,
} from './support.ts';

describe('tokens that the client stores, at their end', () => {
  const { cluster, provider, service, other } = twoReplicas();
  beforeEach(() => {
    becomeOfOneSession(provider, cluster.clock);
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
    await expectEnded([service, other], mine);
    for (const at of [service, other]) expect((await info(at, elsewhere.bearer)).status).to.equal(200);
    for (const one of [theirs, seconds, elsewhere]) {
      const renewed = await refresh(new Browser(other.url), one.refreshToken);
      expect(renewed.status, renewed.text).to.equal(200);
      for (const at of [service, other]) expect((await info(at, renewPayloadOf(renewed).access_token ?? '')).status).to.equal(200);
    }
  });

  it('END-03 end with the objects that the contract names: the login, the bearer tokens handed out last, and those of the session at the issuer', async () => {
    const { bearer, refreshToken } = await tokens(service);
    const before = new Set((await revoked(cluster.kubernetes)).map(({ metadata }) => metadata.name));
    const begun = cluster.clock.now().getTime();
    expect((await logout(new Browser(service.url), refreshToken)).status).to.equal(200);
    const ended = cluster.clock.now().getTime();

    const written = (await revoked(cluster.kubernetes)).filter(({ metadata }) => !before.has(metadata.name));
    expect(written.map(({ spec }) => spec.kind).sort()).to.deep.equal(['Bearer', 'Logout', 'Refresh']);
    const of = (kind: string) => written.find(({ spec }) => spec.kind === kind);
    expect(of('Bearer')?.metadata.name).to.equal(revokedName('Bearer', bearer));
    const notBefore = Date.parse(of('Logout')?.spec.notBefore ?? '');
    // The answer is delayed until the end of that second.
    expect(notBefore).to.be.within(begun, ended);
    expect(of('Logout')?.spec.session).to.match(/^[0-9a-f]{40}$/);
    const day = 86_400_000;
    for (const kind of ['Bearer', 'Logout'])
      expect(Date.parse(of(kind)?.spec.expiration ?? '')).to.be.within(begun + day - 1, begun + 2 * day);
    expect(Date.parse(of('Refresh')?.spec.expiration ?? '')).to.be.within(begun + 6.9 * day, begun + 7 * day);
  });

  it('END-05 leave the next login through a living session of the issuer alone, with its renewals', async () => {
    const first = await tokens(service);
    expect((await logout(new Browser(service.url), first.refreshToken)).status).to.equal(200);
    await expectEnded([service, other], first);
    let { bearer, refreshToken } = await tokens(service);
    for (let n = 0; n < 3; n += 1) {
      for (const at of [service, other]) expect((await info(at, bearer)).status).to.equal(200);
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

    await expectEnded([service, other], { bearer, refreshToken });
    await expectEnded([service, other], newer);
  });

  it('END-05 end with a logout everywhere, and the next login is valid', async () => {
    const first = await tokens(service);
    const headers = { authorization: `Bearer ${first.bearer}` };
    expect((await new Browser(service.url).request('/auth/v1/sessions', { method: 'DELETE', headers })).status).to.equal(204);

    await expectEnded([service, other], first);
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
        for (const at of [service, other])
          await eventually(
            () => info(at, bearer),
            ({ status }) => status === 401,
          );
        provider.forgetRequests();
        for (const at of [service, other]) {
          for (const token of [refreshToken, newer]) expect((await refresh(new Browser(at.url), token)).status).to.equal(401);
          // The first replica has recorded the end of the login.
          await whenHeard(other, cluster.kubernetes);
        }

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
    for (const at of [service, other])
      await eventually(
        () => info(at, kept.bearer),
        ({ status }) => status === 401,
      );
    cluster.clock.advance(2);
    const again = await tokens(service);
    expect(userInfoOf(await info(service, again.bearer)).ext.user).to.equal(user);
    provider.misbehave({ keepsRefreshTokens: true });
    provider.forgetRequests();

    for (const at of [service, other]) {
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

  it('REN-07 are revoked at the issuer later if it could not be reached at the logout', async () => {
    const { refreshToken } = await tokens(service);
    provider.misbehave({ answer: { revocation: json(500, {}) } });
    const reply = await logout(new Browser(service.url), refreshToken);
    expect([reply.status, reply.headers.get('warning')]).to.deep.equal([200, '199 - "identity provider not reached"']);
    provider.misbehave();
    provider.forgetRequests();

    await eventually(
      () => provider.hits('revocation'),
      (count) => count === 1,
    );
  });
});
