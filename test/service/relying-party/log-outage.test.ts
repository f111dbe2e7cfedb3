/** Login when the issuer or the API server cannot be reached. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { expectUnavailable, identityProviderFailed, readiness } from '../login/issuer-unavailable.ts';
import { authorize, Browser, logIn, loginInfoOf, userInfoOf } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster } from '../login/support.ts';
import { expectStatus, relyingParty } from './conformance/relying-party.ts';

const versions = ['v1', 'v2'] as const;

describe('an API server that is away', () => {
  const party = relyingParty();

  it('LEAK-03 is named to clients only by its kind', async () => {
    const { provider, service, forwarding } = party();
    for (const one of [service, await forwarding()]) {
      const { browser, callback } = await logIn(one);
      const handle = userInfoOf(callback).ext.token?.refresh_token ?? '';
      const begun = await authorize(loginInfoOf(await browser.login('v2')).auth_url);
      await one.relay.cut();
      const refused = [
        await browser.callback('v2', begun),
        await browser.request(`/api/v2/token/refresh?${new URLSearchParams({ refresh_token: handle })}`),
        await browser.info('v2', provider.idToken({ claims: { iss: 'https://another.example' } })),
      ];
      await one.relay.mend();
      for (const reply of refused) {
        expectStatus(reply, 503);
        expect(reply.body).to.have.property('message', 'kubernetes is not available, try again');
      }
    }
  });
});

describe('an issuer that is down when the service starts', () => {
  it('FLT-01 is waited for: the rest works, and login as soon as it is back', async () => {
    const cluster = await LoginCluster.start();
    const provider = await TestProvider.start();
    await provider.stop();
    try {
      const service = await cluster.service({ provider });
      const browser = new Browser(service.url);
      expect((await browser.request('/healthz')).status).to.equal(200);
      for (const version of versions) expectUnavailable(await browser.login(version));
      expectUnavailable(await browser.request('/api/v2/token/redirect', { headers: { 'sec-fetch-mode': 'navigate' } }));
      expect((await browser.request('/readyz')).status).to.equal(200);
      expect(await readiness(service)).to.match(identityProviderFailed);
      expect((await browser.request('/api/v1/i18n/languages')).status).to.equal(200);
      await provider.resume();
      cluster.clock.advance(11);
      await eventually(
        async () => (await browser.login('v2')).status,
        (status) => status === 200,
      );
      expect((await logIn(service)).callback.status).to.equal(200);
      expect(await readiness(service)).to.not.match(identityProviderFailed);
    } finally {
      await cluster.stop();
      await provider.stop();
    }
  });
});

describe('an issuer that goes away, and one that changes its keys', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000 } } });

  it('FLT-02 is not needed to judge tokens', async () => {
    const { provider, service } = party();
    const { browser } = await logIn(service);
    const kid = provider.keys[0]?.kid;
    const good = provider.idToken({ claims: { jti: 'never seen' } });
    const forged = provider.idToken({ header: { kid }, signer: 'unpublished RS256' });
    const unknown = provider.idToken({ signer: 'unpublished RS256' });
    const begun = loginInfoOf(await browser.login('v2'));
    const answer = await authorize(begun.auth_url);
    await provider.stop();
    try {
      expect((await browser.info('v2')).status, 'a session').to.equal(200);
      expect((await new Browser(service.url).info('v2', good)).status, 'a token that we see for the first time').to.equal(200);
      expect((await new Browser(service.url).info('v2', forged)).status, 'a forged one').to.equal(401);
      // The issuer may have rotated its keys, so the service cannot know whether the issuer has that key.
      expect((await new Browser(service.url).info('v2', unknown)).status, 'one of a key that is not known').to.be.oneOf([401, 503]);
      expectUnavailable(await browser.callback('v2', answer));
    } finally {
      await provider.resume();
    }
  });

  it('FLT-02 may rotate its keys while people log in', async () => {
    const { cluster, provider } = party();
    const service = await cluster.service({ provider, config: { login: { perMinute: 1_000_000 } } });
    const statuses: number[] = [];
    const logInOften = async (times: number) => {
      for (let turn = 0; turn < times; turn += 1) {
        const several = Array.from({ length: 5 }, async () => statuses.push((await logIn(service)).callback.status));
        await Promise.all(several);
      }
    };
    await logInOften(2);
    provider.forgetRequests();
    await Promise.all([logInOften(8), provider.rotateKeys()]);
    await logInOften(2);
    expect(statuses).to.deep.equal(statuses.map(() => 200));
    expect(provider.hits('jwks')).to.equal(1);
  });

  it('FLT-02 is not asked again for every unknown key', async () => {
    const { cluster, provider } = party();
    const service = await cluster.service({ provider });
    const { callback } = await logIn(service, { storage: 'local' });
    const token = userInfoOf(callback).ext.token?.access_token;
    provider.forgetRequests();
    const browser = new Browser(service.url);
    for (let turn = 0; turn < 50; turn += 1) {
      const invented = provider.idToken({ header: { kid: `invented-${turn}` }, signer: 'unpublished RS256' });
      expect((await browser.info('v2', invented)).status).to.equal(401);
    }
    expect(provider.hits('jwks')).to.be.at.most(1);
    expect((await browser.info('v2', token)).status).to.equal(200);
  });
});
