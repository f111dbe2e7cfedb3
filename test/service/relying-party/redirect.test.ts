import { expect } from 'chai';
import { authorize, Browser, loginInfoOf } from '../login/provider/browser.ts';
import { expectStatus, relyingParty } from './conformance/relying-party.ts';

const path = '/api/v2/token/redirect';

describe('redirect', () => {
  const party = relyingParty();

  for (const [what, headers] of Object.entries({
    'a browser that navigates': { 'sec-fetch-mode': 'navigate', accept: '*/*' },
    'an old browser, which wants a page': { accept: 'text/html,application/xhtml+xml' },
  })) {
    it(`jumps to the issuer for ${what}`, async () => {
      const browser = new Browser(party().service.url);
      const reply = await browser.request(path, { headers });
      expect(reply.status).to.equal(302);
      const info = loginInfoOf(reply);
      expect(reply.headers.get('location')).to.equal(info.auth_url);
      expect((await browser.callback('v2', await authorize(info.auth_url))).status).to.equal(200);
    });
  }

  for (const [what, headers] of Object.entries({
    'a page that fetches': { 'sec-fetch-mode': 'cors', accept: 'text/html' },
    'a picture': { 'sec-fetch-mode': 'no-cors', accept: 'text/html' },
    'a script': { accept: '*/*' },
  })) {
    it(`tells ${what} where to go`, async () => {
      const reply = await new Browser(party().service.url).request(path, { headers });
      expect(reply.status).to.equal(200);
      expect(reply.headers.get('location')).to.equal(null);
      expect(loginInfoOf(reply).auth_url).to.match(/^http/);
    });
  }

  it('answers no HEAD', async () => {
    expect((await new Browser(party().service.url).request(path, { method: 'HEAD' })).status).to.equal(405);
  });

  it('has the errors of login, in JSON, for a browser too', async () => {
    const { cluster, provider, service } = party();
    const headers = { 'sec-fetch-mode': 'navigate', accept: 'text/html' };
    expectStatus(await new Browser(service.url).request(`${path}?token_storage=x`, { headers }), 400, 'token_storage');
    const astray = await cluster.service({ provider, config: { login: { issuer: `${provider.issuer}-other` } } });
    const reply = await new Browser(astray.url).request(path, { headers });
    expectStatus(reply, 503);
    expect(reply.headers.get('location')).to.equal(null);
    expect(reply.headers.get('retry-after')).to.match(/^\d+$/);
  });
});

describe('redirect to an external address', () => {
  const party = relyingParty({ config: { login: { externalURL: 'https://portal.example/start' } } });

  it('jumps to the one of the settings, and tells that of the issuer', async () => {
    const reply = await new Browser(party().service.url).request(path, { headers: { 'sec-fetch-mode': 'navigate' } });
    expect(reply.status).to.equal(302);
    expect(reply.headers.get('location')).to.equal('https://portal.example/start');
    expect(new URL(loginInfoOf(reply).auth_url).origin).to.equal(party().provider.origin);
  });
});
