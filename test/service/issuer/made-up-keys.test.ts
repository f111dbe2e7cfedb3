import { expect } from 'chai';
import { Browser } from '../login/provider/browser.ts';
import { expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { session } from '../sessions/support.ts';

describe('a made-up key id at a replica that has no keys', () => {
  const party = relyingParty();

  it('I4 reads the keys once, for a bearer token and for a logout token', async () => {
    const { cluster, provider } = party();
    const tokens = [
      (at: string) => new Browser(at).info('v2', provider.idToken({ header: { kid: 'made-up' } })),
      (at: string) =>
        new Browser(at).request('/api/v2/token/backchannel-logout', {
          method: 'POST',
          body: new URLSearchParams({ logout_token: provider.logoutToken({ header: { kid: 'made-up' } }) }),
        }),
    ];
    for (const [index, send] of tokens.entries()) {
      const service = await cluster.service({ provider });
      provider.forgetRequests();
      expectStatus(await send(service.url), index === 0 ? 401 : 400);
      expect(provider.hits('jwks')).to.equal(1);
      await service.stop();
    }
  });
});

describe('a logout token in an algorithm that the issuer does not announce', () => {
  const party = relyingParty();

  it('I4 is refused by default, and the session lives; an announced one counts', async () => {
    const { cluster, provider } = party();
    await provider.rotateKeys({ alg: 'ES256' });
    provider.misbehave({ metadata: { id_token_signing_alg_values_supported: ['RS256', 'none'] } });
    provider.become();
    const service = await cluster.service({ provider });
    const send = (token: string) =>
      new Browser(service.url).request('/api/v2/token/backchannel-logout', {
        method: 'POST',
        body: new URLSearchParams({ logout_token: token }),
      });
    expectStatus(await send(provider.logoutToken()), 400);
    expectStatus(await send(provider.logoutToken({ signer: 'nobody' })), 400);
    await provider.rotateKeys();
    const { browser } = await session(service);
    expect((await send(provider.logoutToken())).status).to.equal(200);
    expectStatus(await browser.info('v2'), 401);
    await service.stop();
  });
});
