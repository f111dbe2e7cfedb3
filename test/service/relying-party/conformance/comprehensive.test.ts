/** Modules of the comprehensive plan for relying parties, beyond those of the certification profiles. */
import { expect } from 'chai';
import { logIn } from '../../login/provider/browser.ts';
import { expectAccepted, expectOK, expectStatus, refuses, relyingParty, waysOf } from './relying-party.ts';

describe('OpenID relying party, comprehensive plan', () => {
  const party = relyingParty({ clientSecret: 'a secret' });

  refuses(party, 'code', 'oidcc-client-test-missing-aud', { redeemed: { claims: { aud: undefined } } }, { tokenHits: 1 });
  refuses(
    party,
    'hybrid',
    'oidcc-client-test-missing-aud (hybrid)',
    { frontChannel: { claims: { aud: undefined } } },
    { cause: 'id_token' },
  );
  refuses(party, 'code', 'oidcc-client-test-invalid-sig-hs256', { redeemed: { signer: 'client secret' } }, { tokenHits: 1 });
  refuses(
    party,
    'hybrid',
    'oidcc-client-test-invalid-sig-hs256 (hybrid)',
    { frontChannel: { signer: 'client secret' } },
    { cause: 'id_token' },
  );
  refuses(party, 'code', 'oidcc-client-test-invalid-sig-es256', { redeemed: { signer: 'unpublished ES256' } }, { tokenHits: 1 });
  refuses(
    party,
    'hybrid',
    'oidcc-client-test-invalid-sig-es256 (hybrid)',
    { frontChannel: { signer: 'unpublished ES256' } },
    { cause: 'id_token' },
  );

  it('oidcc-client-test-userinfo-signed', async () => {
    const { provider, service } = party();
    provider.misbehave({ claimsOnlyAtUserInfo: true, signsUserInfo: true });
    for (const way of waysOf('code')) {
      const { callback } = await logIn(service, way);
      // The service neither requests nor offers it: it refuses the answer, and uses no claim of it.
      expectStatus(callback, 503);
      expect(callback.cookies.filter((line) => line.includes('atrium_session_') && !/max-age=0|1970/i.test(line))).to.deep.equal([]);
    }
  });

  it('oidcc-client-test-userinfo-bearer-header', async () => {
    const { provider } = party();
    provider.misbehave({ claimsOnlyAtUserInfo: true });
    const { callback } = await logIn(party().service, { storage: 'local' });
    expectOK(callback);
    const [asked] = provider.requests.filter(({ endpoint }) => endpoint === 'userinfo');
    expect(asked?.headers.authorization).to.match(/^Bearer \S+$/);
    expect([...(asked?.parameters.keys() ?? [])]).to.deep.equal([]);
    provider.misbehave();
    for (const way of waysOf('code')) await expectAccepted(party(), way);
  });
});
