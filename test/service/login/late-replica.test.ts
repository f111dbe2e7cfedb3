import { expect } from 'chai';
import { FaultProxy, holdAnswer, type ProxiedRequest, page } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { cookieName, expiresCookie, handleOf, logout, refresh, session } from '../sessions/support.ts';
import { Browser } from './provider/browser.ts';
import { TestProvider } from './provider/provider.ts';
import { LoginCluster } from './support.ts';

describe('a replica whose watches are behind', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  const first = forSuite(() => cluster.service({ provider }));
  let faults: FaultProxy;
  const late = forSuite(() =>
    cluster.service({
      provider,
      between: async ({ url, certificateAuthority, serving }) => {
        faults = await FaultProxy.start({ target: url, certificateAuthority, serving });
        return faults;
      },
    }),
  );
  let goOn: () => void = () => undefined;
  const holdBack = (plural: 'users' | 'sessions') => {
    const isFollowing = ({ path, isWatch }: { path: string; isWatch: boolean }) => isWatch && path.endsWith(`/${plural}`);
    const { promise, resolve } = Promise.withResolvers<void>();
    const letGo = faults.hold(isFollowing);
    faults.inject(holdAnswer(promise), isFollowing);
    goOn = () => {
      letGo();
      resolve();
    };
  };
  beforeEach(() => {
    provider.become();
    cluster.clock.freeze();
  });
  afterEach(() => {
    goOn();
    cluster.clock.thaw();
  });
  const sameBrowser = (secret: string) => {
    const browser = new Browser(late.url);
    browser.cookies.set(cookieName, secret);
    return browser;
  };

  for (const [what, use] of [
    ['renews', refresh],
    ['ends', logout],
  ] as const)
    it(`FLT-11 ${what} a session that another replica has just renewed`, async () => {
      const { browser, secret, handle } = await session(first);
      const there = sameBrowser(secret);
      await eventually(
        () => there.info('v2'),
        ({ status }) => status === 200,
      );
      holdBack('sessions');
      const renewed = await refresh(browser, handle);
      expect(renewed.status, renewed.text).to.equal(200);

      const wrong = await use(there, 'x'.repeat(43));
      expect([wrong.status, wrong.body]).to.deep.include(400).and.to.have.nested.property('[1].details.causes[0].field', 'refresh_token');
      const reply = await use(there, handleOf(renewed));
      expect(reply.status, reply.text).to.equal(200);
    });

  it('lets a browser whose user it has not heard of try again, with its session', async () => {
    holdBack('users');
    const { secret, handle } = await session(first);
    const browser = sameBrowser(secret);

    for (const ask of [() => browser.info('v2'), () => refresh(browser, handle)]) {
      const reply = await ask();
      expect(reply.status, reply.text).to.equal(503);
      expect(Number(reply.headers.get('retry-after'))).to.be.at.least(1);
      expect(expiresCookie(reply)).to.equal(false);
    }

    goOn();
    const { status } = await eventually(
      () => browser.info('v2'),
      (reply) => reply.status === 200,
    );
    expect(status).to.equal(200);
  });

  for (const code of [200, 301, 401, 403, 404, 502])
    it(`keeps a session that its watch has not told after a page of ${code} (case 88)`, async () => {
      holdBack('sessions');
      const { secret, handle } = await session(first);
      const browser = sameBrowser(secret);
      const isRead = ({ method, path, isWatch }: ProxiedRequest) => method === 'GET' && !isWatch && /\/sessions\/[^/]+$/.test(path);
      faults.forgetRequests();
      faults.inject(page(code), isRead);
      for (const ask of [() => browser.info('v2'), () => refresh(browser, handle), () => logout(browser, handle)]) {
        const reply = await ask();
        expect(reply.status, reply.text).to.equal(503);
        expect(expiresCookie(reply)).to.equal(false);
      }
      expect(faults.requests.filter(isRead)).to.have.lengthOf(3);
      faults.mend();
      await eventually(
        () => browser.info('v2'),
        ({ status }) => status === 200,
      );
    });

  it('refuses the session of a user who was deleted since', async () => {
    holdBack('users');
    const { secret, user } = await session(first);
    await cluster.kubernetes.remove(`/apis/auth.platform.io/v1/users/${user}`);

    const reply = await sameBrowser(secret).info('v2');
    expect(reply.status, reply.text).to.equal(401);
    expect(expiresCookie(reply)).to.equal(true);
  });
});
