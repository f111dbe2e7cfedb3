import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { parseConfig } from '../../../src/config/load.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from './issuers.ts';
import { claimsOf, RelyingParty } from './relying-party.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const event = 'http://schemas.openid.net/event/backchannel-logout';

/** A relying party that receives logout tokens. */
class Ear {
  readonly heard: { method: string; type: string; path: string; token: string }[] = [];
  answer: (response: ServerResponse) => void = (response) => response.end();
  readonly #server: Server = createServer(async (request, response) => {
    const token = new URLSearchParams(await text(request)).get('logout_token') ?? '';
    const { method = '', url: path = '' } = request;
    this.heard.push({ method, type: request.headers['content-type'] ?? '', path, token });
    this.answer(response);
  });

  async start(): Promise<string> {
    // The provider reuses connections, so none may be closed while a request is on its way.
    this.#server.keepAliveTimeout = 0;
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

describe('back-channel logout of the embedded OpenID provider', () => {
  const ear = new Ear();
  let issuers: Issuers;
  let earURL: string;
  const shopURL = 'https://shop.example.com/callback';
  const shop = () => new RelyingParty({ issuer: issuers.issuer, clientID: 'shop', redirectURI: shopURL });
  const bar = () => new RelyingParty({ issuer: issuers.issuer, clientID: 'bar', redirectURI: 'https://bar.example.com/callback' });
  const logOut = async (browser: ReturnType<Issuers['browser']>, answer: Record<string, string> = { logout: 'yes' }) =>
    browser.submit(await browser.get(`${issuers.issuer}/session/end?client_id=atrium`), answer);

  before(async () => {
    earURL = await ear.start();
    issuers = await Issuers.start({
      config: {
        identity: {
          clients: [
            { id: 'shop', redirectURLs: [shopURL], backchannelLogoutURL: `${earURL}/shop/logged-out` },
            { id: 'bar', redirectURLs: ['https://bar.example.com/callback'], backchannelLogoutURL: `${earURL}/bar` },
            { id: 'deaf', redirectURLs: ['https://deaf.example.com/callback'] },
          ],
        },
      },
    });
    await issuers.addPerson(jane.email, jane.password);
  });
  after(async () => {
    await issuers.stop();
    await ear.stop();
  });
  beforeEach(() => {
    ear.heard.length = 0;
    ear.answer = (response) => response.end();
  });

  it('is announced', async () => {
    const answer = await fetch(`${issuers.issuer}/.well-known/openid-configuration`);
    expect(await answer.json()).to.include({ backchannel_logout_supported: true, backchannel_logout_session_supported: true });
  });

  it('sends a logout token to every client of the ended session, once', async () => {
    const browser = issuers.browser();
    const tokens = [await shop().tokens(browser, jane), await bar().tokens(browser, jane)];
    await new RelyingParty({ issuer: issuers.issuer, clientID: 'deaf', redirectURI: 'https://deaf.example.com/callback' }).code(
      browser,
      jane,
    );
    const stayed = issuers.browser();
    const { refresh_token: staying } = await shop().tokens(stayed, jane);
    await logOut(browser);

    expect(ear.heard.map(({ path }) => path).sort()).to.deep.equal(['/bar', '/shop/logged-out']);
    const keys = createRemoteJWKSet(new URL(`${issuers.issuer}/jwks`));
    for (const [index, audience] of ['shop', 'bar'].entries()) {
      const idToken = claimsOf(tokens[index]?.id_token ?? '');
      const { method, type, token } = ear.heard.find(({ path }) => path.startsWith(`/${audience}`)) ?? { token: '' };
      const { payload } = await jwtVerify(token, keys, { issuer: issuers.issuer, audience, typ: 'logout+jwt' });
      expect({ method, type }).to.deep.equal({ method: 'POST', type: 'application/x-www-form-urlencoded' });
      expect(payload).to.include({ sid: idToken.sid, sub: idToken.sub }).and.to.not.have.property('nonce');
      expect(payload.sid).to.be.a('string').and.not.equal('');
      expect(payload.events).to.deep.equal({ [event]: {} });
      expect(payload.jti).to.be.a('string').and.not.equal('');
      expect((payload.exp ?? 0) - (payload.iat ?? 0)).to.be.within(1, 120);
    }
    expect(claimsOf(tokens[0]?.id_token ?? '').sid).to.not.equal(claimsOf(tokens[1]?.id_token ?? '').sid);
    expect((await shop().refresh(staying)).status, 'another session of the same person').to.equal(200);
  });

  it('sends no logout token when the user stays logged in', async () => {
    const browser = issuers.browser();
    await shop().tokens(browser, jane);
    await logOut(browser, {});

    expect(ear.heard).to.deep.equal([]);
  });

  const trouble: Record<string, (response: ServerResponse) => void> = {
    'says no': (response) => response.writeHead(400).end('canary of the shop'),
    fails: (response) => response.writeHead(500).end(),
    'sends it elsewhere': (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
    'hangs up': (response) => response.socket?.destroy(),
    'never answers': () => undefined,
    'never ends its answer': (response) => response.writeHead(200).write('x'),
  };
  for (const [what, answer] of Object.entries(trouble)) {
    it(`logs the user out although a client ${what}`, async () => {
      const browser = issuers.browser();
      const { refresh_token: refreshToken } = await shop().tokens(browser, jane);
      ear.answer = answer;
      issuers.logLines.length = 0;
      const end = await logOut(browser);

      expect(end.response.status).to.equal(200);
      expect((await shop().refresh(refreshToken)).body.error).to.equal('invalid_grant');
      expect(ear.heard).to.have.length(1);
      const [{ token } = { token: '' }] = ear.heard;
      const lines = issuers.logLines.join('');
      if (what !== 'never ends its answer')
        expect(lines).to.include('back-channel logout of a relying party failed').and.to.include('"client":"shop"');
      for (const secret of [token, token.split('.')[2] ?? '', 'canary']) expect(lines).to.not.include(secret);
    });
  }

  it('answers the user while a client still writes its answer', async () => {
    const browser = issuers.browser();
    await shop().tokens(browser, jane);
    let isOpen = false;
    ear.answer = (response) => {
      isOpen = true;
      response.once('close', () => {
        isOpen = false;
      });
      response.writeHead(200).write('x');
    };
    await logOut(browser);

    expect(isOpen).to.equal(true);
  });

  it('sends nothing when it is turned off', async () => {
    const clients = [{ id: 'shop', redirectURLs: [shopURL], backchannelLogoutURL: `${earURL}/shop` }];
    const quiet = await Issuers.start({ config: { identity: { clients }, features: { backchannelLogout: false } } });
    await quiet.addPerson(jane.email, jane.password);
    const browser = quiet.browser();
    const tokens = await new RelyingParty({ issuer: quiet.issuer, clientID: 'shop', redirectURI: shopURL }).tokens(browser, jane);
    await browser.submit(await browser.get(`${quiet.issuer}/session/end`), { logout: 'yes' });
    const answer = await fetch(`${quiet.issuer}/.well-known/openid-configuration`);
    await quiet.stop();

    expect(ear.heard).to.deep.equal([]);
    expect(claimsOf(tokens.id_token)).to.not.have.property('sid');
    expect(await answer.json()).to.not.have.property('backchannel_logout_supported');
  });

  it('refuses an address that is readable on the network', () => {
    const client = (backchannelLogoutURL: string) => () =>
      parseConfig({ yaml: JSON.stringify({ identity: { clients: [{ id: 'shop', backchannelLogoutURL }] } }) });

    for (const url of [
      'http://shop.example.com/x',
      'http://127.0.0.1.evil.example/',
      'http://localhost.example/',
      'ftp://127.0.0.1/',
      'https://shop.example.com/#x',
      '/x',
    ])
      expect(client(url), url).to.throw(/identity\.clients/);
    for (const url of ['https://shop.example.com/x', 'http://127.0.0.1:8080/x', 'http://localhost/x', 'http://[::1]:80/x'])
      expect(client(url), url).to.not.throw();
  });
});

describe('a logout at the embedded OpenID provider', () => {
  const login = forSuite(() => startEmbeddedLogin({ emails: [jane.email], password: jane.password, replicas: 2 }));

  it('ends the session of the console, on every replica, and the tokens of that session', async () => {
    const { browser, status, body } = await login.logIn(jane.email, jane.password);
    expect(status, body).to.equal(200);
    const { browser: elsewhere } = await login.logIn(jane.email, jane.password);
    const local = await login.logIn(jane.email, jane.password, '?token_storage=local');
    const { access_token: bearer, refresh_token } = JSON.parse(local.body).ext.token;
    const info = async (cookies: string, at = login.url) =>
      (await login.request('/api/v2/token/info', { headers: { cookie: cookies } }, at)).status;
    const cookies = cookieOf(browser);
    for (const url of login.urls) expect(await info(cookies, url)).to.equal(200);

    for (const one of [browser, local.browser]) {
      const question = await one.get(`${login.url}/identity/session/end?client_id=kubectl`);
      expect((await one.submit(question, { logout: 'yes' })).response.status).to.equal(200);
    }

    expect(await info(cookies)).to.equal(401);
    for (const url of login.urls) {
      await eventually(
        () => info(cookies, url),
        (code) => code === 401,
      );
      await eventually(
        async () => (await login.request('/api/v2/token/info', { headers: { authorization: `Bearer ${bearer}` } }, url)).status,
        (code) => code === 401,
      );
    }
    // The refresh token was issued for offline access, and outlives the session at the provider.
    const renewed = await login.request(`/api/v2/token/refresh?${new URLSearchParams({ refresh_token })}`);
    expect(renewed.status).to.equal(401);
    expect(await info(cookieOf(elsewhere)), 'another browser').to.equal(200);
    expect(login.lines.join('')).to.match(/"audit":"LoggedOut".*"reason":"BackChannel"/);
  });
});

describe('DELETE /auth/v1/sessions at the embedded OpenID provider', () => {
  const login = forSuite(() => startEmbeddedLogin({ emails: [jane.email, 'bob@example.com'], password: jane.password }));

  it('requires the password again in every browser, and does not affect other users', async () => {
    const lost = await login.logIn(jane.email, jane.password);
    const mine = await login.logIn(jane.email, jane.password);
    const bob = await login.logIn('bob@example.com', jane.password);
    const isAsked = async ({ browser }: typeof lost) => {
      const { auth_url } = JSON.parse((await browser.get(`${login.url}/api/v2/token/login`)).body);
      return (await browser.get(auth_url)).body.includes('name="password"');
    };
    expect(await isAsked(lost)).to.equal(false);
    const headers = { cookie: cookieOf(mine.browser), 'sec-fetch-site': 'same-origin' };
    const reply = await login.request('/auth/v1/sessions', { method: 'DELETE', headers });

    expect(reply.status, await reply.text()).to.equal(204);
    expect(await isAsked(lost)).to.equal(true);
    expect(await isAsked(mine)).to.equal(true);
    expect(await isAsked(bob)).to.equal(false);
    const again = await login.logIn(jane.email, jane.password);
    expect(again.status, again.body).to.equal(200);
    const info = await login.request('/api/v2/token/info', { headers: { cookie: cookieOf(again.browser) } });
    expect(info.status).to.equal(200);
  });
});

const cookieOf = ({ cookies }: { cookies: readonly { name: string; value: string }[] }): string =>
  cookies
    .filter(({ name }) => name.includes('atrium_session_'))
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ');
