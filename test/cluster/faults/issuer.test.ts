/** An https issuer that is slow, silent, broken or unavailable. */
import { expect } from 'chai';
import { type Reply, userInfoOf } from '../../service/login/provider/browser.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { ask, expectFault, whenReady } from './asking.ts';
import { type Fault, halfAnswer, type ProxiedRequest, refuse, reset, silence } from './fault-proxy.ts';
import { Issuer } from './issuer.ts';
import { type Service, theRealCluster } from './real-cluster.ts';

const isAt =
  (endpoint: string) =>
  ({ path }: ProxiedRequest) =>
    path.endsWith(`/${endpoint}`);
const refresh = (browser: { request(path: string): Promise<Reply> }, handle: string) =>
  browser.request(`/api/v2/token/refresh?${new URLSearchParams({ refresh_token: handle })}`);

describe('an issuer', () => {
  const cluster = theRealCluster();
  let issuer: Issuer;
  beforeEach(async () => {
    issuer = await Issuer.start(cluster);
  });
  afterEach(() => issuer.stop());

  const expectUnavailable = (reply: Reply) =>
    expectFault({ ...reply, header: (name) => reply.headers.get(name) ?? undefined, took: 0 }, 503, 'identity provider');

  async function withService(use: (service: Service) => Promise<void>): Promise<void> {
    const service = await cluster.service({ connection: cluster.control.url, config: issuer.config });
    try {
      await use(service);
    } finally {
      await service.stop();
    }
  }

  /** Requires that a user can log in again. */
  async function expectBack(service: Service): Promise<void> {
    await eventually(
      async () => (await ask(service, '/api/v2/token/login')).status,
      (status) => status === 200,
    );
    expect((await issuer.logIn(service)).callback.status).to.equal(200);
    await whenReady(service);
  }

  const outages: [string, (faulty: Issuer) => void][] = [
    ['swallows everything', ({ proxy }) => proxy.blackHole()],
    ['resets every connection', ({ proxy }) => proxy.inject(reset)],
    ['answers halves', ({ proxy }) => proxy.inject(halfAnswer)],
    ['answers 500', ({ proxy }) => proxy.inject(refuse(500, 'InternalError'))],
  ];
  for (const [how, begin] of outages) {
    it(`FLT-01 is reported by /readyz and 503 at login if it ${how} when the service starts, and is found when it recovers`, async () => {
      begin(issuer);
      await withService(async (service) => {
        await whenReady(service, 'identity-provider');
        expect((await ask(service, '/healthz')).status).to.equal(200);
        expect((await ask(service, '/api/v1/i18n/languages')).status).to.equal(200);
        const replies = await Promise.all(['v1', 'v2'].map((version) => ask(service, `/api/${version}/token/login`)));
        for (const reply of replies) expectFault(reply, 503, 'identity provider');
        expect((await ask(service, '/readyz?verbose')).text).to.match(/^\[-\]identity-provider failed \(not critical\)/m);
        issuer.proxy.mend();
        await expectBack(service);
      });
    });
  }

  const passing: [string, Fault][] = [
    ['resets the connection', reset],
    ['answers a half', halfAnswer],
    ['answers 500', refuse(500, 'InternalError')],
    ['answers 429', refuse(429, 'TooManyRequests', { 'retry-after': '1' })],
    ['answers nothing', silence],
  ];
  it('FLT-02 causes 503 while its token endpoint fails, and neither a session nor a right is lost or gained', async () => {
    await withService(async (service) => {
      await whenReady(service);
      const { browser, callback } = await issuer.logIn(service);
      const handle = userInfoOf(callback).ext.token?.refresh_token ?? '';
      for (const [how, fault] of passing) {
        const { browser: other, finish } = await issuer.begin(service);
        issuer.proxy.inject(fault, isAt('token'));
        expectUnavailable(await finish());
        expect((await other.info('v2')).status, how).to.equal(401);
        expect((await browser.info('v2')).status, how).to.equal(200);
        issuer.proxy.mend();
        expect((await issuer.logIn(service)).callback.status, how).to.equal(200);
      }
      expect((await refresh(browser, handle)).status).to.equal(200);
    });
  });

  it('FLT-02 causes 503, not 401, while its rotated keys cannot be read', async () => {
    await withService(async (service) => {
      await whenReady(service);
      const { browser } = await issuer.logIn(service);
      await issuer.provider.rotateKeys();
      issuer.proxy.inject(refuse(500, 'InternalError'), isAt('jwks'));
      expectUnavailable((await issuer.logIn(service)).callback);
      expect((await browser.info('v2')).status).to.equal(200);
      issuer.proxy.mend();
      await eventually(
        async () => {
          const { callback } = await issuer.logIn(service);
          if (callback.status !== 200) expectUnavailable(callback);
          return callback.status;
        },
        (status) => status === 200,
      );
    });
  });
});
