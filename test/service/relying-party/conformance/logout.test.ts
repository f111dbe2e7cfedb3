/** RP-initiated logout modules of the OpenID certification for relying parties. */
import { expect } from 'chai';
import { logIn, userInfoOf } from '../../login/provider/browser.ts';
import { visit } from '../../login/provider/certificates.ts';
import { publicURL } from '../../login/support.ts';
import { expectOK, relyingParty } from './relying-party.ts';

describe('OpenID relying party, RP-initiated logout', () => {
  const party = relyingParty();

  /** Logs in, logs out, and follows the redirect of the provider. */
  async function goOut(response: Record<string, string | undefined> | undefined) {
    const { provider, service } = party();
    const { browser, callback } = await logIn(service);
    const { ext } = userInfoOf(callback);
    const logout = await browser.request(`/api/v2/token/logout?${new URLSearchParams({ refresh_token: ext.token?.refresh_token ?? '' })}`);
    expectOK(logout);
    const [, link = ''] = /^<([^>]*)>; rel="logout"$/.exec(logout.headers.get('link') ?? '') ?? [];
    const asked = new URL(link).searchParams;
    expect(asked.get('post_logout_redirect_uri')).to.equal(`${publicURL}/`);
    expect(asked.get('client_id')).to.equal(provider.clientID);
    expect(asked.get('state')).to.be.a('string').and.not.equal('');
    if (response) provider.misbehave({ response });
    const { headers } = await visit(link);
    const back = new URL(String(headers.location));
    const page = await browser.request(`${back.pathname}${back.search}`, { headers: { accept: 'text/html' } });
    return { asked, back, page, browser };
  }

  for (const [module, response] of Object.entries({
    'oidcc-client-test-rp-init-logout': undefined,
    'oidcc-client-test-rp-init-logout-other-state': { state: 'https://evil.example/' },
    'oidcc-client-test-rp-init-logout-no-state': { state: undefined },
  })) {
    it(module, async () => {
      const { asked, back, page, browser } = await goOut(response);
      expect(back.origin).to.equal(publicURL);
      expect(back.searchParams.get('state')).to.equal(response && 'state' in response ? (response.state ?? null) : asked.get('state'));
      expect(page.status).to.equal(200);
      expect(page.headers.get('location')).to.equal(null);
      expect(page.headers.get('content-type')).to.match(/^text\/html/);
      expect(page.text).to.not.include('evil.example');
      expect((await browser.info('v2')).status).to.equal(401);
    });
  }
});
