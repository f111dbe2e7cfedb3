import { expect } from 'chai';
import { z } from 'zod';
import { forSuite } from '../../support/for-suite.ts';
import type { Browser } from './browser.ts';
import { Issuers } from './issuers.ts';
import { claimsOf, RelyingParty, tokensOf } from './relying-party.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const grantType = 'urn:ietf:params:oauth:grant-type:device_code';

const authorization = z.object({
  device_code: z.string(),
  user_code: z.string().regex(/^[A-Z]{4}-[A-Z]{4}$/),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.literal(600),
});

const languages = ['en', 'de', 'zh'].map((id) => ({ id, name: id }));

describe('the device flow', () => {
  const issuers = forSuite(() =>
    Issuers.start({ replicas: 2, config: { server: { trustedProxies: ['127.0.0.1'] }, console: { languages } } }),
  );
  let relying: RelyingParty;

  before(async () => {
    await issuers.addPerson(jane.email, jane.password);
    relying = new RelyingParty({ issuer: issuers.issuer, clientID: 'kubectl' });
  });

  const begin = async () => authorization.parse((await relying.post('/device/auth', { scope: 'openid email groups offline_access' })).body);
  const poll = (deviceCode: string) => relying.post('/token', { grant_type: grantType, device_code: deviceCode });

  it('logs a command-line tool in', async () => {
    const { device_code: deviceCode, user_code: userCode, verification_uri: uri } = await begin();
    expect(uri).to.equal(`${issuers.issuer}/device`);
    expect((await poll(deviceCode)).body.error).to.equal('authorization_pending');

    const browser = issuers.browser();
    const entry = await browser.get(uri);
    expect(entry.body).to.match(/<label for="code">/);
    expect(entry.body).to.not.contain('<script');
    const question = await browser.submit(entry, { user_code: userCode.toLowerCase() });
    expect(question.body).to.contain(`<p class="code">${userCode}</p>`).and.to.contain('kubectl');
    const logIn = await browser.submit(question, { confirm: 'yes' });
    const done = await browser.submit(logIn, jane);
    expect(done.response.status).to.equal(200);
    expect(done.body).to.contain('role="status"');

    const tokens = tokensOf(await poll(deviceCode));
    expect(claimsOf(tokens.id_token)).to.include({ email: jane.email, aud: 'kubectl' });
    expect((await relying.refresh(tokens.refresh_token)).status).to.equal(200);
    expect((await poll(deviceCode)).body.error).to.equal('invalid_grant');
  });

  describe('the question whether that is the device', () => {
    const ask = async (beginner: string, headers: Record<string, string>, prepare?: (browser: Browser) => Promise<unknown>) => {
      const authorized = await fetch(`${issuers.issuer}/device/auth`, {
        method: 'POST',
        headers: { 'x-forwarded-for': beginner, 'user-agent': 'Your bank <b>asks you to go on</b>' },
        body: new URLSearchParams({ client_id: 'kubectl', scope: 'openid' }),
      });
      const { user_code: userCode, verification_uri: uri } = authorization.parse(await authorized.json());
      const browser = issuers.browser(headers);
      await prepare?.(browser);
      return browser.submit(await browser.get(uri), { user_code: userCode });
    };

    it('names the client, when and where it was begun, and warns of codes that come from others', async () => {
      const { body } = await ask('192.0.2.7', { 'x-forwarded-for': '192.0.2.7', 'accept-language': 'en' });

      expect(body).to.contain('kubectl wants to log in as you.');
      expect(body).to.match(/The login was started \d+ seconds? ago, from the address 192\.0\.2\.7\./);
      expect(body).to.contain('If another person sent you this code, or a link with it, cancel.');
      expect(body).to.not.contain('another network');
      // The page quotes no text of the program that began the flow.
      expect(body).to.not.contain('bank');
    });

    it('names the user of a browser that is logged in', async () => {
      const headers = { 'x-forwarded-for': '192.0.2.7', 'accept-language': 'en' };
      const { body } = await ask('192.0.2.7', headers, (browser) => new RelyingParty({ issuer: issuers.issuer }).code(browser, jane));

      expect(body).to.contain(`kubectl wants to log in as ${jane.email}.`);
    });

    it('warns if it was begun in another network', async () => {
      const { body } = await ask('198.51.100.9', { 'x-forwarded-for': '192.0.2.7', 'accept-language': 'en' });
      expect(body).to.contain('from the address 198.51.100.9').and.to.contain('You are using another network now.');
      const neighbour = await ask('2001:db8:1:2::7', { 'x-forwarded-for': '2001:db8:1:2::8', 'accept-language': 'en' });
      expect(neighbour.body).to.contain('from the address 2001:db8:1:2::7').and.to.not.contain('another network');
    });

    it('does so in each language', async () => {
      for (const [language, warning] of Object.entries({ de: 'brechen Sie ab', zh: '请取消' })) {
        const { body } = await ask('198.51.100.9', { 'x-forwarded-for': '192.0.2.7', 'accept-language': language });
        expect(body, language).to.contain('198.51.100.9').and.to.contain(warning);
      }
    });
  });

  it('puts the code of the complete address into the form, without sending it', async () => {
    const { user_code: userCode, verification_uri_complete: uri } = await begin();
    const entry = await issuers.browser().get(uri);

    expect(uri).to.equal(`${issuers.issuer}/device?user_code=${userCode}`);
    expect(entry.body).to.match(new RegExp(`<input id="code"[^>]* value="${userCode}"`));
    expect(entry.body).to.not.contain('<script');
  });

  it('tells the tool that the user has refused', async () => {
    const { device_code: deviceCode, user_code: userCode, verification_uri: uri } = await begin();
    const browser = issuers.browser();
    const question = await browser.submit(await browser.get(uri), { user_code: userCode });
    const end = await browser.submit(question, { abort: 'yes' });

    expect(end.body).to.contain('role="alert"');
    expect((await poll(deviceCode)).body.error).to.equal('access_denied');
  });

  it('reports an unknown code, as text', async () => {
    const browser = issuers.browser();
    const answer = await browser.submit(await browser.get(`${issuers.issuer}/device`), { user_code: '"><script>' });

    expect(answer.body).to.contain('role="alert" id="problem"').and.to.contain('&quot;&gt;&lt;script&gt;');
    expect(answer.body).to.not.contain('<script');
  });

  it('refuses a form from a browser that has no session', async () => {
    const body = new URLSearchParams({ user_code: 'BBBB-BBBB', xsrf: 'x' });
    const answer = await fetch(`${issuers.issuer}/device`, { method: 'POST', headers: { origin: new URL(issuers.issuer).origin }, body });
    expect([answer.status, answer.headers.getSetCookie()]).to.deep.equal([400, []]);
    expect(await answer.text()).to.contain('role="alert"');
  });

  it('refuses clients that have a redirect URL', async () => {
    const answer = await relying.post('/device/auth', { client_id: 'atrium', scope: 'openid' });

    expect(answer.status).to.equal(400);
  });

  it('LIM-09 keeps nothing of a request that is longer than any honest one', async () => {
    for (const name of ['scope', 'nonce', 'login_hint', 'ui_locales', 'claims', 'display', 'x-other']) {
      const value = name === 'claims' ? JSON.stringify({ id_token: { name: { value: 'x'.repeat(20_000) } } }) : 'x'.repeat(20_000);
      const answer = await relying.post('/device/auth', { scope: 'openid', [name]: name === 'scope' ? `openid ${value}` : value });
      expect(answer.status, `${name}: ${JSON.stringify(answer.body)}`).to.be.oneOf([200, 400]);
    }
    const sizes = (await issuers.records('DeviceCode')).map((record) => JSON.stringify(record).length);
    expect(Math.max(...sizes)).to.be.below(8_000);
  });

  it('limits how many flows begin from one address, and how many codes are tried', async () => {
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 40; attempt += 1) statuses.push((await relying.post('/Device/Auth/', { scope: 'openid' })).status);
    expect(statuses).to.include(429);
    expect(await issuers.records('DeviceCode')).to.have.length.lessThan(40);

    const browser = issuers.browser();
    let answer = await browser.get(`${issuers.issuer}/device`);
    for (let guess = 0; guess < 70; guess += 1) answer = await browser.submit(answer, { user_code: 'BBBB-BBBB' });
    expect(answer.response.status).to.equal(429);
  });
});
