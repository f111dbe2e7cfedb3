/** Connections that die silently, like behind a firewall that has lost its state: no answer, no end, no reset. */

import { expect } from 'chai';
import { userInfoOf } from '../../service/login/provider/browser.ts';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ask, expectFault, expectFollows, listedUsers, nativeUsers, usersList, whenReady } from './asking.ts';
import type { ProxiedRequest } from './fault-proxy.ts';
import { Issuer } from './issuer.ts';
import { theRealCluster } from './real-cluster.ts';

/** Opens as many connections as a busy service keeps idle. */
const many = <T>(make: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: 20 }, make));

/** Returns the identity of a watch: path and selectors. */
const watched = ({ path, query }: ProxiedRequest) => [path, query.get('labelSelector'), query.get('fieldSelector')].join(' ');

describe('a black hole', () => {
  const cluster = theRealCluster();
  const issuer = forSuite(() => Issuer.start(cluster));
  const proxy = forSuite(() => cluster.proxy());
  const service = forSuite(() => cluster.service({ connection: proxy.url, config: issuer.config }));
  const viewer = () => cluster.token('viewer');

  before(() => whenReady(service));

  it('FLT-02 FLT-06 swallows API server and issuer: known tokens stay valid, no deletion is missed, and the service recovers', async () => {
    const goes = 'swallowed@example.com';
    await cluster.admin.apply(aUser(goes));
    await eventually(
      () => listedUsers(service, viewer()),
      (emails) => emails.includes(goes),
    );
    const { browser } = await issuer.logIn(service);
    const { callback } = await issuer.logIn(service, { token_storage: 'local' });
    const token = userInfoOf(callback).ext.token?.id_token ?? '';
    const { finish } = await issuer.begin(service);
    await many(() => issuer.logIn(service));
    await many(() => ask(service, nativeUsers, { token: viewer() }));

    issuer.proxy.blackHole();
    proxy.blackHole();
    await cluster.admin.remove(`${nativeUsers}/${nameOf(goes)}`);
    expect((await browser.info('v2')).status).to.equal(200);
    expect((await ask(service, '/api/v2/token/info', { token })).status).to.equal(200);
    expect((await ask(service, '/api/v2/token/info', { token: `${token.slice(0, -8)}AAAAAAAA` })).status).to.equal(401);
    const refused = await Promise.all([
      ask(service, usersList, { token: viewer() }),
      ask(service, nativeUsers, { token: viewer() }),
      finish(),
    ]);
    expectFault(refused[0], 504);
    expectFault(refused[1], 504);
    expect(refused[2].status).to.equal(503);

    // Swallowed connections stay dead. Only new ones pass.
    issuer.proxy.mend();
    proxy.mend();
    await eventually(
      async () => {
        const { status, text } = await ask(service, usersList, { token: viewer() });
        expect(status).to.be.oneOf([200, 504]);
        return status === 200 && !text.includes(goes);
      },
      (isSeen) => isSeen,
    );
    // Watches are renewed every half minute, so one may not be open at this moment. On a busy machine, one may have begun after the fault.
    const watches = () => [...new Set(proxy.requests.filter(({ isWatch }) => isWatch).map(watched))];
    await eventually(
      () => ({ open: proxy.openWatches, begun: watches() }),
      ({ open, begun }) => open === begun.length,
    );
    await eventually(
      async () => (await many(() => ask(service, nativeUsers, { token: viewer() }))).map(({ status }) => status),
      (statuses) => statuses.every((status) => status === 200),
    );
    await eventually(
      async () => (await many(() => issuer.logIn(service))).map((again) => again.callback.status),
      (statuses) => statuses.every((status) => status === 200),
    );
    await expectFollows(cluster, service);
  });
});
