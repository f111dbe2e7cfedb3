/** Back-channel logout modules of the OpenID certification for relying parties. */
import { expect } from 'chai';
import { logIn, loginInfoOf } from '../../login/provider/browser.ts';
import { visit } from '../../login/provider/certificates.ts';
import type { TokenChange } from '../../login/provider/tokens.ts';
import { countSessions, expectOK, relyingParty } from './relying-party.ts';

const event = 'http://schemas.openid.net/event/backchannel-logout';

const faults: Record<string, readonly TokenChange[]> = {
  'alg-none': [{ signer: 'nobody' }],
  'no-event': [{ claims: { events: undefined } }, { claims: { events: {} } }],
  'with-nonce': [{ claims: { nonce: 'a-nonce' } }],
  'wrong-alg': [{ signer: 'client secret' }, { signer: 'public key' }, { signer: 'unpublished ES256' }],
  'wrong-aud': [{ claims: { aud: 'another-client' } }, { claims: { aud: undefined } }],
  'wrong-event': [
    { claims: { events: { 'http://schemas.openid.net/event/another': {} } } },
    { claims: { events: { [event]: 'yes' } } },
    { claims: { events: { [event]: [] } } },
    { claims: { events: { [event]: null } } },
    { claims: { events: [event] } },
  ],
  'wrong-iss': [{ claims: { iss: 'https://other.example/tenant' } }, { claims: { iss: undefined } }],
};

describe('OpenID relying party, back-channel logout', () => {
  const party = relyingParty({ clientSecret: 'a-client-secret-of-32-characters' });

  /** Logs in, and logs out at the provider, which sends a logout token. */
  async function logOutThere(change?: TokenChange) {
    const { provider, service, cluster } = party();
    provider.person = { ...provider.person, sid: `session-${Math.random()}` };
    provider.backchannelLogoutURL = `${service.url}/api/v2/token/backchannel-logout`;
    provider.logoutAnswers.length = 0;
    const { browser, callback } = await logIn(service);
    expectOK(callback);
    const sessions = await countSessions(cluster);
    const { logout_url: url = '' } = loginInfoOf(await browser.login('v2'));
    if (change) provider.misbehave({ logoutToken: change });
    await visit(url);
    const [answer] = provider.logoutAnswers;
    return { browser, answer, ended: sessions - (await countSessions(cluster)) };
  }

  it('oidcc-client-test-rp-backchannel-rpinitlogout', async () => {
    const { browser, answer, ended } = await logOutThere();

    expect(answer?.status, answer?.text).to.equal(200);
    expect(answer?.headers.get('cache-control')).to.equal('no-store');
    expect(ended).to.equal(1);
    expect((await browser.info('v2')).status).to.equal(401);
  });

  it('oidcc-client-test-rp-backchannel-rpinitlogout-wrong-alg, by a published key', async () => {
    const { provider } = party();
    await provider.rotateKeys({ alg: 'ES256' });
    await provider.rotateKeys();
    const { browser, answer, ended } = await logOutThere({ signer: 'published ES256' });

    expect(answer?.status, answer?.text).to.equal(400);
    expect(ended).to.equal(0);
    expectOK(await browser.info('v2'));
  });

  for (const [name, changes] of Object.entries(faults)) {
    it(`oidcc-client-test-rp-backchannel-rpinitlogout-${name}`, async () => {
      for (const change of changes) {
        const { browser, answer, ended } = await logOutThere(change);

        expect(answer?.status, JSON.stringify(change)).to.equal(400);
        expect(answer?.headers.get('cache-control')).to.equal('no-store');
        expect(JSON.parse(answer?.text ?? '')).to.deep.include({ kind: 'Status', status: 'Failure', reason: 'BadRequest', code: 400 });
        expect(ended).to.equal(0);
        expectOK(await browser.info('v2'));
      }
    });
  }
});
