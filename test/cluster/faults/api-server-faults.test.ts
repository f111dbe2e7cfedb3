/** Faults of a network, an overloaded API server or a proxy in front of it, in the calls and watches of the service. */

import { expect } from 'chai';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ask, expectFault, expectFollows, listedUsers, nativeUsers, plugin, usersList, whenReady } from './asking.ts';
import { delay, type Fault, halfAnswer, type ProxiedRequest, refuse, reset, silence } from './fault-proxy.ts';
import { theRealCluster } from './real-cluster.ts';

const isWatch = (request: ProxiedRequest) => request.isWatch;
const isShort = (request: ProxiedRequest) => !request.isWatch;
const isUsers = ({ path, method }: ProxiedRequest) => path === nativeUsers && method === 'GET';
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('the service on faults of its API server', () => {
  const cluster = theRealCluster();
  const proxy = forSuite(() => cluster.proxy());
  const service = forSuite(() => cluster.service({ connection: proxy.url, config: { kubernetes: { requestTimeout: '3s' } } }));
  const viewer = () => cluster.token('viewer');

  before(() => whenReady(service, 'identity-provider'));
  afterEach(() => proxy.mend());

  it('FLT-04 answers 504 at the deadline of each call that takes 30 s, while other requests are answered and watches go on', async () => {
    proxy.inject(delay(30_000), isShort);
    const slow = Array.from({ length: 150 }, (_, turn) => ask(service, turn % 2 ? nativeUsers : usersList, { token: viewer() }));
    await cluster.admin.apply(plugin('while-slow'));
    await eventually(
      async () => (await ask(service, '/api/v1/console-plugins')).text,
      (text) => text.includes('while-slow'),
    );
    for (let turn = 0; turn < 100; turn += 1) {
      const languages = await ask(service, '/api/v1/i18n/languages');
      expect(languages.status).to.equal(200);
    }
    for (const reply of await Promise.all(slow)) {
      expectFault(reply, 504);
    }
    proxy.mend();
    await expectFollows(cluster, service);
  });

  describe('FLT-06 with watches', () => {
    /** Faults of the watches, and of all matching requests until the proxy is mended. */
    const faults: [string, Fault, (request: ProxiedRequest) => boolean][] = [
      ['watches are reset', reset, isWatch],
      ['everything is reset', reset, () => true],
      ['every watch is refused with 410', refuse(410, 'Expired'), isWatch],
      ['everything is refused with 410', refuse(410, 'Expired'), () => true],
      ['everything is refused with 500', refuse(500, 'InternalError'), () => true],
      ['everything is refused with 429', refuse(429, 'TooManyRequests', { 'retry-after': '1' }), () => true],
      ['every answer ends half-way', halfAnswer, () => true],
      ['nothing is answered', silence, () => true],
    ];
    for (const [index, [what, fault, matches]] of faults.entries()) {
      it(`FLT-06 misses no change when ${what}`, async () => {
        const [stays, goes, comes] = ['stays', 'goes', 'comes'].map((name) => `${name}-${index}@example.com`) as [string, string, string];
        await cluster.admin.apply(aUser(stays), aUser(goes));
        await eventually(
          () => listedUsers(service, viewer()),
          (emails) => emails.includes(stays) && emails.includes(goes),
        );
        proxy.inject(fault, matches);
        proxy.cut(isWatch);
        await cluster.admin.remove(`${nativeUsers}/${nameOf(goes)}`);
        await cluster.admin.apply(aUser(comes));
        await pause(1_000);
        proxy.mend();
        await eventually(
          () => listedUsers(service, viewer()),
          (emails) => emails.includes(stays) && emails.includes(comes) && !emails.includes(goes),
        );
        await expectFollows(cluster, service);
      });
    }

    it('FLT-06 misses no change when the API server itself has forgotten the version', async () => {
      const [goes, comes] = ['forgotten@example.com', 'new@example.com'] as const;
      await cluster.admin.apply(aUser(goes));
      await eventually(
        () => listedUsers(service, viewer()),
        (emails) => emails.includes(goes),
      );
      proxy.inject(reset);
      proxy.cut();
      await cluster.admin.remove(`${nativeUsers}/${nameOf(goes)}`);
      // A restart discards the history of changes.
      await cluster.control.apiServer.kill();
      await cluster.control.apiServer.start();
      await cluster.admin.apply(aUser(comes));
      proxy.mend();
      await eventually(
        () => listedUsers(service, viewer()),
        (emails) => emails.includes(comes) && !emails.includes(goes),
      );
      await expectFollows(cluster, service);
    });
  });
});

/** The deadline is so long that no call on a busy machine reaches it. */
describe('the service with long deadlines on faults of its API server', () => {
  const cluster = theRealCluster();
  const proxy = forSuite(() => cluster.proxy());
  const service = forSuite(() => cluster.service({ connection: proxy.url, config: { kubernetes: { requestTimeout: '25s' } } }));
  const viewer = () => cluster.token('viewer');
  const isViewers = ({ headers }: ProxiedRequest) => headers.authorization === `Bearer ${viewer()}`;

  before(() => whenReady(service, 'identity-provider'));
  afterEach(() => proxy.mend());

  it('FLT-04 answers 503 to half an answer, or aborts an answer that had begun, and never completes it', async () => {
    proxy.inject(halfAnswer, isShort);
    expectFault(await ask(service, usersList, { token: viewer() }), 503);
    const forwarded = await ask(service, nativeUsers, { token: viewer() }).catch(() => undefined);
    if (forwarded !== undefined) expectFault(forwarded, 503);
    proxy.mend();
    expect((await ask(service, nativeUsers, { token: viewer() })).status).to.equal(200);
  });

  it('FLT-05 retries reads when the API server asks for it by 429', async () => {
    // The service watches users with its own account meanwhile.
    const isMeant = (request: ProxiedRequest) => isUsers(request) && isViewers(request);
    proxy.inject(refuse(429, 'TooManyRequests', { 'retry-after': '1' }), isMeant, 1);
    proxy.forgetRequests();
    const reply = await ask(service, nativeUsers, { token: viewer() });
    expect(reply.status).to.equal(200);
    expect(reply.took).to.be.at.least(990);
    expect(proxy.requests.filter(isMeant)).to.have.length(2);
  });

  it('FLT-05 makes three attempts at most, then answers the caller 429', async () => {
    proxy.inject(refuse(429, 'TooManyRequests', { 'retry-after': '1' }), isShort);
    for (const [path, calls] of [
      [nativeUsers, 3],
      [usersList, 3],
    ] as const) {
      proxy.forgetRequests();
      const reply = await ask(service, path, { token: viewer() });
      expect(reply.status, path).to.equal(429);
      expect(reply.header('retry-after')).to.equal('1');
      expect(reply.body).to.deep.include({ reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } });
      // The controllers of the service send requests with its own account meanwhile.
      expect(proxy.requests.filter(isViewers), path).to.have.length(calls);
    }
  });

  it('FLT-06 misses no change when a list expires between its pages', async () => {
    const emails = Array.from({ length: 510 }, (_, index) => `many-${index}@example.com`);
    for (let from = 0; from < emails.length; from += 30) {
      await Promise.all(emails.slice(from, from + 30).map((email) => cluster.admin.apply(aUser(email, { labels: { many: 'true' } }))));
    }
    try {
      await eventually(
        () => listedUsers(service, viewer()),
        (listed) => emails.every((email) => listed.includes(email)),
      );
      proxy.inject(refuse(410, 'Expired'), (request) => isUsers(request) && request.query.has('continue'), 2);
      proxy.inject(refuse(410, 'Expired'), (request) => isUsers(request) && isWatch(request), 1);
      proxy.forgetRequests();
      proxy.cut((request) => isUsers(request) && isWatch(request));
      await cluster.admin.remove(`${nativeUsers}/${nameOf('many-0@example.com')}`);
      await eventually(
        () => listedUsers(service, viewer()),
        (listed) => !listed.includes('many-0@example.com') && listed.length >= 509,
      );
      const pages = proxy.requests.filter((request) => isUsers(request) && isShort(request)).map(({ query }) => query.has('continue'));
      expect(pages).to.deep.equal([false, true, false, true, false, true]);
    } finally {
      await cluster.admin.remove(`${nativeUsers}?labelSelector=many%3Dtrue`);
    }
  });
});
