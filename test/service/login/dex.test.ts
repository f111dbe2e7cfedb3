import { expect } from 'chai';
import { expectLogIn, expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { refresh, session, tokens } from '../sessions/support.ts';
import { logIn, renewPayloadOf } from './provider/browser.ts';
import { asDex } from './provider/misbehaviour.ts';

/** The claims of docs/issuers.md about Dex. */
describe('login at an issuer that does as Dex does', () => {
  const party = relyingParty({
    clientSecret: 'a-secret-of.dex_and~us',
    config: { login: { perMinute: 1_000_000 } },
    prepare: (provider) => provider.misbehave(asDex),
  });

  beforeEach(() => party().provider.misbehave(asDex));

  it('logs users in, on both versions and with both storages', async () => {
    for (const version of ['v1', 'v2'] as const)
      for (const storage of ['cookie', 'local'] as const) await expectLogIn(party().service, { flow: 'code', version, storage });
  });

  it('returns no logout address', async () => {
    const { info } = await logIn(party().service);
    expect(info).to.not.have.property('logout_url');
  });

  it('renews with a refresh token that rotates', async () => {
    const { service } = party();
    const { browser, handle } = await session(service);
    const { refresh_token: next = '' } = renewPayloadOf(await refresh(browser, handle));
    expectOK(await refresh(browser, next));
  });

  it('ends the renewal of a login at the next login, which revokes its refresh token', async () => {
    const { service } = party();
    const first = await session(service);
    const second = await tokens(service);
    expectStatus(await refresh(first.browser, first.handle), 401);
    expect((await first.browser.info('v2')).status).to.equal(401);
    expectOK(await refresh(second.browser, second.refreshToken));
  });

  it('ends the refresh token at the logout by using it up', async () => {
    const { provider, service } = party();
    const { browser, handle } = await session(service);
    provider.forgetRequests();
    const reply = await browser.request(`/api/v2/token/logout?refresh_token=${handle}`);
    expectOK(reply);
    expect(reply.headers.get('link')).to.equal(null);
    expect(reply.headers.get('warning')).to.equal(null);
    expect(provider.hits('token')).to.equal(1);
    expect((await browser.info('v2')).status).to.equal(401);
  });
});
