import { cookieNames } from '@atrium/http/cookies/cookies.ts';
import { expect } from 'chai';
import { sendRaw } from '../../support/raw-http.ts';
import { expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { authorize, Browser, logIn, loginInfoOf } from './provider/browser.ts';
import { publicURL } from './support.ts';

const versions = ['v1', 'v2'] as const;
const unlimited = { login: { perMinute: 1_000_000 } };

/** The parts of a Set-Cookie line, attributes in lower case. */
function cookieParts(line: string) {
  const [pair = '', ...attributes] = line.split(/;\s*/);
  return {
    name: pair.slice(0, pair.indexOf('=')),
    value: pair.slice(pair.indexOf('=') + 1),
    attributes: attributes.map((one) => one.toLowerCase()),
  };
}

const flowCookiesOf = (browser: Browser) => [...browser.cookies.keys()].filter((name) => name.includes('atrium_flow_'));

describe('login', () => {
  const party = relyingParty({ config: unlimited });

  for (const version of versions) {
    it(`LOG-01 tells where to log in, bound to this browser (${version})`, async () => {
      const { provider, service } = party();
      const browser = new Browser(service.url);
      const reply = await browser.login(version, { client_id: 'evil', scope: 'evil', response_type: 'token', response_mode: 'form_post' });
      expectOK(reply);
      expect(reply.body).to.have.all.keys('auth_url', 'state', 'logout_url');
      const info = loginInfoOf(reply);
      const url = new URL(info.auth_url);
      expect(url.origin + url.pathname).to.equal(`${provider.issuer}/authorize`);
      const asked = Object.fromEntries(url.searchParams);
      expect(asked).to.deep.include({
        client_id: 'atrium',
        redirect_uri: `${publicURL}/`,
        response_type: 'code',
        scope: 'openid profile email groups offline_access',
        state: info.state,
        code_challenge_method: 'S256',
      });
      for (const random of [asked.state, asked.nonce, asked.code_challenge]) expect(random).to.match(/^[\w-]{43}$/);
      const logout = new URL(info.logout_url ?? '');
      expect(Object.fromEntries(logout.searchParams)).to.deep.equal({ client_id: 'atrium', post_logout_redirect_uri: `${publicURL}/` });
      expect(reply.headers.get('cache-control')).to.equal('no-store');

      expect(reply.cookies).to.have.length(1);
      const { name, value, attributes } = cookieParts(reply.cookies[0] ?? '');
      expect(name).to.equal(`${cookieNames(publicURL).host('flow')}_${info.state.slice(0, 8)}`);
      expect(value).to.not.include(info.state).and.not.include(asked.nonce);
      expect(attributes).to.include.members(['httponly', 'samesite=lax', 'path=/']);
      expect(attributes).to.not.include('secure');
      const maxAge = attributes.find((attribute) => attribute.startsWith('max-age='));
      expect(Number(maxAge?.slice('max-age='.length))).to.be.within(1, 600);
    });
  }

  it('LOG-01 keeps the flow cookie to this host under https, so that no sibling of the domain can plant one', async () => {
    const { cluster, provider } = party();
    const secure = await cluster.service({ provider, config: { server: { publicURL: 'https://console.test/atrium/' } } });
    const reply = await new Browser(secure.url).request('/atrium/api/v2/token/login');
    expectOK(reply);
    const { name, attributes } = cookieParts(reply.cookies[0] ?? '');
    expect(name).to.match(/^__Host-atrium_flow_[0-9a-f]{8}_[\w-]{8}$/);
    expect(attributes).to.include.members(['secure', 'httponly', 'samesite=lax', 'path=/']);
    expect(attributes.join()).to.not.include('domain');
    expect(new URL(loginInfoOf(reply).auth_url).searchParams.get('redirect_uri')).to.equal('https://console.test/atrium/');
  });

  it('LOG-04 takes no flow cookie that another host of the domain could have planted', async () => {
    const { cluster, provider } = party();
    const secure = await cluster.service({ provider, config: { server: { publicURL: 'https://console.test' } } });
    const attacker = new Browser(secure.url);
    const answer = await authorize(loginInfoOf(await attacker.login('v2')).auth_url);
    const victim = new Browser(secure.url);
    for (const [name, value] of attacker.cookies) victim.cookies.set(name.replace('__Host-', '__Secure-'), value);
    expectStatus(await victim.callback('v2', answer), 400, 'state');
  });

  it('LOG-02 gives a thousand logins, many at once, a state, nonce and challenge each', async () => {
    const { service } = party();
    const replies: Awaited<ReturnType<Browser['login']>>[] = [];
    // A request must arrive within 15 s of its connection, and a busy machine takes longer for a thousand.
    while (replies.length < 1000)
      replies.push(...(await Promise.all(Array.from({ length: 200 }, () => new Browser(service.url).login('v2')))));
    const asked = replies.map((reply) => new URL(loginInfoOf(reply).auth_url).searchParams);
    for (const name of ['state', 'nonce', 'code_challenge']) {
      const values = asked.map((parameters) => parameters.get(name) ?? '');
      expect(new Set(values).size, name).to.equal(1000);
      // Eight characters are 48 bits: two that agree there had something in common.
      expect(new Set(values.map((value) => value.slice(0, 8))).size, name).to.equal(1000);
      expect(new Set(values.map((value) => value.slice(-8))).size, name).to.equal(1000);
    }
  });

  it('LOG-14 takes nothing from the Host header', async () => {
    const { service } = party();
    const head = ['Host: evil.example', 'X-Forwarded-Host: evil.example', 'X-Forwarded-Proto: https', 'Forwarded: host=evil.example'];
    for (const path of ['/api/v1/token/login', '/api/v2/token/login', '/api/v2/token/redirect']) {
      const answer = await sendRaw(service.port, `GET ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\nConnection: close\r\n\r\n`);
      expect(answer.status).to.equal(200);
      expect(answer.body).to.not.include('evil.example');
      expect(answer.body).to.include(encodeURIComponent(`${publicURL}/`));
    }
  });

  it('LOG-10 lets two tabs finish', async () => {
    const { service } = party();
    const browser = new Browser(service.url);
    const infos = [loginInfoOf(await browser.login('v2')), loginInfoOf(await browser.login('v1'))];
    for (const { auth_url } of infos) expect((await browser.callback('v2', await authorize(auth_url))).status).to.equal(200);
    expect(flowCookiesOf(browser)).to.deep.equal([]);
  });

  it('LOG-10 survives sixty logins that were not finished', async () => {
    const { service } = party();
    const browser = new Browser(service.url);
    for (let turn = 0; turn < 60; turn += 1) {
      expect((await browser.login('v2', { return_to: `/${'x'.repeat(2000)}` })).status).to.equal(200);
      const header = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      expect(header.length).to.be.below(8192);
      expect(flowCookiesOf(browser).length).to.be.within(1, 5);
    }
    expect((await logIn(service, { browser })).callback.status).to.equal(200);
  });
});
