import { expect } from 'chai';
import { FaultProxy, holdAnswer } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { cookieName, expiresCookie, refresh, session } from '../sessions/support.ts';
import { Browser } from './provider/browser.ts';
import { TestProvider } from './provider/provider.ts';
import { LoginCluster } from './support.ts';

describe('a replica whose watch of users is behind', () => {
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
  beforeEach(() => {
    provider.become();
    cluster.clock.freeze();
    const isOfUsers = ({ path, isWatch }: { path: string; isWatch: boolean }) => isWatch && path.endsWith('/users');
    const { promise, resolve } = Promise.withResolvers<void>();
    const letGo = faults.hold(isOfUsers);
    faults.inject(holdAnswer(promise), isOfUsers);
    goOn = () => {
      letGo();
      resolve();
    };
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

  it('lets a browser whose user it has not heard of try again, with its session', async () => {
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

  it('refuses the session of a user who was deleted since', async () => {
    const { secret, user } = await session(first);
    await cluster.kubernetes.remove(`/apis/auth.platform.io/v1/users/${user}`);

    const reply = await sameBrowser(secret).info('v2');
    expect(reply.status, reply.text).to.equal(401);
    expect(expiresCookie(reply)).to.equal(true);
  });
});
