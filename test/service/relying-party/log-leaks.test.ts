import { expect } from 'chai';
import { tokenInText } from '../../support/token-in-text.ts';
import { Browser, logIn, type Reply, userInfoOf } from '../login/provider/browser.ts';
import { expectOK, relyingParty } from './conformance/relying-party.ts';

describe('a login with its secrets', () => {
  const party = relyingParty();

  function expectPrivate(reply: Reply, what: string): void {
    expect(reply.headers.get('cache-control'), what).to.equal('no-store');
    expect(reply.headers.get('referrer-policy'), what).to.equal('no-referrer');
    expect(reply.headers.get('x-content-type-options'), what).to.equal('nosniff');
    expect(reply.headers.get('etag'), what).to.equal(null);
    expect(reply.headers.get('content-encoding'), what).to.equal(null);
  }

  for (const storage of ['cookie', 'local'] as const) {
    it(`LEAK-02 keeps every answer of login out of caches, referrers and sniffing (${storage})`, async () => {
      const { browser, login, callback } = await logIn(party().service, { storage });
      const { ext } = userInfoOf(callback);
      const query = new URLSearchParams({ refresh_token: ext.token?.refresh_token ?? '' });
      const headers = { 'accept-encoding': 'gzip, br' };
      expectPrivate(login, 'login');
      expectPrivate(callback, 'callback');
      expectPrivate(await browser.request('/api/v2/token/redirect', { headers }), 'redirect');
      const info = await browser.info('v2', ext.token?.access_token);
      expectPrivate(info, 'info');
      expect(info.headers.get('vary'))
        .to.match(/authorization/i)
        .and.match(/cookie/i);
      const refreshed = await browser.request(`/api/v2/token/refresh?${query}`, { headers });
      expectOK(refreshed);
      expectPrivate(refreshed, 'refresh');
      expectPrivate(await browser.request('/api/v2/token/logout?refresh_token=wrong', { headers }), 'a failed logout');
      expectPrivate(await browser.request(`/api/v2/token/logout?${query}`, { headers }), 'logout');
      expectPrivate(await new Browser(party().service.url).callback('v2', { code: 'a', state: 'b' }), 'a failed callback');
    });
  }

  it('LEAK-02 writes no code, state, token or cookie into the log', async () => {
    const { provider, service } = party();
    const { browser, answer, callback, info } = await logIn(service, { flow: 'hybrid', storage: 'local' });
    const { token } = userInfoOf(callback).ext;
    await browser.info('v2', token?.access_token);
    await browser.request(`/api/v2/token/refresh?${new URLSearchParams({ refresh_token: token?.refresh_token ?? '' })}`);
    provider.misbehave({ idToken: { claims: { aud: 'other' } } });
    await logIn(service, { browser, flow: 'hybrid' });
    const lines = service.logLines.join('\n');
    expect(lines).to.include('/api/v2/token/callback');
    for (const name of ['code', 'state', 'id_token']) expect(lines, name).to.not.include(answer.get(name) ?? '');
    for (const secret of [token?.access_token, token?.refresh_token, new URL(info.auth_url).searchParams.get('nonce')]) {
      expect(lines).to.not.include(secret ?? '');
    }
    expect(lines)
      .to.not.match(tokenInText)
      .and.to.not.match(/atrium_flow_.{9}=/);
  });
});
