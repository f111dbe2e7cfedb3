/** Modules of the FAPI 2 plan for relying parties about the authorization response: `state`, and `iss` of RFC 9207. */
import { expect } from 'chai';
import { endpoints } from '../../login/provider/answers.ts';
import { logIn } from '../../login/provider/browser.ts';
import { expectAccepted, expectLogIn, expectStatus, relyingParty, waysOf } from './relying-party.ts';

const prefix = 'fapi2-security-profile-final-client-test';
const announced = { authorization_response_iss_parameter_supported: true };

describe('OpenID relying party, authorization response', () => {
  const config = { login: { requireIss: true } };
  const party = relyingParty({ config, prepare: (provider) => provider.misbehave({ metadata: announced }) });

  beforeEach(() => party().provider.misbehave({ metadata: announced }));

  for (const [module, { response, cause, ways }] of Object.entries({
    'ensure-authorization-response-with-invalid-state-fails': {
      response: { state: 'x'.repeat(43) },
      cause: 'state',
      ways: [...waysOf('code'), ...waysOf('hybrid')],
    },
    'ensure-authorization-response-with-invalid-missing-state-fails': {
      response: { state: undefined },
      cause: 'state',
      ways: [...waysOf('code'), ...waysOf('hybrid')],
    },
    'invalid-authorization-response-iss': {
      response: { iss: 'https://other.example/tenant' },
      cause: 'iss',
      ways: [...waysOf('code'), ...waysOf('hybrid')],
    },
    // An answer with an ID token, which names its issuer, may leave `iss` out.
    'remove-authorization-response-iss': { response: { iss: undefined }, cause: 'iss', ways: waysOf('code') },
  })) {
    it(`${prefix}-${module}`, async () => {
      const { provider, service } = party();
      for (const way of [...waysOf('code'), ...waysOf('hybrid')]) await expectAccepted(party(), way);
      provider.misbehave({ metadata: announced, response });
      for (const way of ways) {
        provider.forgetRequests();
        const { callback } = await logIn(service, way);
        expectStatus(callback, 400, cause);
        for (const endpoint of endpoints) if (endpoint !== 'authorize') expect(provider.hits(endpoint), endpoint).to.equal(0);
        expect(callback.cookies.filter((line) => line.includes('atrium_session_'))).to.deep.equal([]);
      }
    });
  }

  it('takes an authorization response without iss that has an ID token', async () => {
    const { provider, service } = party();
    provider.misbehave({ metadata: announced, response: { iss: undefined } });
    for (const way of waysOf('hybrid')) await expectLogIn(service, way);
  });
});
