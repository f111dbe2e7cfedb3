/** Implicit relying-party profile of the OpenID certification: response_type=id_token. */
import { expect } from 'chai';
import { logIn } from '../../login/provider/browser.ts';
import { idTokenFaults, withoutKeyID } from './id-token-faults.ts';
import { accepts, expectAccepted, expectOK, refuses, relyingParty, waysOf } from './relying-party.ts';

const flow = 'id_token';
const config = { login: { responseMode: 'id_token' } };

describe('OpenID relying party, implicit profile (id_token)', () => {
  const party = relyingParty({ config });

  accepts(party, flow, 'oidcc-client-test');
  accepts(party, flow, 'oidcc-client-test-kid-absent-single-jwks', withoutKeyID);
  for (const [module, misbehaviour] of idTokenFaults('frontChannel')) refuses(party, flow, module, misbehaviour, { cause: 'id_token' });

  it('oidcc-client-test-idtoken-sig-rs256', async () => {
    expect(party().provider.keys.map(({ alg }) => alg)).to.deep.equal(['RS256']);
    for (const way of waysOf(flow)) await expectAccepted(party(), way);
  });

  it('oidcc-client-test-nonce-unless-code-flow', async () => {
    for (const way of waysOf(flow)) {
      const { info, callback } = await logIn(party().service, way);
      const asked = new URL(info.auth_url).searchParams;
      expect(asked.get('response_type')).to.equal('id_token');
      expect(asked.get('nonce')).to.match(/^[\w-]{43}$/);
      expectOK(callback);
    }
  });

  it('oidcc-client-test-scope-userinfo-claims', async () => {
    // Without an access token, the claims of a scope are in the ID token (OpenID Connect Core 5.4).
    for (const way of waysOf(flow)) {
      const { info, callback } = await logIn(party().service, way);
      expect(new URL(info.auth_url).searchParams.get('scope')?.split(' ')).to.include.members(['openid', 'profile', 'email']);
      expect(callback.body).to.deep.include({ name: 'jane@example.com', email: 'jane@example.com', groups: ['dev', 'oncall'] });
    }
    expect(party().provider.hits('userinfo')).to.equal(0);
    expect(party().provider.hits('token')).to.equal(0);
  });
});

describe('OpenID relying party, implicit profile (id_token), several keys', () => {
  const party = relyingParty({ config, prepare: (provider) => provider.rotateKeys() });

  // The suite leaves the choice to the relying party: the service tries each key.
  accepts(party, flow, 'oidcc-client-test-kid-absent-multiple-jwks', withoutKeyID);
});
