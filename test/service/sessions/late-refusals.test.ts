import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { delay, FaultProxy } from '../../cluster/faults/fault-proxy.ts';
import { forSuite } from '../../support/for-suite.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster } from '../login/support.ts';
import { expiresCookie, session } from './support.ts';

describe('a refused cookie of a session that has ended', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  let faults: FaultProxy;
  const service = forSuite(() =>
    cluster.service({
      provider,
      async between({ url, certificateAuthority, serving }) {
        faults = await FaultProxy.start({ target: url, certificateAuthority, serving });
        return faults;
      },
    }),
  );
  before(() => provider.become('jane'));

  /** Ends a session in the cluster, and sends its cookie. */
  async function sendEnded() {
    const one = await session(service);
    expect((await one.browser.request('/api/v2/token/info')).status).to.equal(200);
    await cluster.kubernetes.remove(one.path);
    let reply = await one.browser.request('/api/v2/token/info');
    while (reply.status === 200) reply = await one.browser.request('/api/v2/token/info');
    expect(reply.status).to.equal(401);
    return reply;
  }

  it('is expired', async () => {
    expect(expiresCookie(await sendEnded())).to.equal(true);
  });

  // The browser may have the cookie of a new login by then, which the answer would expire.
  it('stays in the browser if the refusal comes late', async () => {
    faults.inject(delay(3_500), ({ method, path }) => method === 'GET' && /\/sessions\/s-/.test(path));

    expect(expiresCookie(await sendEnded())).to.equal(false);
  });
});
