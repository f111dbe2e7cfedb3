import { cookieNames } from '@atrium/http/cookies/cookies.ts';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { authorize, Browser, logIn, loginInfoOf, userInfoOf } from './provider/browser.ts';

const asked = (authURL: string) => Object.fromEntries(new URL(authURL).searchParams);

describe('login, the parameters of a request', () => {
  const party = relyingParty({
    config: {
      login: {
        redirectURLs: ['http://console.test/in', 'http://console.test/other'],
        tokenStorage: ['local'],
        scopes: ['openid', 'email'],
      },
    },
  });

  it('is a redirect URL of the settings, the first by default', async () => {
    const browser = new Browser(party().service.url);
    const first = loginInfoOf(await browser.login('v2'));
    expect(asked(first.auth_url).redirect_uri).to.equal('http://console.test/in');
    const other = await browser.login('v2', { redirect_uri: 'http://console.test/other' });
    expect(asked(loginInfoOf(other).auth_url).redirect_uri).to.equal('http://console.test/other');
    for (const redirect_uri of ['http://console.test/in/', 'http://console.test/IN', 'http://console.test/other?x=1', '']) {
      expectStatus(await browser.login('v2', { redirect_uri }), 400, 'redirect_uri');
    }
  });

  it('is one of the two callback addresses, whatever the settings name', async () => {
    const { service } = party();
    for (const version of ['v1', 'v2'] as const) {
      const redirect_uri = `http://console.test/api/${version}/token/callback`;
      const { callback, info } = await logIn(service, { version, storage: 'local', parameters: { redirect_uri } });
      expect(asked(info.auth_url).redirect_uri).to.equal(redirect_uri);
      expectOK(callback);
    }
    for (const redirect_uri of ['http://console.test/api/v3/token/callback', 'http://console.test/api/v2/token/callback/'])
      expectStatus(await new Browser(service.url).login('v2', { redirect_uri }), 400, 'redirect_uri');
  });

  it('comes back to the redirect URL that was asked for', async () => {
    const { provider, service } = party();
    provider.forgetRequests();
    const { callback } = await logIn(service, { storage: 'local', parameters: { redirect_uri: 'http://console.test/other' } });
    expectOK(callback);
    const [redeemed] = provider.requests.filter(({ endpoint }) => endpoint === 'token');
    expect(redeemed?.parameters.get('redirect_uri')).to.equal('http://console.test/other');
  });

  it('is a storage of the settings, the first by default', async () => {
    const { service } = party();
    expect(userInfoOf((await logIn(service, { storage: 'unasked' })).callback).ext.token_storage).to.equal('local');
    for (const token_storage of ['cookie', 'session', '']) {
      expectStatus(await new Browser(service.url).login('v2', { token_storage }), 400, 'token_storage');
    }
  });

  it('is passed on to the issuer where it is for the issuer', async () => {
    const hints = { connector_id: 'github', prompt: 'login', login_hint: 'jane@example.com', ui_locales: 'de en' };
    const reply = await new Browser(party().service.url).login('v2', hints);
    expect(asked(loginInfoOf(reply).auth_url)).to.deep.include({ ...hints, scope: 'openid email' });
    expectStatus(await new Browser(party().service.url).login('v2', { login_hint: 'x'.repeat(257) }), 400, 'login_hint');
  });

  it('is used only once', async () => {
    const reply = await new Browser(party().service.url).request('/api/v2/token/login?prompt=login&prompt=none');
    expectStatus(reply, 400, 'prompt');
  });

  it('is not asked for by HEAD', async () => {
    const reply = await new Browser(party().service.url).request('/api/v2/token/login', { method: 'HEAD' });
    expect(reply.status).to.equal(405);
    expect(reply.headers.get('allow')).to.equal('GET, OPTIONS');
  });

  it('ignores an Authorization header', async () => {
    expectOK(await new Browser(party().service.url).request('/api/v2/token/login', { headers: { authorization: 'Basic eDp5' } }));
  });
});

describe('login, where the issuer knows no logout', () => {
  const party = relyingParty({
    config: { login: { logoutURL: 'https://issuer.example/bye' } },
    prepare: (provider) => provider.misbehave({ metadata: { end_session_endpoint: undefined } }),
  });

  it('tells the logout address of the settings', async () => {
    const reply = await new Browser(party().service.url).login('v2');
    expect(loginInfoOf(reply).logout_url).to.equal('https://issuer.example/bye');
  });
});

describe('login below a path, behind https', () => {
  const party = relyingParty({ config: { server: { publicURL: 'https://console.test/base/' } } });

  it('keeps to that path and to https, with cookies of this host alone', async () => {
    const browser = new Browser(party().service.url);
    const reply = await browser.request('/base/api/v2/token/login?token_storage=cookie');
    const info = loginInfoOf(reply);
    expect(asked(info.auth_url).redirect_uri).to.equal('https://console.test/base/');
    expect(reply.cookies).to.have.length(1);
    expect(reply.cookies[0]).to.match(/^__Host-atrium_flow_[0-9a-f]{8}_[\w-]{8}=/);
    expect(reply.cookies[0]).to.include('; Path=/;').and.to.include('; Secure');
    const answer = await authorize(info.auth_url);
    const callback = await browser.request(`/base/api/v2/token/callback?${answer}`, { headers: { 'sec-fetch-mode': 'navigate' } });
    expectOK(callback);
    expect(callback.headers.get('refresh')).to.equal('0; url=/base/');
    const names = cookieNames('https://console.test/base/');
    expect([...browser.cookies.keys()]).to.have.members([names.host('session'), names.host('browser')]);
  });
});

describe('login that is not configured', () => {
  const server = forSuite(() => startServer());

  for (const path of [
    'v1/token/login',
    'v2/token/login',
    'v2/token/redirect',
    'v2/token/callback',
    'v2/token/refresh',
    'v2/token/logout',
  ]) {
    it(`is 400 at /api/${path}`, async () => {
      const query = `?state=${'a'.repeat(43)}&code=b&refresh_token=c`;
      const reply = await server.request(`/api/${path}${query}`);
      expect(reply.status).to.equal(400);
      expect(await reply.json()).to.deep.include({ kind: 'Status', message: 'login is not configured' });
    });
  }

  for (const [method, path] of [
    ['GET', 'v1/token/login?max_age=x&return_to=//'],
    ['GET', 'v2/token/login?redirect_uri=x'],
    ['GET', 'v2/token/redirect?token_storage=x'],
    ['GET', 'v1/token/callback'],
    ['GET', 'v2/token/callback?state=x&state=x'],
    ['GET', 'v1/token/refresh'],
    ['GET', 'v2/token/logout'],
    ['POST', 'v1/token/refresh'],
    ['POST', 'v2/token/refresh'],
    ['POST', 'v2/token/logout'],
    ['POST', 'v2/token/backchannel-logout'],
  ] as const)
    it(`is told before parameters are missed: ${method} /api/${path}`, async () => {
      const reply = await server.request(`/api/${path}`, { method });
      expect(reply.status).to.equal(400);
      const { message, details } = (await reply.json()) as { message: string; details?: unknown };
      expect({ message, details }).to.deep.equal({ message: 'login is not configured', details: undefined });
    });

  it('leaves info to the API server', async () => {
    expect((await server.request('/api/v2/token/info')).status).to.equal(401);
    const reply = await server.request('/api/v2/token/info', { as: 'viewer' });
    expect(reply.status).to.equal(200);
    const { name, groups, ext } = (await reply.json()) as { name: string; groups: string[]; ext: object };
    expect(name).to.equal('viewer');
    expect(groups.filter((group) => group.startsWith('system:'))).to.deep.equal([]);
    expect(ext).to.not.have.any.keys('issuer', 'token');
  });
});
