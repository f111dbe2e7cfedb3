/** Replicas with clock errors below the limit of `/readyz`: shared times come from the API server. */
import { expect } from 'chai';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { nameOf } from '../users/a-user.ts';
import type { Browser } from './browser.ts';

const password = 'an old but long password';
const fresh = 'a fresh and long password';
const minutes = 60_000;
const cookieOf = ({ cookies }: Browser) => cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
const record = (email: string) => `/auth/v1/users/${nameOf(email)}`;

/** Bound of the age of a time: it is at most one second before the API server's, and this test runs for a minute at most. */
const nearMs = 60_000;
/** Selects times of the moment, and not planned ones: expiries, and the backdated start of a certificate. */
const isOfNow = (field: string) => /Time$|NotBefore$|^notBefore$|^issued/.test(field) && field !== 'creationTimestamp';

/** Returns the fields of an object that record the moment of their writing. */
function timesOf(value: unknown, path = ''): [string, number][] {
  if (typeof value === 'object' && value !== null) return Object.entries(value).flatMap(([key, below]) => timesOf(below, `${path}.${key}`));
  const field = path.slice(path.lastIndexOf('.') + 1);
  return typeof value === 'string' && isOfNow(field) && !Number.isNaN(Date.parse(value)) ? [[path, Date.parse(value)]] : [];
}

for (const [ahead, behind] of [
  [0, 1],
  [1, 0],
] as const)
  describe(`S14 replicas with clocks 4 minutes ${ahead === 0 ? 'ahead and behind' : 'behind and ahead'}`, () => {
    const names = ['anew', 'sessions', 'disabled', 'reborn', 'locked', 'times'];
    const service = forSuite(() =>
      startEmbeddedLogin({
        emails: names.map((name) => `${name}@example.com`),
        password,
        credentials: 'impersonate',
        users: { lockout: { failures: 3, duration: '10m' } },
        replicas: 2,
        clocksAhead: ahead === 0 ? [4 * minutes, -4 * minutes] : [-4 * minutes, 4 * minutes],
      }),
    );
    const at = (index: number) => service.urls[index] ?? '';

    const ask = async (
      method: string,
      path: string,
      { on, body, headers }: { on: number; body?: unknown; headers: Record<string, string> },
    ) => {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const init = {
        method,
        headers: { ...headers, ...(body !== undefined && { 'content-type': type }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      };
      const response = await service.request(path, init, at(on));
      return { status: response.status, text: await response.text() };
    };
    const asAdmin = async (method: string, path: string, body?: unknown) =>
      ask(method, path, { on: ahead, body, headers: { authorization: `Bearer ${await service.cluster.token('admin')}` } });

    /** Expects the session, the bearer token and the refresh token of a login on the slow replica to be valid on both. */
    async function expectLoginsCount(email: string, given: string) {
      const local = await service.logIn(email, given, '?token_storage=local', at(behind));
      const session = await service.logIn(email, given, '?token_storage=cookie', at(behind));
      expect([local.status, session.status], local.body + session.body).to.deep.equal([200, 200]);
      const { access_token: bearer, refresh_token: refreshToken } = JSON.parse(local.body).ext.token;
      for (const on of [behind, ahead]) {
        for (const headers of [{ cookie: cookieOf(session.browser) }, { authorization: `Bearer ${bearer}` }])
          expect((await ask('GET', '/auth/v1/me', { on, headers })).status, `${Object.keys(headers)} on ${on}`).to.equal(200);
      }
      const query = new URLSearchParams({ refresh_token: refreshToken });
      const { status, text } = await ask('GET', `/api/v2/token/refresh?${query}`, { on: behind, headers: {} });
      expect(status, text).to.equal(200);
    }

    it('S14 accept logins after a password change on the replica that is ahead', async () => {
      const email = 'anew@example.com';
      const { browser } = await service.logIn(email, password, '?token_storage=cookie', at(ahead));
      const body = { spec: { password: fresh, old_password: password } };
      const changed = await ask('PATCH', record(email), { on: ahead, body, headers: { cookie: cookieOf(browser), origin: service.url } });
      expect(changed.status, changed.text).to.equal(200);

      await expectLoginsCount(email, fresh);
    });

    it('S14 accept logins after DELETE /auth/v1/sessions on the replica that is ahead', async () => {
      const email = 'sessions@example.com';
      await service.logIn(email, password, '?token_storage=cookie', at(ahead));
      const ended = await asAdmin('DELETE', `/auth/v1/sessions?user=${nameOf(email)}`);
      expect(ended.status, ended.text).to.equal(204);

      await expectLoginsCount(email, password);
    });

    it('S14 accept logins after disabling and enabling on the replica that is ahead', async () => {
      const email = 'disabled@example.com';
      await service.logIn(email, password, '?token_storage=cookie', at(ahead));
      for (const isDisabled of [true, false]) {
        const changed = await asAdmin('PATCH', record(email), { spec: { is_disabled: isDisabled } });
        expect(changed.status, changed.text).to.equal(200);
      }
      await eventually(
        async () => (await service.logIn(email, password, '', at(behind))).status,
        (status) => status === 200,
      );

      await expectLoginsCount(email, password);
    });

    it('S14 accept logins after deletion and creation on the replica that is ahead', async () => {
      const email = 'reborn@example.com';
      await service.logIn(email, password, '?token_storage=cookie', at(ahead));
      expect((await asAdmin('DELETE', record(email))).status).to.equal(204);
      const made = await eventually(
        () => asAdmin('POST', '/auth/v1/users', { spec: { email, password: fresh } }),
        ({ status }) => status !== 409,
      );
      expect(made.status, made.text).to.equal(201);
      await eventually(
        async () => (await service.logIn(email, fresh, '', at(behind))).status,
        (status) => status === 200,
      );

      await expectLoginsCount(email, fresh);
    });

    it('S14 lock for the configured duration, whichever replica gets the attempts', async () => {
      const email = 'locked@example.com';
      for (let guess = 0; guess < 3; guess += 1) await service.logIn(email, 'wrong', '', at(ahead));

      const { body } = await service.admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(email)}`);
      const { lockedUntil } = (body as { status: { lockedUntil: string } }).status;
      expect(Date.parse(lockedUntil) - Date.now()).to.be.within(10 * minutes - nearMs, 10 * minutes + 2000);
      expect((await service.logIn(email, password, '', at(behind))).status).to.equal(403);
    });

    it('S14 write no time that lies in the future of the API server', async () => {
      const email = 'times@example.com';
      const { browser } = await service.logIn(email, password, '?token_storage=cookie', at(ahead));
      const headers = { cookie: cookieOf(browser), origin: service.url };
      const expiration = Math.floor(Date.now() / 1000) + 600;
      const token = await ask('POST', '/auth/v1/accesstoken', { on: ahead, headers, body: { description: 'of today', expiration } });
      expect(token.status, token.text).to.equal(201);

      const written = [];
      for (const resource of ['users', 'revokedtokens', 'accesstokens', `namespaces/${serviceNamespace}/sessions`]) {
        const { body } = await service.admin.call('GET', `/apis/auth.platform.io/v1/${resource}`);
        written.push(...timesOf(body));
      }
      const { body } = await service.admin.call('GET', `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases`);
      written.push(...timesOf(body));
      expect(written.length).to.be.greaterThan(10);
      for (const [path, time] of written) expect(time - Date.now(), path).to.be.lessThan(2000);
    });
  });
