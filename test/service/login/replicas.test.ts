import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { cookieName, exchanges, expiresCookie, handleOf, logout, refresh, session, sessionObject } from '../sessions/support.ts';
import { type Answer, json } from './provider/answers.ts';
import { authorize, Browser, loginInfoOf, type Reply, userInfoOf } from './provider/browser.ts';
import { TestProvider } from './provider/provider.ts';
import { LoginCluster, type Service } from './support.ts';

describe('two replicas', () => {
  let provider: TestProvider;
  const cluster = forSuite(() => LoginCluster.start());
  let replicas: [Service, Service];
  beforeEach(async () => {
    provider = await TestProvider.start({ now: cluster.clock.now });
    replicas = [await cluster.service({ provider }), await cluster.service({ provider })];
  });
  afterEach(async () => {
    cluster.clock.thaw();
    for (const replica of replicas) await replica.stop();
    await provider.stop();
  });

  /** Returns the same browser at each replica in turn, as behind a load balancer without sticky sessions. */
  const turn = (secret: string) => {
    let count = 0;
    return () => {
      const browser = new Browser(replicas[count++ % 2 === 0 ? 0 : 1].url);
      browser.cookies.set(cookieName, secret);
      return browser;
    };
  };
  const statuses = (replies: Reply[]) => [...new Set(replies.map(({ status }) => status))];
  const forty = <T>(ask: (n: number) => Promise<T>) => Promise.all(Array.from({ length: 40 }, (_, n) => ask(n)));

  const renewed: Answer = (...asked) => {
    const tokens = { token_type: 'Bearer', access_token: 'opaque', expires_in: 900, id_token: provider.idToken(), refresh_token: 'next' };
    json(200, tokens)(...asked);
  };
  /** Delays the next token answers of the provider. */
  const slowly = (ms: number) => provider.misbehave({ answer: { token: (...asked) => void setTimeout(() => renewed(...asked), ms) } });
  /** Holds the token answers of the provider. @returns a function that releases them, once a request has arrived */
  const whenTold = () => {
    const { promise: asked, resolve } = Promise.withResolvers<Parameters<Answer>>();
    provider.misbehave({ answer: { token: (...given) => resolve(given) } });
    return async (answer = renewed) => answer(...(await asked));
  };

  it('FLT-11 are one: every step of a session on the one that did not do the step before', async () => {
    const [one, other] = replicas;
    const browsers = [new Browser(one.url), new Browser(other.url)] as const;
    const use = (browser: Browser, earlier: Browser) => {
      for (const [name, value] of earlier.cookies) browser.cookies.set(name, value);
      return browser;
    };
    await session(one);
    await session(other);
    const login = loginInfoOf(await browsers[0].login('v1', { token_storage: 'cookie' }));
    const callback = await use(browsers[1], browsers[0]).callback('v2', await authorize(login.auth_url));
    expect(callback.status, callback.text).to.equal(200);
    const secret = browsers[1].cookies.get(cookieName) ?? '';
    const next = turn(secret);
    expect((await next().info('v2')).status).to.equal(200);
    expect((await next().info('v1')).status).to.equal(200);
    const renewed = await refresh(next(), userInfoOf(callback).ext.token?.refresh_token ?? '');
    expect(renewed.status, renewed.text).to.equal(200);
    const left = await logout(next(), handleOf(renewed));
    expect(left.status, left.text).to.equal(200);

    for (const replica of [next(), next()]) {
      await eventually(
        () => replica.info('v2'),
        ({ status }) => status === 401,
      );
      expect((await refresh(replica, handleOf(renewed))).status).to.equal(401);
    }
  });

  for (const delay of [0, 500]) {
    it(`turn forty concurrent refreshes into one exchange of ${delay} ms, with one answer`, async () => {
      await session(replicas[1]);
      const { secret, handle } = await session(replicas[0]);
      if (delay > 0) slowly(delay);
      const next = turn(secret);
      // The old handle is valid for some seconds only, and reading the last of the forty answers may take longer.
      cluster.clock.freeze();
      const replies = await forty(() => refresh(next(), handle));

      expect(statuses(replies)).to.deep.equal([200]);
      expect(new Set(replies.map(handleOf)).size).to.equal(1);
      expect(exchanges(provider)).to.equal(1);
    });
  }

  it('turn forty concurrent requests with expired tokens into one exchange', async () => {
    await session(replicas[1]);
    const { secret } = await session(replicas[0]);
    cluster.clock.advance(1000);
    slowly(300);
    const next = turn(secret);

    const replies = await forty(() => next().info('v2'));
    expect(statuses(replies), replies.find(({ status }) => status !== 200)?.text).to.deep.equal([200]);
    expect(exchanges(provider)).to.equal(1);
  });

  it('ask a failing provider once, not once for each request', async () => {
    await session(replicas[1]);
    const { secret, handle } = await session(replicas[0]);
    provider.misbehave({ answer: { token: json(500, {}) } });
    const next = turn(secret);

    // The next attempt is due after some seconds, and reading the last of the forty answers may take longer.
    cluster.clock.freeze();
    expect(statuses(await forty(() => refresh(next(), handle)))).to.deep.equal([503]);
    expect(exchanges(provider)).to.equal(1);
    provider.misbehave();
    cluster.clock.advance(4);
    expect((await refresh(next(), handle)).status).to.equal(200);
  });

  it('FLT-11 continue when one of them dies during a renewal', async () => {
    await session(replicas[1]);
    const { browser, secret, handle, path } = await session(replicas[0]);
    const answer = whenTold();
    const lost = refresh(browser, handle).catch(() => undefined);
    await eventually(
      () => exchanges(provider),
      (count) => count === 1,
    );
    await replicas[0].relay.cut();
    provider.misbehave();
    const elsewhere = new Browser(replicas[1].url);
    elsewhere.cookies.set(cookieName, secret);
    expect((await elsewhere.info('v2')).status).to.equal(200);
    cluster.clock.advance(16);
    const reply = await refresh(elsewhere, handle);

    expect(reply.status, reply.text).to.equal(200);
    expect(exchanges(provider)).to.equal(2);
    expect(JSON.stringify(await sessionObject(cluster.kubernetes, path))).not.to.include('auth.platform.io/renewal');
    await answer(json(500, {}));
    await lost;
    expect((await refresh(elsewhere, handleOf(reply))).status).to.equal(200);
  });

  it('keep tokens that arrived while the API server could not be reached', async () => {
    await session(replicas[1]);
    const { browser, handle, secret } = await session(replicas[0]);
    const answer = whenTold();
    const renewing = refresh(browser, handle);
    await eventually(
      () => exchanges(provider),
      (count) => count === 1,
    );
    await replicas[0].relay.cut();
    await answer();
    await eventually(
      () => replicas[0].logLines.some((line) => line.includes('could not be stored, retrying')),
      (isTold) => isTold,
    );
    await replicas[0].relay.mend();
    const reply = await renewing;

    expect(reply.status, reply.text).to.equal(200);
    expect(exchanges(provider)).to.equal(1);
    provider.misbehave();
    const elsewhere = new Browser(replicas[1].url);
    elsewhere.cookies.set(cookieName, secret);
    expect((await elsewhere.info('v2')).status).to.equal(200);
  });

  it('drop tokens of a session that ended during its renewal', async () => {
    const { browser, handle, path } = await session(replicas[0]);
    const answer = whenTold();
    const renewing = refresh(browser, handle);
    await eventually(
      () => exchanges(provider),
      (count) => count === 1,
    );
    await cluster.kubernetes.remove(path);
    await answer();
    const reply = await renewing;

    expect(reply.status).to.equal(401);
    expect(expiresCookie(reply)).to.equal(true);
    expect(
      provider.requests.filter(({ endpoint }) => endpoint === 'revocation').map(({ parameters }) => parameters.get('token')),
    ).to.deep.equal(['next']);
  });
});
