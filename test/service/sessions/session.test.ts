import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { tokenInText } from '../../support/token-in-text.ts';
import { Browser, logIn, userInfoOf } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { Clock, LoginCluster, type Service } from '../login/support.ts';
import {
  cookieName,
  expiresCookie,
  handleOf,
  itemsOf,
  logout,
  objects,
  operations,
  patchUser,
  refresh,
  session,
  sessionObject,
  sessionsPath,
} from './support.ts';

const newSecret = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url');
const statusOf = async (browser: Browser) => (await browser.info('v2')).status;

describe('a session', () => {
  const clock = new Clock();
  const provider = forSuite(() => TestProvider.start({ now: clock.now, tls: true }));
  const cluster = forSuite(() => LoginCluster.start({ clock, trusts: provider }));
  const service = forSuite(() => cluster.service({ provider }));
  const other = forSuite(() => cluster.service({ provider }));
  beforeEach(() => provider.misbehave());

  it('is an object that belongs to the user and tells no secret', async () => {
    const { browser, secret, handle, path, user } = await session(service);
    const object = await sessionObject(cluster.kubernetes, path);

    expect(object?.metadata.ownerReferences?.[0]).to.include({ kind: 'User', name: user });
    expect(object?.spec).to.include({ user, subjectName: 'jane@example.com', source: '127.0.0.1' });
    expect(object?.spec.userUID).to.equal(object?.metadata.ownerReferences?.[0]?.uid);
    expect(handle).to.match(/^[\w-]{43}$/);
    for (const hidden of [secret, handle]) expect(JSON.stringify(object)).not.to.include(hidden);
    expect(JSON.stringify(object)).not.to.match(tokenInText);
    const { name, ext } = userInfoOf(await browser.info('v2'));
    expect({ name, storage: ext.token_storage }).to.deep.equal({ name: 'jane@example.com', storage: 'cookie' });
  });

  it('COO-01 is identified by a cookie that no script, no other site and no plain connection gets', async () => {
    const secure = await cluster.service({ provider, config: { server: { publicURL: 'https://console.test' } } });
    const { browser } = await eventually(
      () => logIn(secure).catch(() => ({ browser: undefined })),
      ({ browser }) => browser !== undefined,
    );
    const { callback } = await logIn(secure, { browser: browser ?? new Browser(secure.url) });
    const lines = callback.cookies.filter((line) => line.startsWith('__Host-atrium_session_') && !line.includes('Max-Age=0'));

    expect(lines).to.have.length(1);
    expect(lines[0]).to.match(/^__Host-atrium_session_[0-9a-f]{8}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
    for (const line of callback.cookies) expect(line).to.match(/^__(Host|Secure)-.*; HttpOnly; SameSite=Lax; Secure/);
    expect(callback.text).not.to.match(tokenInText);
  });

  for (const credentials of ['impersonate', 'passthrough']) {
    it(`gives its user the rights that they have (${credentials})`, async () => {
      await cluster.kubernetes.apply(clusterRoleBinding('dev-view', 'view', { kind: 'Group', name: 'dev' }));
      const replica = await cluster.service({ provider, config: { kubernetes: { credentials } } });
      const { browser } = await session(replica);
      const may = async (verb: string) => {
        const spec = { resourceAttributes: { verb, resource: 'pods', namespace: 'default' } };
        const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
        const reply = await browser.request('/auth/v1/selfsubjectaccessreviews', {
          method: 'POST',
          body: JSON.stringify({ spec }),
          headers,
        });
        expect(reply.status, reply.text).to.equal(201);
        return (reply.body as { status: { allowed: boolean } }).status.allowed;
      };

      // The API server learns of the binding a moment later.
      expect(await eventually(() => may('list'), Boolean)).to.equal(true);
      expect(await may('delete')).to.equal(false);
    });
  }

  it('ends with its issuer: no other issuer is asked about it', async () => {
    const next = await TestProvider.start({ now: cluster.clock.now, tls: true });
    try {
      const moved = await cluster.service({ provider: next });
      const { browser } = await session(service);
      const there = new Browser(moved.url);
      for (const [name, value] of browser.cookies) there.cookies.set(name, value);

      expect(await statusOf(there)).to.equal(401);
      expect(await statusOf(browser)).to.equal(200);
      expect(next.hits('token') + next.hits('revocation') + next.hits('userinfo')).to.equal(0);
    } finally {
      await next.stop();
    }
  });

  it('COO-02 keeps large tokens out of the cookie', async () => {
    provider.misbehave({ idToken: { claims: { groups: Array.from({ length: 300 }, (_, n) => `group-with-a-rather-long-name-${n}`) } } });
    const { browser } = await session(service);
    const { groups } = userInfoOf(await browser.info('v2'));

    expect(groups).to.have.length(300);
    for (const [name, value] of browser.cookies) expect(name.length + value.length).to.be.below(4096);
  });

  it('REN-08 begins with a new secret, whatever cookie existed before', async () => {
    const planted = new Browser(service.url);
    const value = newSecret();
    planted.cookies.set(cookieName, value);
    const first = await session(service, { browser: planted });
    const { secret, path } = first;
    const second = await session(service, { browser: planted });

    expect(new Set([value, secret, second.secret]).size).to.equal(3);
    const old = new Browser(service.url);
    old.cookies.set(cookieName, secret);
    expect(await statusOf(old)).to.equal(401);
    expect(await sessionObject(cluster.kubernetes, path)).to.equal(undefined);
    expect(await statusOf(second.browser)).to.equal(200);
  });

  it('is valid at once on a replica whose watch has not delivered it', async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      const { secret } = await session(service);
      const browser = new Browser(other.url);
      browser.cookies.set(cookieName, secret);
      expect(await statusOf(browser)).to.equal(200);
    }
  });

  it('ends on every replica when its object is deleted', async () => {
    const { browser, secret, path } = await session(service);
    const elsewhere = new Browser(other.url);
    elsewhere.cookies.set(cookieName, secret);
    expect(await statusOf(elsewhere)).to.equal(200);
    await cluster.kubernetes.remove(path);

    await eventually(
      () => statusOf(elsewhere),
      (status) => status === 401,
    );
    await eventually(
      () => statusOf(browser),
      (status) => status === 401,
    );
  });

  it('is removed from the browser when it has ended; the browser continues as anonymous if possible', async () => {
    const { browser, path } = await session(service);
    await cluster.kubernetes.remove(path);
    const refused = await eventually(
      () => browser.info('v2'),
      ({ status }) => status === 401,
    );
    expect(expiresCookie(refused)).to.equal(true);
    expect(refused.headers.get('www-authenticate')).to.equal('Bearer realm="atrium", error="invalid_token"');
    expect(browser.cookies.has(cookieName)).to.equal(false);

    for (const value of [newSecret(), 'nonsense', '']) {
      browser.cookies.set(cookieName, value);
      const modules = await browser.request('/api/v1/modules');
      expect(modules.status).to.equal(200);
      expect(expiresCookie(modules)).to.equal(true);
    }
  });

  it('takes no cookie from a new login by which its browser has replaced it', async () => {
    const { browser, secret, handle } = await session(service);
    await logIn(service, { browser });

    // The request is sent before the login, and answered after it.
    const late = new Browser(service.url);
    late.cookies.set(cookieName, secret);
    const modules = await late.request('/api/v1/modules');

    expect([modules.status, expiresCookie(modules)]).to.deep.equal([200, false]);
    for (const refused of [await late.info('v2'), await refresh(late, handle), await logout(late, handle)])
      expect([refused.status, expiresCookie(refused)]).to.deep.equal([401, false]);
    expect(await statusOf(browser)).to.equal(200);
  });

  it('never replaces an Authorization header', async () => {
    const { browser } = await session(service);

    for (const authorization of ['Bearer nonsense', 'Basic amFuZTpwYXNz', 'Bearer']) {
      const { status } = await browser.request('/api/v1/modules', { headers: { authorization } });
      expect(status, authorization).to.equal(401);
    }
    expect(await statusOf(browser)).to.equal(200);
  });

  it('cannot be guessed at the cost of the API server', async () => {
    const reads = async () => {
      const text = await (await fetch(`${other.metricsURL}/metrics`)).text();
      const counts = [...text.matchAll(/request_duration_seconds_count\{call="get sessions",outcome="\d+"\} (\d+)/g)];
      return counts.reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const before = await reads();
    const guesses = Array.from({ length: 300 }, async () => {
      const browser = new Browser(other.url);
      browser.cookies.set(cookieName, newSecret());
      return statusOf(browser);
    });

    expect(new Set(await Promise.all(guesses))).to.deep.equal(new Set([401]));
    // The limit is sixty in a minute, and a minute may begin during the test.
    expect((await reads()) - before).to.be.at.most(120);
  });

  describe('and its user', () => {
    afterEach(() => {
      provider.person = { ...provider.person, sub: 'jane-1', email: 'jane@example.com' };
    });

    const log = (name: string) => {
      provider.person = { ...provider.person, sub: name, email: `${name}@example.com` };
      return session(service);
    };
    const refusal = (browser: Browser) =>
      eventually(
        () => browser.info('v2'),
        ({ status }) => status === 401,
      );
    const cause = ({ body }: { body: unknown }) => (body as { details?: { causes?: { reason: string }[] } }).details?.causes?.[0]?.reason;

    it('REN-05 ends for a user who is disabled', async () => {
      const { browser, user } = await log('disabled');
      await patchUser(cluster.kubernetes, user, { spec: { is_disabled: true } });

      expect(cause(await refusal(browser))).to.equal('AccountDisabled');
    });

    it('REN-05 ends for a user who has expired', async () => {
      const { browser, user } = await log('expired');
      await patchUser(cluster.kubernetes, user, { spec: { expired: { end: '2026-01-01T00:00:00Z' } } });

      expect(cause(await refusal(browser))).to.equal('AccountExpired');
    });

    it('REN-05 ends for a user who was removed at the source', async () => {
      const { browser, user } = await log('gone');
      await patchUser(cluster.kubernetes, user, { spec: { valid: false } });

      expect(cause(await refusal(browser))).to.equal('AccountInvalid');
    });

    it('REN-05 ends with the record of the user, and a new one under the name does not inherit it', async () => {
      const { browser, user, path } = await log('deleted');
      const uid = (await sessionObject(cluster.kubernetes, path))?.spec.userUID;
      await cluster.kubernetes.remove(`/apis/auth.platform.io/v1/users/${user}`);
      await refusal(browser);
      // A session that was opened in the second of the deletion is not valid.
      cluster.clock.advance(1);
      const again = await log('deleted');

      expect((await sessionObject(cluster.kubernetes, again.path))?.spec.userUID).not.to.equal(uid);
      expect(await statusOf(browser)).to.equal(401);
      expect(await statusOf(again.browser)).to.equal(200);
    });

    it('REN-05 does not belong to a record that was created again under the name', async () => {
      const { browser, path } = await log('anew');
      const patch = { spec: { userUID: crypto.randomUUID() } };
      await cluster.kubernetes.call('PATCH', path, patch, { 'content-type': 'application/merge-patch+json' });
      // A younger session might precede its record.
      cluster.clock.advance(31);

      expect(cause(await refusal(browser))).to.equal('TokenRevoked');
    });

    it('ends when the record sets a later start of sessions', async () => {
      const { browser, user } = await log('reset');
      const sessionsNotBefore = new Date(cluster.clock.now().getTime() + 1000).toISOString().replace(/\.\d+Z$/, 'Z');
      await patchUser(cluster.kubernetes, user, { status: { sessionsNotBefore } }, '/status');

      expect(cause(await refusal(browser))).to.equal('TokenRevoked');
    });

    it('REN-05 continues while the user is locked', async () => {
      const { browser, handle, user } = await log('locked');
      const lockedUntil = new Date(cluster.clock.now().getTime() + 600_000).toISOString().replace(/\.\d+Z$/, 'Z');
      await patchUser(cluster.kubernetes, user, { status: { lockedUntil } }, '/status');
      const phase = async () => userInfoOf(await browser.info('v2')).ext.phase;

      expect(await eventually(phase, (text) => text === 'Locked')).to.equal('Locked');
      const { status } = await browser.request(`/api/v2/token/refresh?refresh_token=${handle}`);
      expect(status).to.equal(200);
    });
  });
});

describe('the end of a session', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  let service: Service;

  before(async () => {
    provider.tokenSeconds = 30 * 86_400;
    service = await cluster.service({ provider, config: { login: { session: { idle: '10m', absolute: '30m' } } } });
  });

  /** Uses the session until the service has its new idle expiry: a write that fails is repeated by a later use. */
  async function untilMoved(browser: Browser, seconds: number) {
    const authorization = `Bearer ${(await cluster.adminTarget()).token}`;
    await eventually(
      async () => {
        expect(await statusOf(browser)).to.equal(200);
        return itemsOf(await new Browser(service.url).request(operations, { headers: { authorization } }));
      },
      (items) => items.every(({ spec }) => Date.parse(spec.idleExpiration ?? '') > cluster.clock.now().getTime() + seconds * 1000),
    );
  }

  it('comes when it was not used for the idle timeout', async () => {
    const { browser } = await session(service);
    // The clock also moves by itself: a slow machine has 100 seconds for each step.
    cluster.clock.advance(500);
    await untilMoved(browser, 450);
    cluster.clock.advance(500);
    expect(await statusOf(browser)).to.equal(200);
    cluster.clock.advance(700);

    expect(await statusOf(browser)).to.equal(401);
  });

  it('REN-11 comes after the absolute lifetime, regardless of use and renewals', async () => {
    for (const { metadata } of await objects(cluster.kubernetes, 'sessions'))
      await cluster.kubernetes.remove(`${sessionsPath}/${metadata.name}`);
    const { browser, handle } = await session(service);
    let current = handle;
    for (let used = 0; used < 1700; used += 340) {
      const renewed = await refresh(browser, current);
      expect(renewed.status, renewed.text).to.equal(200);
      current = handleOf(renewed);
      await untilMoved(browser, Math.min(450, 1800 - used - 60));
      cluster.clock.advance(340);
    }
    expect(await statusOf(browser)).to.equal(200);
    cluster.clock.advance(200);

    const last = await refresh(browser, current);
    expect(last.status).to.equal(401);
    expect(expiresCookie(last)).to.equal(true);
  });
});
