import { cookieNames } from '@atrium/http/cookies/cookies.ts';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Browser } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster, publicURL } from '../login/support.ts';
import { logout, refresh, session } from '../sessions/support.ts';

describe('the limit of logins per minute', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  const service = forSuite(() =>
    cluster.service({ provider, config: { login: { perMinute: 40 }, server: { trustedProxies: ['127.0.0.1'] } } }),
  );

  const from = (address: string) => {
    const browser = new Browser(service.url);
    return {
      browser,
      get: (path: string) => browser.request(path, { headers: { 'x-forwarded-for': address } }),
    };
  };

  it('counts login, redirect, callback and refresh together, for each client address', async () => {
    await session(service);
    const paths = ['login', 'redirect', 'callback', 'refresh?refresh_token=x'].map((path) => `/api/v2/token/${path}`);
    paths[2] = `/api/v2/token/callback?code=x&state=${'x'.repeat(43)}`;
    const { get } = from('203.0.113.1');
    const replies = [];
    for (let n = 0; n < 44; n += 1) replies.push(await get(paths[n % 4] ?? ''));

    expect(replies.slice(0, 40).some(({ status }) => status === 429)).to.equal(false);
    for (const reply of replies.slice(40)) {
      expect(reply.status).to.equal(429);
      expect(Number(reply.headers.get('retry-after'))).to.be.within(1, 60);
    }
    expect((await from('203.0.113.2').get('/api/v2/token/login')).status).to.equal(200);
    cluster.clock.advance(61);
    expect((await get('/api/v2/token/login')).status).to.equal(200);
  });

  it('LIM-10 counts all addresses of an IPv6 /64 as one', async () => {
    cluster.clock.advance(61);
    const login = async (address: string) => (await from(address).get('/api/v2/token/login')).status;
    for (let n = 0; n < 40; n += 1) expect(await login(`2001:db8:0:7:${n}::${n}`)).to.equal(200);
    expect(await login('2001:db8:0:7:ffff:ffff:ffff:ffff')).to.equal(429);
    expect(await login('2001:db8:0:8::1')).to.equal(200);
  });

  it('cases/06 counts all ports of an address as one, and a malformed address as the proxy', async () => {
    for (const spelling of [
      (n: number) => `203.0.113.8:${51_000 + n}`,
      (n: number) => `[2001:db8::1]:${51_000 + n}`,
      (n: number) => `unknown${n}`,
    ]) {
      cluster.clock.advance(61);
      const statuses: number[] = [];
      for (let n = 0; n < 41; n += 1) statuses.push((await from(spelling(n)).get('/api/v2/token/login')).status);
      expect(statuses, spelling(0)).to.deep.equal([...Array.from({ length: 40 }, () => 200), 429]);
    }
  });

  it('leaves the renewals of a session alone', async () => {
    cluster.clock.advance(61);
    const { browser, handle } = await session(service);
    const { get } = from('127.0.0.1');
    for (let n = 0; n < 50; n += 1) await get('/api/v2/token/login');
    expect((await get('/api/v2/token/login')).status).to.equal(429);

    const renewed = await refresh(browser, handle);
    expect(renewed.status).to.equal(200);
    const { refresh_token: next = '' } = renewed.body as { refresh_token?: string };
    expect((await logout(browser, next)).status).to.equal(200);
  });

  it('LIM-13 admits a browser with a former login, whatever others at its address do', async () => {
    cluster.clock.advance(61);
    const { browser } = await session(service);
    const { get } = from('127.0.0.1');
    const statuses = async (count: number, ask: (path: string) => Promise<{ status: number }>) => {
      const seen: number[] = [];
      for (let n = 0; n < count; n += 1) seen.push((await ask('/api/v2/token/login')).status);
      return seen;
    };
    expect((await statuses(45, get)).at(-1)).to.equal(429);
    const known = (path: string) => browser.request(path);
    expect(new Set(await statuses(40, known))).to.deep.equal(new Set([200]));
    // A known browser has a limit of its own, and no exemption.
    expect((await known('/api/v2/token/login')).status).to.equal(429);

    cluster.clock.advance(61);
    await statuses(45, get);
    const name = cookieNames(publicURL).host('browser');
    const cookie = `${name}=${browser.cookies.get(name)}`;
    for (const forged of [cookie.slice(0, -1), `${cookie}x`, `${name}=x`, `${name}=a.b`, `${name}=`])
      expect((await new Browser(service.url).request('/api/v2/token/login', { headers: { cookie: forged } })).status, forged).to.equal(429);
    expect((await new Browser(service.url).request('/api/v2/token/login', { headers: { cookie } })).status).to.equal(200);
    cluster.clock.advance(90 * 86_400);
    await statuses(45, get);
    expect((await new Browser(service.url).request('/api/v2/token/login', { headers: { cookie } })).status).to.equal(429);
  });
});
