/** Refresh-token modules of the OpenID certification for relying parties. */
import { expect } from 'chai';
import { tokenInText } from '../../../support/token-in-text.ts';
import { type Browser, logIn, type Reply, renewPayloadOf, userInfoOf, type Version } from '../../login/provider/browser.ts';
import type { TokenChange } from '../../login/provider/tokens.ts';
import { countSessions, expectOK, expectStatus, relyingParty, waysOf } from './relying-party.ts';

const refresh = (browser: Browser, version: Version, token: string): Promise<Reply> =>
  browser.request(`/api/${version}/token/refresh?${new URLSearchParams({ refresh_token: token })}`);

describe('OpenID relying party, refresh tokens', () => {
  const party = relyingParty();

  for (const way of waysOf('code')) {
    it(`oidcc-client-test-refresh-token (${way.version}, ${way.storage})`, async () => {
      const { provider, service } = party();
      const { browser, callback } = await logIn(service, way);
      const first = userInfoOf(callback).ext.token;
      provider.forgetRequests();
      const reply = await refresh(browser, way.version, first?.refresh_token ?? '');
      expectOK(reply);
      const second = renewPayloadOf(reply);
      expect(second.refresh_token).to.be.a('string').and.not.equal(first?.refresh_token);
      expect(provider.requests.map(({ endpoint }) => endpoint)).to.deep.equal(['token']);
      expect(provider.requests[0]?.parameters.get('grant_type')).to.equal('refresh_token');
      expect((await browser.info(way.version, second.access_token)).status).to.equal(200);
    });

    const changes: Record<string, TokenChange> = {
      'invalid-issuer': { claims: { iss: 'https://other.example/tenant' } },
      'invalid-sub': { claims: { sub: 'somebody-else' } },
    };
    for (const [name, change] of Object.entries(changes)) {
      it(`oidcc-client-test-refresh-token-${name} (${way.version}, ${way.storage})`, async () => {
        const { cluster, provider, service } = party();
        const sessions = await countSessions(cluster);
        const { browser, callback } = await logIn(service, way);
        const first = userInfoOf(callback).ext.token;
        provider.misbehave({ refreshed: change });
        provider.forgetRequests();
        const reply = await refresh(browser, way.version, first?.refresh_token ?? '');
        expectStatus(reply, 401);
        expect(reply.text).to.not.match(tokenInText);
        expect(provider.hits('token')).to.equal(1);
        expect(provider.hits('userinfo')).to.equal(0);
        expect(provider.hits('revocation'), 'the new tokens are dropped').to.be.at.least(1);
        provider.misbehave();
        expect(await countSessions(cluster)).to.equal(sessions);
        if (way.storage === 'cookie') expect((await browser.info(way.version)).status).to.equal(401);
        expectStatus(await refresh(browser, way.version, first?.refresh_token ?? ''), 401);
      });
    }
  }
});
