import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Browser } from './browser.ts';
import { Issuers } from './issuers.ts';
import { RelyingParty, tokensOf } from './relying-party.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const secureURL = 'https://console.example.com/tools';
const nameOf = (line: string) => line.slice(0, line.indexOf('='));
const isExpiry = (line: string) => /;\s*(max-age=0|expires=thu, 01 jan 1970)/i.test(line);

describe('the cookie jar of the embedded issuer', () => {
  const issuers = forSuite(() => Issuers.start());
  const secure = forSuite(() => Issuers.start({ publicURL: secureURL }));
  const party = () => new RelyingParty({ issuer: issuers.issuer });
  const isLoggedIn = async (browser: Browser, relying = party()) =>
    (await browser.get(relying.authorizationURL())).url.searchParams.has('code');

  before(async () => {
    for (const one of [issuers, secure]) await one.addPerson(jane.email, jane.password);
  });

  const authorize = (cookie = '') => fetch(party().authorizationURL(), { redirect: 'manual', headers: { cookie } });

  it('S2 expires at most ten record cookies in an answer', async () => {
    const own = (await authorize()).headers.getSetCookie().map(nameOf);
    const [name = ''] = own.filter((one) => /_r(ecord)?_/.test(one));
    const prefix = name.slice(0, -16);
    const cookie = Array.from({ length: 250 }, (_, n) => `${prefix}${String(n).padStart(16, '0')}=1`).join('; ');
    const response = await authorize(cookie);
    const lines = response.headers.getSetCookie();

    expect(response.status).to.equal(303);
    expect(lines.filter(isExpiry).length).to.be.within(1, 10);
    expect(lines.filter((line) => !isExpiry(line))).to.have.length(own.length);
  });

  it('S7 keeps the session and records where no sibling of the domain can plant one', async () => {
    const relying = new RelyingParty({ issuer: `${secureURL}/identity`, redirectURI: `${secureURL}/` });
    const { search } = relying.authorizationURL();
    const response = await fetch(`${secure.origin}/tools/identity/auth${search}`, { redirect: 'manual' });
    const lines = response.headers.getSetCookie();
    const record = lines.filter((line) => /_r(ecord)?_/.test(line));

    expect(record).to.have.length(1);
    for (const line of record) expect(line).to.match(/^__Host-[^;]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/);
    const browser = new Browser('https://console.example.com', [secure.origin]);
    await browser.submit(await browser.get(relying.authorizationURL()), jane);
    const session = browser.cookies.filter(({ name }) => /session/.test(name));
    expect(session.map(({ name }) => name.replace(/\.sig$/, ''))).to.satisfy((names: string[]) => new Set(names).size === 1);
    for (const { name, path } of session) {
      expect(name).to.match(/^__Host-atrium_identity_session_[0-9a-f]{8}(\.sig)?$/);
      expect(path).to.equal('/');
    }
    // The same values, under a name that a sibling domain may set.
    const cookie = session.map(({ name, value }) => `${name.replace('__Host-', '__Secure-')}=${value}`).join('; ');
    const planted = await fetch(`${secure.origin}/tools/identity/auth${search}`, { redirect: 'manual', headers: { cookie } });
    expect(planted.headers.get('location')).to.match(/\/identity\/login\//);
  });

  it('S7 ignores two session cookies of one name', async () => {
    const browser = issuers.browser();
    await party().code(browser, jane);
    const own = browser.cookies.filter(({ name }) => /session/.test(name));
    const sent = own.map(({ name, value }) => `${name}=${value}`);
    const location = async (cookie: string) => (await authorize(cookie)).headers.get('location') ?? '';

    expect(new URL(await location(sent.join('; '))).searchParams.get('code')).to.be.a('string');
    for (const pair of sent) {
      expect(await location([...sent, pair.replace(/=.*/, '=planted')].join('; '))).to.match(/^\/identity\/login\//);
      expect(await location([pair.replace(/=.*/, '=planted'), ...sent].join('; '))).to.match(/^\/identity\/login\//);
    }
  });

  it('cases/07 keeps the logins of two issuers at two ports of a host apart', async () => {
    const other = await Issuers.start();
    try {
      await other.addPerson(jane.email, jane.password);
      const here = issuers.browser();
      const there = new Browser(other.publicOrigin, [], { sibling: here });
      const otherParty = new RelyingParty({ issuer: other.issuer });
      await party().code(here, jane);
      expect(await isLoggedIn(there, otherParty)).to.equal(false);
      expect(await isLoggedIn(here)).to.equal(true);
      await otherParty.code(there, jane);
      expect(await isLoggedIn(here)).to.equal(true);
      expect(await isLoggedIn(there, otherParty)).to.equal(true);
      const question = await here.get(new URL(`${issuers.issuer}/session/end`));
      await here.submit(question, { logout: 'yes' });
      expect(await isLoggedIn(here)).to.equal(false);
      expect(await isLoggedIn(there, otherParty)).to.equal(true);
    } finally {
      await other.stop();
    }
  });
});

describe('the limit of requests to the embedded issuer', () => {
  const perMinute = 10;
  const limit = 4 * perMinute;
  const issuers = forSuite(() => Issuers.start({ config: { login: { perMinute }, server: { trustedProxies: ['127.0.0.1'] } } }));
  const party = () => new RelyingParty({ issuer: issuers.issuer });
  let addresses = 0;
  const newAddress = () => {
    addresses += 1;
    return `203.0.113.${addresses}`;
  };
  const from = (address: string) => ({ 'x-forwarded-for': address, 'accept-language': 'en' });
  const ask = (path: string | URL, address: string, init: RequestInit = {}) =>
    fetch(new URL(path, `${issuers.issuer}/`), { redirect: 'manual', ...init, headers: { ...from(address), ...init.headers } });

  before(async () => {
    await issuers.addPerson(jane.email, jane.password);
  });

  it('S2 counts pages for each network, and says when to try again', async () => {
    const address = newAddress();
    const paths = [party().authorizationURL(), 'login/unknown', 'session/end', 'device', 'auth/unknown', 'no-such-page'];
    const statuses: number[] = [];
    for (let n = 0; n < limit; n += 1) statuses.push((await ask(paths[n % paths.length] ?? '', address)).status);
    expect(statuses).to.not.include(429);
    for (const path of paths) {
      const refused = await ask(path, address);
      expect(refused.status, String(path)).to.equal(429);
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
      expect(refused.headers.getSetCookie()).to.deep.equal([]);
      expect(await refused.text()).to.contain('There were too many attempts from your network.');
    }
    expect((await ask(party().authorizationURL(), newAddress())).status).to.equal(303);
    for (const path of ['jwks', '.well-known/openid-configuration']) expect((await ask(path, address)).status).to.equal(200);
  });

  it('S2 lets a user with a known browser log in from a network over the limit', async () => {
    const address = newAddress();
    const browser = new Browser(issuers.publicOrigin, [], { headers: from(address) });
    await party().code(browser, jane);
    for (let n = 0; n <= limit; n += 1) await ask(party().authorizationURL(), address);
    expect((await ask(party().authorizationURL(), address)).status).to.equal(429);
    expect((await browser.get(party().authorizationURL())).url.searchParams.get('code')).to.be.a('string');
  });

  it('S2 never limits a relying party that shows what the issuer gave, and limits guesses', async () => {
    const address = newAddress();
    const relying = party();
    const post = async (path: string, fields: Record<string, string>) => {
      const response = await ask(path, address, { method: 'POST', body: new URLSearchParams({ client_id: 'atrium', ...fields }) });
      return { status: response.status, text: await response.text(), headers: response.headers };
    };
    const renew = (token: string) => post('token', { grant_type: 'refresh_token', refresh_token: token });
    let { refresh_token: token, access_token: access } = await relying.tokens(issuers.browser(from(newAddress())), jane);
    const first = token;
    for (let n = 0; n < limit + 5; n += 1) {
      const { status, text } = await renew(token);
      expect(status).to.equal(200);
      ({ refresh_token: token, access_token: access } = tokensOf({ status, body: JSON.parse(text), headers: new Headers() }));
    }
    for (let n = 0; n < limit; n += 1) expect((await renew('made-up')).status).to.equal(400);
    for (const [path, fields] of [
      ['token', { grant_type: 'refresh_token', refresh_token: 'made-up' }],
      ['token', { client_id: 'other' }],
      ['token/revocation', { token: 'made-up' }],
      ['me', { access_token: 'made-up' }],
    ] as const) {
      const refused = await post(path, fields);
      expect(refused.status, path).to.equal(429);
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
      expect(JSON.parse(refused.text)).to.include({ kind: 'Status', reason: 'TooManyRequests' });
    }
    expect((await ask('me', address, { headers: { authorization: `Bearer ${access}` } })).status).to.equal(200);
    expect((await renew(token)).status).to.equal(200);
    expect((await renew(first)).status).to.equal(400);
  });
});
