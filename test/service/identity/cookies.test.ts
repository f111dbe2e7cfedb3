import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Browser } from './browser.ts';
import { Issuers } from './issuers.ts';
import { RelyingParty } from './relying-party.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const secureURL = 'https://console.example.com/tools';
const nameOf = (line: string) => line.slice(0, line.indexOf('='));
const isExpiry = (line: string) => /;\s*(max-age=0|expires=thu, 01 jan 1970)/i.test(line);

describe('the cookies of the embedded issuer', () => {
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
    // The same values under a name that a sibling may plant.
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
