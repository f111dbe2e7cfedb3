import { cookieNames } from '@atrium/http/cookies/cookies.ts';
import { expect } from 'chai';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Trusting } from '../../support/trusting.ts';
import { Browser } from './browser.ts';

const password = 'correct horse battery';
const [jane, joe] = ['jane@example.com', 'joe@example.com'];
const failures = 2;
/** Failures after which an address is throttled. */
const perAddress = failures * 10;

describe('LIM-13 the login page behind a shared address', () => {
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [jane, joe],
      password,
      credentials: 'impersonate',
      users: { lockout: { failures, duration: '1h', window: '1h' } },
      replicas: 2,
    }),
  );
  let dispatcher: Trusting;
  let cookieName: string;
  let cookie: string;

  before(async () => {
    dispatcher = new Trusting(service.cluster.certificateAuthority);
    const { browser, status } = await service.logIn(jane, password);
    expect(status).to.equal(200);
    cookieName = cookieNames(service.url).host('browser');
    const given = browser.cookies.find(({ name }) => name === cookieName);
    expect(given).to.include({ path: '/' });
    cookie = given?.value ?? '';
    await exhaust();
  });
  after(async () => {
    await dispatcher?.close();
  });

  /** Submits the login form, to all replicas in turn by default, with no cookie but the given one. */
  const attempt = async (email: string, given: string, { known, at = service.urls }: { known?: string; at?: readonly string[] } = {}) => {
    const headers = { 'user-agent': 'a browser' };
    const browser = new Browser(service.url, at, { dispatcher, headers });
    if (known !== undefined) browser.keep(`${cookieName}=${known}; path=/`);
    const { auth_url } = JSON.parse((await browser.get(`${service.url}/api/v2/token/login?token_storage=cookie`)).body);
    const { response } = await browser.submit(await browser.get(auth_url), { email, password: given });
    return { status: response.status, browser };
  };
  const first = () => ({ at: service.urls.slice(0, 1) });
  const second = () => ({ at: service.urls.slice(1) });
  /** Exhausts the limit of the address, like another user behind the same proxy. */
  async function exhaust(): Promise<void> {
    for (const at of [first(), second()]) {
      const guesses = Array.from({ length: perAddress }, (_, index) => attempt(`stranger-${index}@example.com`, 'wrong', at));
      expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).to.deep.equal(new Set([403]));
    }
  }

  it('accepts a user with a known browser, on any replica', async () => {
    for (const at of [first(), second()]) {
      expect((await attempt(jane, password, at)).status, 'not known').to.equal(429);
      expect((await attempt(jane, password, { known: cookie, ...at })).status).to.equal(303);
    }
  });

  it('knows a browser for one user only', async () => {
    expect((await attempt(joe, password, { known: cookie, ...first() })).status).to.equal(429);
    expect((await attempt('stranger@example.com', password, { known: cookie, ...first() })).status).to.equal(429);
  });

  it('accepts no cookie that the service has not issued', async () => {
    const changed = cookie.replace(/(?<=\..{20})./, (letter) => (letter === 'A' ? 'B' : 'A'));
    for (const known of [cookie.slice(0, -2), changed, 'x', '', 'a'.repeat(3_000)])
      expect((await attempt(jane, password, { known, ...first() })).status, known.slice(0, 40)).to.equal(429);
  });

  it('allows a client with the cookie as many attempts as the lockout, and no more', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < failures + 2; count += 1)
      statuses.push((await attempt(jane, 'wrong', { known: cookie, ...first() })).status);
    expect(statuses).to.deep.equal([403, 403, 429, 429]);
    // The user is locked, as after attempts of any client.
    expect((await attempt(jane, password, { known: cookie, ...second() })).status).to.equal(403);
  });
});
