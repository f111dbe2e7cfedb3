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
