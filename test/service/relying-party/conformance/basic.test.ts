/** Basic relying-party profile of the OpenID certification: response_type=code. */
import { expect } from 'chai';
import { logIn } from '../../login/provider/browser.ts';
import { idTokenFaults, withoutKeyID } from './id-token-faults.ts';
import { accepts, expectAccepted, expectOK, refuses, relyingParty, waysOf } from './relying-party.ts';

const flow = 'code';

describe('OpenID relying party, basic profile (code)', () => {
  const party = relyingParty();

  accepts(party, flow, 'oidcc-client-test');
  accepts(party, flow, 'oidcc-client-test-kid-absent-single-jwks', withoutKeyID);
  for (const [module, misbehaviour] of idTokenFaults('redeemed')) {
    refuses(party, flow, module, misbehaviour, { tokenHits: 1 });
  }
  refuses(party, flow, 'oidcc-client-test-idtoken-sig-none', { idToken: { signer: 'nobody' } }, { tokenHits: 1 });
  refuses(
    party,
    flow,
    'oidcc-client-test-userinfo-invalid-sub',
    { claimsOnlyAtUserInfo: true, userInfo: { sub: 'somebody-else' } },
    { tokenHits: 1, userInfoHits: 1 },
  );

  it('oidcc-client-test-idtoken-sig-rs256', async () => {
    expect(party().provider.keys.map(({ alg }) => alg)).to.deep.equal(['RS256']);
    for (const way of waysOf(flow)) await expectAccepted(party(), way);
  });

  it('oidcc-client-test-scope-userinfo-claims', async () => {
    const { provider, service } = party();
    provider.misbehave({ claimsOnlyAtUserInfo: true });
    for (const way of waysOf(flow)) {
      provider.forgetRequests();
      const { info, callback } = await logIn(service, way);
      expect(new URL(info.auth_url).searchParams.get('scope')?.split(' ')).to.include.members(['openid', 'profile', 'email']);
      expectOK(callback);
      expect(callback.body).to.deep.include({ name: 'jane@example.com', email: 'jane@example.com', groups: ['dev', 'oncall'] });
      expect(provider.hits('userinfo')).to.equal(1);
    }
  });
});

describe('OpenID relying party, basic profile (code), several keys', () => {
  const party = relyingParty({ prepare: (provider) => provider.rotateKeys() });

  // The suite leaves the choice to the relying party: the service tries each key.
  accepts(party, flow, 'oidcc-client-test-kid-absent-multiple-jwks', withoutKeyID);
});

describe('OpenID relying party, basic profile (code), confidential client', () => {
  const secret = 'a secret: with + and ünicode %';
  const party = relyingParty({ clientSecret: secret });

  it('oidcc-client-test-client-secret-basic', async () => {
    const { provider } = party();
    provider.misbehave({ metadata: { token_endpoint_auth_methods_supported: undefined } });
    for (const way of waysOf(flow)) await expectAccepted(party(), way);
    const requests = provider.requests.filter(({ endpoint }) => endpoint === 'token');
    expect(requests).to.have.length(4);
    for (const { headers, parameters } of requests) {
      expect(headers.authorization).to.match(/^Basic /);
      expect([...parameters.keys()]).to.not.include('client_secret');
    }
  });
});
