import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Browser } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { aService, cookieName, expiresCookie, logout, session, sessionObject } from './support.ts';

describe('a session whose issuer was removed from the configuration', () => {
  const { cluster, provider, service } = aService();
  const another = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  const reconfigured = forSuite(() => cluster.service({ provider: another }));

  it('ends at a logout, which asks no issuer and names no address of one', async () => {
    const { secret, handle, path } = await session(service);
    const browser = new Browser(reconfigured.url);
    browser.cookies.set(cookieName, secret);
    provider.forgetRequests();
    another.forgetRequests();
    const reply = await eventually(
      () => logout(browser, handle),
      ({ status }) => status !== 503,
    );

    expect(reply.status, reply.text).to.equal(200);
    expect(expiresCookie(reply)).to.equal(true);
    expect([reply.headers.get('link'), reply.headers.get('warning')]).to.deep.equal([null, null]);
    expect(await sessionObject(cluster.kubernetes, path)).to.equal(undefined);
    expect([provider.hits('revocation'), another.hits('revocation')]).to.deep.equal([0, 0]);
  });
});
