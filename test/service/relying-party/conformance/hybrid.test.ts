/** Hybrid relying-party profile of the OpenID certification: response_type=code id_token, both handed to the callback. */
import { expect } from 'chai';
import { logIn } from '../../login/provider/browser.ts';
import { idTokenFaults, withoutKeyID } from './id-token-faults.ts';
import { accepts, expectAccepted, expectOK, refuses, relyingParty, waysOf } from './relying-party.ts';

const flow = 'hybrid';

describe('OpenID relying party, hybrid profile (code id_token)', () => {
  const party = relyingParty();

  accepts(party, flow, 'oidcc-client-test');
  accepts(party, flow, 'oidcc-client-test-kid-absent-single-jwks', withoutKeyID);
  for (const [module, misbehaviour] of idTokenFaults('frontChannel')) refuses(party, flow, module, misbehaviour, { cause: 'id_token' });
  for (const [module, misbehaviour] of idTokenFaults('redeemed')) {
    refuses(party, flow, `${module}, in the token that the code is redeemed for`, misbehaviour, { tokenHits: 1 });
  }
  refuses(
    party,
    flow,
    'oidcc-client-test-invalid-chash',
    { frontChannel: { claims: { c_hash: 'AAAAAAAAAAAAAAAAAAAAAA' } } },
    { cause: 'id_token' },
  );
  refuses(party, flow, 'oidcc-client-test-missing-chash', { frontChannel: { claims: { c_hash: undefined } } }, { cause: 'id_token' });
  refuses(
    party,
    flow,
    'oidcc-client-test-userinfo-invalid-sub',
    { claimsOnlyAtUserInfo: true, userInfo: { sub: 'somebody-else' } },
    { tokenHits: 1, userInfoHits: 1 },
  );
  refuses(
    party,
    flow,
    'a redeemed ID token about another subject than the one in the front channel',
    { frontChannel: { claims: { sub: 'another' } } },
    { tokenHits: 1 },
  );

  it('oidcc-client-test-idtoken-sig-rs256', async () => {
    expect(party().provider.keys.map(({ alg }) => alg)).to.deep.equal(['RS256']);
    for (const way of waysOf(flow)) await expectAccepted(party(), way);
  });

  it('oidcc-client-test-nonce-unless-code-flow', async () => {
    for (const way of waysOf(flow)) {
      const { info, callback } = await logIn(party().service, way);
      expect(new URL(info.auth_url).searchParams.get('nonce')).to.match(/^[\w-]{43}$/);
      expectOK(callback);
    }
  });

  it('oidcc-client-test-scope-userinfo-claims', async () => {
    const { provider, service } = party();
    provider.misbehave({ claimsOnlyAtUserInfo: true });
    for (const way of waysOf(flow)) {
      const { callback } = await logIn(service, way);
      expectOK(callback);
      expect(callback.body).to.deep.include({ name: 'jane@example.com', groups: ['dev', 'oncall'] });
    }
    expect(provider.hits('userinfo')).to.equal(2);
  });
});

describe('OpenID relying party, hybrid profile (code id_token), several keys', () => {
  const party = relyingParty({ prepare: (provider) => provider.rotateKeys() });

  // The suite leaves the choice to the relying party: the service tries each key.
  accepts(party, flow, 'oidcc-client-test-kid-absent-multiple-jwks', withoutKeyID);
});

describe('OpenID relying party, hybrid profile (code id_token), confidential client', () => {
  const party = relyingParty({ clientSecret: 'a secret' });

  it('oidcc-client-test-client-secret-basic', async () => {
    const { provider } = party();
    for (const way of waysOf(flow)) await expectAccepted(party(), way);
    const requests = provider.requests.filter(({ endpoint }) => endpoint === 'token');
    expect(requests).to.have.length(4);
    for (const { headers } of requests) expect(headers.authorization).to.match(/^Basic /);
  });
});
