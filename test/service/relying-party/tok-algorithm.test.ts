import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { logIn } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster } from '../login/support.ts';
import { refresh, session } from '../sessions/support.ts';
import { expectOK, expectStatus } from './conformance/relying-party.ts';

const flows = ['code', 'hybrid'] as const;

describe('the algorithm of the issuer', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start());
  afterEach(async () => {
    provider.misbehave();
    await provider.rotateKeys();
  });

  const announcements: Record<string, [announced: unknown, login: Record<string, unknown>, accepted: readonly string[]]> = {
    'RS256 beside others': [['none', 'ES256', 'RS256'], {}, ['RS256']],
    nothing: [undefined, {}, ['RS256']],
    'an empty list': [[], {}, ['RS256']],
    'a text': ['ES256', {}, ['RS256']],
    'ES256 alone': [['ES256'], {}, ['ES256']],
    'ES256 and symmetric ones': [['HS256', 'ES256', 'none'], {}, ['ES256']],
    'RS256 beside others, and the setting names ES256': [['ES256', 'RS256'], { idTokenAlgorithm: 'ES256' }, ['ES256']],
  };
  for (const [what, [announced, login, accepted]] of Object.entries(announcements))
    it(`TOK-02 is that of the registration where the issuer announces ${what}`, async () => {
      provider.misbehave({ metadata: { id_token_signing_alg_values_supported: announced } });
      const service = await cluster.service({ provider, config: { login } });
      for (const alg of ['RS256', 'ES256'] as const) {
        await provider.rotateKeys({ alg });
        for (const flow of flows) {
          const { callback } = await logIn(service, { flow });
          if (accepted.includes(alg)) expectOK(callback);
          else expectStatus(callback, 401, 'id_token');
        }
      }
      const told = service.logLines.filter((line) => line.includes('set login.idTokenAlgorithm'));
      expect(told).to.have.length(1);
      await service.stop();
    });

  it('TOK-02 is the one of login.idTokenAlgorithm, for ID tokens and logout tokens', async () => {
    const service = await cluster.service({ provider, config: { login: { idTokenAlgorithm: 'RS256' } } });
    const logOutThere = async () => {
      const body = new URLSearchParams({ logout_token: provider.logoutToken() });
      return (await fetch(`${service.url}/api/v2/token/backchannel-logout`, { method: 'POST', body })).status;
    };
    for (const flow of flows) expectOK((await logIn(service, { flow })).callback);
    const { browser, handle } = await session(service);
    await provider.rotateKeys({ alg: 'ES256' });
    for (const flow of flows) expectStatus((await logIn(service, { flow })).callback, 401, 'id_token');
    expect(await logOutThere()).to.equal(400);
    expectOK(await browser.info('v2'));
    expectStatus(await refresh(browser, handle), 401);
    await provider.rotateKeys();
    for (const flow of flows) expectOK((await logIn(service, { flow })).callback);
    expect(await logOutThere()).to.equal(200);
  });
});
