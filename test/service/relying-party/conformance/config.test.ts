/** Config relying-party profile of the OpenID certification: discovery and keys. */
import { expect } from 'chai';
import { endpoints } from '../../login/provider/answers.ts';
import { authorize, Browser, logIn, loginInfoOf } from '../../login/provider/browser.ts';
import { expectLogIn, expectOK, expectStatus, refuses, relyingParty, waysOf } from './relying-party.ts';

const flow = 'code';

describe('OpenID relying party, config profile', () => {
  const party = relyingParty();

  it('oidcc-client-test-discovery-openid-config', async () => {
    const { cluster, provider, service } = party();
    // An earlier client may have read it already.
    expectOK((await logIn(service, { flow })).callback);
    provider.forgetRequests();
    const { info, callback } = await logIn(await cluster.service({ provider }), { flow });
    expect(new URL(info.auth_url).origin + new URL(info.auth_url).pathname).to.equal(`${provider.issuer}/authorize`);
    expectOK(callback);
    expect(provider.hits('discovery')).to.equal(1);
  });

  it('oidcc-client-test-discovery-jwks-uri-keys', async () => {
    const fresh = await party().cluster.service({ provider: party().provider });
    party().provider.forgetRequests();
    for (const way of waysOf(flow)) await expectLogIn(fresh, way);
    expect(party().provider.hits('jwks')).to.equal(1);
  });

  it('oidcc-client-test-discovery-issuer-mismatch', async () => {
    const { cluster, provider } = party();
    provider.misbehave({ metadata: { issuer: `${provider.issuer}/` } });
    provider.forgetRequests();
    const browser = new Browser((await cluster.service({ provider })).url);
    expectStatus(await browser.login('v2'), 503);
    for (const endpoint of endpoints) if (endpoint !== 'discovery') expect(provider.hits(endpoint), endpoint).to.equal(0);
    // Answers from the start of the service are cached for some seconds. The clock stands still from here on.
    cluster.clock.freeze();
    cluster.clock.advance(11);
    provider.forgetRequests();
    for (const version of ['v1', 'v2'] as const) {
      const reply = await browser.login(version);
      expectStatus(reply, 503);
      expect(reply.headers.get('retry-after')).to.match(/^\d+$/);
    }
    cluster.clock.thaw();
    expectStatus(await browser.callback('v2', { code: 'a', state: 'b'.repeat(43) }), 400);
    expect(provider.requests.map(({ endpoint }) => endpoint)).to.deep.equal(['discovery']);
  });

  refuses(party, flow, 'oidcc-client-test-idtoken-sig-none', { idToken: { signer: 'nobody' } }, { tokenHits: 1 });
});

describe('OpenID relying party, config profile, key rotation', () => {
  const party = relyingParty();

  it('oidcc-client-test-signing-key-rotation', async () => {
    const { provider, service } = party();
    for (const way of waysOf(flow)) await expectLogIn(service, way);
    await provider.rotateKeys();
    provider.forgetRequests();
    for (const way of waysOf(flow)) await expectLogIn(service, way);
    expect(provider.hits('jwks')).to.equal(1);
  });
});

describe('OpenID relying party, config profile, key rotation before signing', () => {
  const party = relyingParty();

  it('oidcc-client-test-signing-key-rotation-just-before-signing', async () => {
    const { provider, service } = party();
    await expectLogIn(service, { flow, version: 'v1', storage: 'cookie' });
    const browser = new Browser(service.url);
    const info = loginInfoOf(await browser.login('v2'));
    await provider.rotateKeys({ keepsOld: false });
    expect((await browser.callback('v2', await authorize(info.auth_url))).status).to.equal(200);
    for (const way of waysOf(flow)) await expectLogIn(service, way);
  });
});
