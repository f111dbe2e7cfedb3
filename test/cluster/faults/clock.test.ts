/** Clocks that are wrong, and clocks that are corrected. */

import { expect } from 'chai';
import { type Browser, type Reply, userInfoOf } from '../../service/login/provider/browser.ts';
import { Clock } from '../../service/login/support.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ask, usersList, whenReady } from './asking.ts';
import { addLocalUser, embeddedService, logInPage } from './embedded.ts';
import { Issuer } from './issuer.ts';
import { type Service, theRealCluster } from './real-cluster.ts';

const password = 'right horse battery staple';
const minute = 60;

/** The clocks of a service: a wall clock, which may be set back, and a monotonic one. */
class Clocks {
  readonly #time = new Clock();
  #offMs: number;

  /** @param offSeconds how far the wall clock is ahead of all other clocks */
  constructor(offSeconds = 0) {
    this.#offMs = offSeconds * 1000;
  }

  readonly now = () => new Date(this.#time.now().getTime() + this.#offMs);
  readonly clock = () => this.#time.clock();

  /** Lets time pass. */
  advance(seconds: number): void {
    this.#time.advance(seconds);
  }

  /** Moves the wall clock, as an operator does. */
  put(seconds: number): void {
    this.#offMs += seconds * 1000;
  }
}

describe('FLT-12 the service whose clock is wrong', () => {
  const cluster = theRealCluster();
  const issuer = forSuite(() => Issuer.start(cluster));
  const services: Service[] = [];

  afterEach(async () => {
    for (const service of services.splice(0)) await service.stop();
  });

  async function start(clocks: Clocks, config: Record<string, Record<string, unknown>> = {}): Promise<Service> {
    const { login, kubernetes } = issuer.config;
    const service = await cluster.service({
      connection: cluster.control.url,
      config: { kubernetes, ...config, login: { ...login, ...config.login } },
      now: clocks.now,
      clock: clocks.clock,
    });
    services.push(service);
    await whenReady(service);
    return service;
  }

  /** Returns the idle expiries of all sessions in the cluster. */
  const idleEnds = async (): Promise<string> => {
    const { body } = await cluster.admin.call('GET', `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/sessions`);
    const { items } = body as { items: { spec: { idleExpiration: string } }[] };
    return items.map(({ spec }) => spec.idleExpiration).join();
  };
  const handleOf = (callback: Reply) => userInfoOf(callback).ext.token?.refresh_token ?? '';
  const renewal = (handle: string) => `/api/v2/token/refresh?${new URLSearchParams({ refresh_token: handle })}`;
  const cookieOf = ({ cookies }: Browser) => [...cookies].map((pair) => pair.join('=')).join('; ');

  for (const off of [minute, -minute]) {
    it(`FLT-12 works with a clock that is ${off} s off`, async () => {
      const service = await start(new Clocks(off));
      const { browser, callback } = await issuer.logIn(service);
      expect(callback.status).to.equal(200);
      expect((await browser.info('v2')).status).to.equal(200);
      expect((await browser.request(renewal(handleOf(callback)))).status).to.equal(200);
      const local = await issuer.logIn(service, { token_storage: 'local' });
      const token = userInfoOf(local.callback).ext.token?.id_token ?? '';
      expect((await ask(service, '/api/v2/token/info', { token })).status).to.equal(200);
      expect((await ask(service, usersList, { token: cluster.token('viewer') })).status).to.equal(200);
    });

    it(`FLT-12 completes a login that begins on another replica, with clocks ${off} s apart, valid on both`, async () => {
      const [one, other] = [await start(new Clocks(off)), await start(new Clocks())];
      const on = (service: Service, browser: Browser, path: string) =>
        fetch(`${service.url}${path}`, { headers: { cookie: cookieOf(browser) } });
      const { browser, answer } = await issuer.begin(one);
      const callback = await on(other, browser, `/api/v2/token/callback?${answer}`);
      expect(callback.status).to.equal(200);
      const [session = ''] = callback.headers.getSetCookie().filter((line) => line.includes('atrium_session'));
      const headers = { cookie: session.split(';')[0] ?? '' };
      for (const service of [one, other, one]) {
        expect((await fetch(`${service.url}/api/v2/token/info`, { headers })).status).to.equal(200);
      }
      const handle: unknown = JSON.parse(await callback.text()).ext.token.refresh_token;
      expect((await fetch(`${one.url}${renewal(String(handle))}`, { headers })).status).to.equal(200);
      expect((await fetch(`${other.url}/api/v2/token/info`, { headers })).status).to.equal(200);
    });
  }

  for (const off of [10 * minute, -10 * minute]) {
    it(`S14 accepts logins and tokens by the clock of the API server if its own is ${off} s off`, async () => {
      const wallClock = () => new Date(Date.now() + off * 1000);
      const { login, kubernetes } = issuer.config;
      const service = await cluster.service({ connection: cluster.control.url, config: { kubernetes, login }, wallClock });
      services.push(service);
      const report = await eventually(
        async () => (await fetch(`${service.metricsURL}/readyz?verbose`)).text(),
        (text) => text.includes('readyz check passed') && !/^\[-\](?!clock)/m.test(text),
      );
      expect(report).to.include(`the clock here is 10 minutes ${off > 0 ? 'ahead of' : 'behind'} that of kubernetes`);

      const { browser, callback } = await issuer.logIn(service);

      expect(callback.status, callback.text).to.equal(200);
      expect((await browser.info('v2')).status).to.equal(200);
      const token = issuer.provider.idToken({ claims: { iss: issuer.url } });
      expect((await ask(service, '/api/v2/token/info', { token })).status).to.equal(200);
    });

    it(`FLT-12 answers 401 with the reason in the log if the clock of the API server is ${off} s off`, async () => {
      issuer.provider.tokenSeconds = 300;
      try {
        const service = await start(new Clocks(off));
        const { browser, callback } = await issuer.logIn(service);
        expect(callback.status).to.equal(401);
        expect((await browser.info('v2')).status).to.equal(401);
        const token = issuer.provider.idToken({ claims: { iss: issuer.url } });
        expect((await ask(service, '/api/v2/token/info', { token })).status).to.equal(401);
        const refusals = await eventually(
          () => service.logLines.map((line) => JSON.parse(line).refusal).filter((refusal) => refusal !== undefined),
          ({ length }) => length >= 2,
        );
        expect(refusals).to.have.length(2);
        for (const refusal of refusals)
          expect(refusal).to.match(
            off > 0 ? /"exp" claim/ : /^iat is (5\d\d|60\d) s in the future: check the clocks of this machine and of the issuer$/,
          );
      } finally {
        issuer.provider.tokenSeconds = 900;
      }
    });
  }

  it('FLT-12 expires a session at the same moment after its clock is set back by 5 min', async () => {
    const clocks = new Clocks();
    const service = await start(clocks, { login: { session: { idle: '4m', absolute: '10m' } } });
    const { browser } = await issuer.logIn(service);
    clocks.advance(100);
    clocks.put(-5 * minute);
    expect((await browser.info('v2')).status).to.equal(200);
    clocks.advance(5 * minute);
    expect((await browser.info('v2')).status, 'idle').to.equal(401);
  });

  it('FLT-12 ends a session in use at its absolute expiry after its clock is set back by 5 min', async () => {
    const clocks = new Clocks();
    const service = await start(clocks, { login: { session: { idle: '4m', absolute: '6m' } } });
    const { browser } = await issuer.logIn(service);
    clocks.put(-5 * minute);
    for (let passed = 0; passed < 6 * minute - 60; passed += 60) {
      const before = await idleEnds();
      clocks.advance(60);
      expect((await browser.info('v2')).status, `after ${passed + 60} s`).to.equal(200);
      // The idle expiry is extended in the background, up to the absolute expiry.
      if (passed < 2 * minute) await eventually(idleEnds, (ends) => ends !== before);
    }
    clocks.advance(61);
    expect((await browser.info('v2')).status).to.equal(401);
  });

  it('FLT-12 ends a lockout at the same moment after its clock is set back by 5 min', async () => {
    const email = 'put-back@example.com';
    await addLocalUser(cluster, email, password);
    const clocks = new Clocks();
    const service = await embeddedService(cluster, {
      connection: cluster.control.url,
      config: { users: { lockout: { failures: 2, duration: '10m' } } },
      now: clocks.now,
      clock: clocks.clock,
    });
    services.push(service);
    await whenReady(service);
    const attempt = async (given: string) => (await logInPage(service))(email, given);
    for (const given of ['wrong', 'wrong again', password]) expect((await attempt(given)).status).to.equal(403);
    clocks.advance(5 * minute);
    clocks.put(-5 * minute);
    expect((await attempt(password)).status).to.equal(403);
    clocks.advance(5 * minute + 2);
    expect(await attempt(password)).to.deep.equal({ status: 200, isLoggedIn: true });
  });
});
