import { expect } from 'chai';
import { FaultProxy, holdAnswer } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import type { SeenRequest } from '../login/provider/answers.ts';
import { authorize, Browser, loginInfoOf } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster } from '../login/support.ts';
import { exchanges, type LoggedIn, refresh, session, tokens } from '../sessions/support.ts';
import { Crowd, expectServed, fillings, from, networks, runningOf, times } from './crowd.ts';

const own = '/api/v2/token/info';
const [stranger] = networks;
const grantOf = ({ endpoint, parameters }: SeenRequest) => (endpoint === 'token' ? parameters.get('grant_type') : undefined);

describe('flows that wait for an issuer', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  const service = forSuite(() =>
    cluster.service({
      provider,
      async between({ url, certificateAuthority, serving }) {
        faults = await FaultProxy.start({ target: url, certificateAuthority, serving });
        return faults;
      },
      config: { server: { trustedProxies: ['127.0.0.1'], maxInFlight: 200 }, login: { perMinute: 100_000 } },
    }),
  );
  /** Proxy between the service and the API server. */
  let faults: FaultProxy;
  const sessions: LoggedIn[] = [];
  const bearers: string[] = [];
  let crowd: Crowd;

  before(async () => {
    for (const name of ['jane', 'joe', 'june', 'jim']) {
      provider.become(name);
      sessions.push(await session(service));
      bearers.push((await tokens(service)).bearer);
    }
  });
  beforeEach(() => {
    crowd = new Crowd();
    provider.misbehave();
    faults.mend();
    provider.forgetRequests();
  });
  afterEach(async () => {
    await crowd.end();
  });

  const statusOf = async (asked: Promise<{ status: number }>) => `answered ${(await asked).status}`;
  const of = <T>(all: readonly T[], index: number) => all[index % all.length] as T;
  const ask = (path: string, address: string, headers: Record<string, string> = {}) =>
    new Browser(service.url).request(path, { headers: from(address, headers) });
  /** Begins logins up to the answer of the issuer, one for each callback that is to wait. */
  const begun = async (count: number, addresses: readonly string[]) => {
    provider.become();
    return Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const headers = from(of(addresses, index));
        const browser = new Browser(service.url);
        const login = await browser.request('/api/v2/token/login?token_storage=cookie', { headers });
        const answer = await authorize(loginInfoOf(login).auth_url);
        return () => browser.request(`/api/v2/token/callback?${answer}`, { headers });
      }),
    );
  };
  const fill = async (count: number, addresses: readonly string[]) => {
    // Each wave is within the places of its network.
    const callbacks: Awaited<ReturnType<typeof begun>> = [];
    while (callbacks.length < count) callbacks.push(...(await begun(30, addresses)));
    provider.misbehave({ hold: (request) => (grantOf(request) === 'authorization_code' ? crowd.isOver : undefined) });
    crowd.send(count, (index) => of(callbacks, index)());
  };
  const holdRenewals = (isOver: Promise<void>) =>
    provider.misbehave({ hold: (request) => (grantOf(request) === 'refresh_token' ? isOver : undefined) });
  /** 20 clients that behave, half of them in the network of the stranger. */
  const behaving = () => {
    const address = (index: number) => (index % 2 ? stranger : '198.51.100.7');
    return {
      ...times(6, 'session', (index) => of(sessions, index).browser.request(own, { headers: from(address(index)) })),
      ...times(6, 'bearer', (index) => ask(own, address(index), { authorization: `Bearer ${of(bearers, index)}` })),
      ...times(4, 'page', (index) => ask('/', address(index))),
      ...times(2, 'livez', (index) => ask('/livez', address(index))),
      ...times(2, 'readyz', (index) => ask('/readyz', address(index))),
    };
  };

  for (const [what, addresses] of Object.entries(fillings))
    it(`LIM-20 leave places to others while callbacks of ${what} wait for the token endpoint`, async () => {
      await fill(60 + 60 * addresses.length, addresses);
      await crowd.refused(10);
      expect(await runningOf(service.metricsURL)).to.include({ issuer: 8 * addresses.length });

      await expectServed(behaving());
      const login = new Browser(service.url).request('/api/v2/token/login', { headers: from('198.51.100.8') });
      expect((await login).status).to.equal(200);
      expect(await crowd.end()).to.deep.equal(new Set([200, 429]));
    });

  it('LIM-20 leave places to others while one person renews a session at the token endpoint', async () => {
    const [jane, ...others] = sessions;
    const { browser, handle } = jane ?? expect.fail('no session');
    holdRenewals(crowd.isOver);
    crowd.send(40, () => refresh(browser, handle, { headers: from(stranger) }));
    await crowd.refused(20);
    const answer = await refresh(browser, handle, { headers: from('198.51.100.7') });
    expect(answer.body).to.have.property('message', 'too many requests of yours are under way, try again');

    await expectServed(times(12, 'session', (index) => of(others, index).browser.request(own, { headers: from(stranger) })));
    expect((await ask('/api/v2/token/login', stranger)).status).to.equal(200);
    expect(await crowd.end()).to.deep.equal(new Set([200, 429]));
    expect(exchanges(provider)).to.equal(1);
  });

  it('LIM-21 count the renewal of a known session for its person, not for a network that strangers fill', async () => {
    const renewal = Promise.withResolvers<void>();
    await fill(90, [stranger]);
    holdRenewals(renewal.promise);
    await crowd.refused(10);
    const [, joe] = sessions;
    const { browser, handle } = joe ?? expect.fail('no session');

    // The page renews by itself.
    const asked = refresh(browser, handle, { headers: from(stranger) });
    const renewing = eventually(
      () => exchanges(provider),
      (count) => count === 1,
    );
    expect(await Promise.race([renewing, statusOf(asked)])).to.equal(1);
    renewal.resolve();
    expect((await asked).status).to.equal(200);
  });

  it('LIM-21 count a request that renews its session for its person', async () => {
    const renewal = Promise.withResolvers<void>();
    provider.become('late');
    const { browser } = await session(service);
    await fill(90, [stranger]);
    holdRenewals(renewal.promise);
    await crowd.refused(10);
    cluster.clock.advance(895);
    try {
      const asked = browser.request(own, { headers: from(stranger) });
      expect(await Promise.race([placesOf('people', 'running', 1), statusOf(asked)])).to.include('atrium_places');
      renewal.resolve();
      expect((await asked).status).to.equal(200);
    } finally {
      cluster.clock.reset();
    }
  });

  it('LIM-21 hold no place twice once a credential that waited is accepted', async () => {
    const keys = Promise.withResolvers<void>();
    const nodes = Promise.withResolvers<void>();
    await fill(30, [stranger]);
    await placesOf('strangers', 'waiting', 20);
    await provider.rotateKeys();
    const token = provider.idToken();
    provider.misbehave({ hold: ({ endpoint }) => (endpoint === 'jwks' ? keys.promise : undefined) });
    faults.inject(holdAnswer(nodes.promise), ({ path }) => path === '/api/v1/nodes');

    const asked = ask('/api/kubernetes/api/v1/nodes', stranger, { authorization: `Bearer ${token}` });
    await placesOf('strangers', 'waiting', 21);
    keys.resolve();
    await placesOf('people', 'running', 1);
    await placesOf('strangers', 'waiting', 20);
    expect(await crowd.end()).to.deep.equal(new Set([200]));
    await placesOf('strangers', 'running', 0);
    nodes.resolve();
    expect((await asked).status).to.equal(403);
    const text = await placesOf('strangers', 'waiting', 0);
    expect(text).to.include('atrium_places{class="people",state="running"} 0\n');
  });

  /** Waits until so many requests of a class run or wait. */
  const placesOf = (requestClass: string, state: string, count: number) =>
    eventually(
      async () => (await fetch(`${service.metricsURL}/metrics`)).text(),
      (text) => text.includes(`atrium_places{class="${requestClass}",state="${state}"} ${count}\n`),
    );
});
