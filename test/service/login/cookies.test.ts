import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { handleOf, logout, refresh } from '../sessions/support.ts';
import { Browser, logIn, loginInfoOf, type Reply, userInfoOf } from './provider/browser.ts';
import { TestProvider } from './provider/provider.ts';
import { LoginCluster } from './support.ts';

const namesOf = ({ cookies }: Reply) => cookies.map((line) => line.slice(0, line.indexOf('=')));
const isExpiry = (line: string) => /;\s*max-age=0/i.test(line);
const unlimited = { perMinute: 1_000_000 };

describe('the relying party with its cookies', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  const service = forSuite(() => cluster.service({ provider, config: { login: unlimited } }));
  const handle = ({ callback }: { callback: Reply }) => userInfoOf(callback).ext.token?.refresh_token ?? '';

  it('S2 expires at most ten flow cookies in an answer, and the oldest', async () => {
    const [name = ''] = namesOf(await new Browser(service.url).login('v2'));
    const prefix = name.slice(0, -8);
    const browser = new Browser(service.url);
    for (let n = 0; n < 400; n += 1) browser.cookies.set(prefix + String(n).padStart(8, '0'), '1');
    const reply = await browser.login('v2');

    expect(reply.status).to.equal(200);
    expect(reply.cookies.filter(isExpiry).length).to.be.within(1, 10);
    expect(reply.cookies.filter((line) => !isExpiry(line))).to.have.length(1);
    expect(namesOf(reply).slice(0, 2)).to.deep.equal([`${prefix}00000000`, `${prefix}00000001`]);
    expect((await logIn(service, { browser })).callback.status).to.equal(200);
  });

  it('S2 keeps the five newest flows of a browser', async () => {
    const browser = new Browser(service.url);
    const states: string[] = [];
    for (let n = 0; n < 7; n += 1) states.push(loginInfoOf(await browser.login('v2')).state.slice(0, 8));
    const kept = [...browser.cookies.keys()].map((name) => name.slice(-8));

    expect(kept).to.deep.equal(states.slice(2));
  });

  it('S7 ignores two session cookies of one name, and expires them', async () => {
    const victim = await logIn(service);
    provider.become('attacker');
    const attacker = await logIn(service);
    const [name = ''] = [...victim.browser.cookies.keys()].filter((one) => one.includes('session'));
    const both = [attacker, victim].map(({ browser }) => `${name}=${browser.cookies.get(name)}`);
    for (const cookie of [both.join('; '), both.toReversed().join(';'), both.toReversed().join(' ; ')]) {
      const reply = await new Browser(service.url).request('/api/v2/token/info', { headers: { cookie } });
      expect(reply.status, cookie).to.equal(401);
      expect(reply.cookies.filter(isExpiry)).to.have.length(1);
      expect(namesOf(reply)).to.deep.equal([name]);
      const renewed = await new Browser(service.url).request(`/api/v2/token/refresh?refresh_token=${handle(victim)}`, {
        headers: { cookie },
      });
      expect(renewed.status).to.equal(401);
    }
    expect((await victim.browser.info('v2')).status).to.equal(200);
  });

  it('S7 refuses a flow whose cookie was sent twice', async () => {
    const browser = new Browser(service.url);
    const { state } = loginInfoOf(await browser.login('v2'));
    const [[name, value] = []] = [...browser.cookies];
    const headers = { cookie: `${name}=planted; ${name}=${value}` };
    const reply = await new Browser(service.url).request(`/api/v2/token/callback?code=x&state=${state}`, { headers });

    expect(reply.status).to.equal(400);
    expect(reply.body).to.have.nested.property('details.causes[0].field', 'state');
  });

  const pairs = {
    'below two paths of a host': ['http://host.test/console', 'http://host.test/other'],
    'below two paths of a host with TLS': ['https://host.test/console', 'https://host.test/other'],
    'at two ports of a host': ['http://localhost:8080', 'http://localhost:9090'],
  };
  for (const [where, [first = '', second = '']] of Object.entries(pairs)) {
    it(`cases/07 keeps the logins of two installations apart ${where}`, async () => {
      const elsewhere = await LoginCluster.start();
      const otherProvider = await TestProvider.start({ now: elsewhere.clock.now });
      try {
        const one = await cluster.service({ provider, config: { login: unlimited, server: { publicURL: first } } });
        const other = await elsewhere.service({ provider: otherProvider, config: { login: unlimited, server: { publicURL: second } } });
        const at = (url: string, replica: { url: string }) => replica.url + new URL(url).pathname.replace(/\/$/, '');
        const here = new Browser(at(first, one));
        const there = new Browser(at(second, other), here.cookies);
        const isIn = async (browser: Browser) => (await browser.info('v2')).status === 200;

        const login = await logIn({ url: '' }, { browser: here });
        expect(login.callback.status).to.equal(200);
        expect((await there.request('/api/v1/modules')).cookies).to.deep.equal([]);
        expect(await isIn(here)).to.equal(true);
        expect(await isIn(there)).to.equal(false);
        const otherLogin = await logIn({ url: '' }, { browser: there });
        expect(otherLogin.callback.status).to.equal(200);
        expect([await isIn(here), await isIn(there)]).to.deep.equal([true, true]);
        const renewed = await refresh(here, handle(login));
        expect(renewed.status).to.equal(200);
        expect([await isIn(here), await isIn(there)]).to.deep.equal([true, true]);
        for (let n = 0; n < 6; n += 1) await there.login('v2');
        const info = loginInfoOf(await here.login('v2'));
        for (let n = 0; n < 6; n += 1) await there.login('v2');
        expect([...here.cookies.keys()].some((name) => name.endsWith(info.state.slice(0, 8)))).to.equal(true);
        expect((await logout(here, handleOf(renewed))).status).to.equal(200);
        expect([await isIn(here), await isIn(there)]).to.deep.equal([false, true]);
      } finally {
        await elsewhere.stop();
        await otherProvider.stop();
      }
    });
  }
});
