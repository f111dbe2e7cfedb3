/** Sessions and tokens of a user on two replicas: a change of password, state or record ends them, or leaves them valid. */

import { expect } from 'chai';
import { describe, it } from 'mocha';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import type { Browser } from '../identity/browser.ts';
import { nameOf } from './a-user.ts';

const old = 'an old but long password';
const fresh = 'a fresh and long password';
const record = (email: string) => `/auth/v1/users/${nameOf(email)}`;
const userInfo = z.object({
  ext: z.object({
    token: z.object({ access_token: z.string().default(''), refresh_token: z.string() }),
  }),
});

/** Sessions and tokens that a user has opened with one password. */
interface Opened {
  browser: Browser;
  /** Cookies of the session. */
  cookie: string;
  /** Cookies of a second session, in another browser. */
  otherCookie: string;
  bearer: string;
  refreshToken: string;
  /** Query of a callback that was not sent yet, with its browser. */
  pending: { browser: Browser; search: string };
}

const cookieOf = ({ cookies }: Browser) => cookies.map(({ name, value }) => `${name}=${value}`).join('; ');

describe('USR-07 the access of a user by sessions and watches', () => {
  const service = forSuite(() => startEmbeddedLogin({ emails, password: old, credentials: 'impersonate', replicas: 2 }));
  const emails = ['own', 'reset', 'disabled', 'deleted', 'reborn', 'shut', 'kubectl', 'terminating'].map((name) => `${name}@example.com`);

  const open = async (email: string, password = old): Promise<Opened> => {
    const [own, other, local, pending] = await Promise.all([
      service.logIn(email, password),
      service.logIn(email, password),
      service.logIn(email, password, '?token_storage=local'),
      service.authorize(email, password),
    ]);
    const { access_token, refresh_token } = userInfo.parse(JSON.parse(local.body)).ext.token;
    return {
      browser: own.browser,
      cookie: cookieOf(own.browser),
      otherCookie: cookieOf(other.browser),
      bearer: access_token,
      refreshToken: refresh_token,
      pending: { browser: pending.browser, search: pending.back.search },
    };
  };
  const me = async (headers: Record<string, string>) =>
    Promise.all(service.urls.map(async (at) => (await service.request('/auth/v1/me', { headers }, at)).status));
  const withCookie = (cookie: string) => me({ cookie });
  const withBearer = (bearer: string) => me({ authorization: `Bearer ${bearer}` });
  const bothAre = (status: number) => (statuses: number[]) => statuses.every((each) => each === status);
  /** Expects the end on both replicas. */
  const expectEnded = async ({ otherCookie, bearer, refreshToken, pending }: Omit<Opened, 'cookie'>) => {
    for (const ask of [() => withCookie(otherCookie), () => withBearer(bearer)]) await eventually(ask, bothAre(401));
    const query = new URLSearchParams({ refresh_token: refreshToken });
    for (const at of service.urls) expect((await service.request(`/api/v2/token/refresh?${query}`, {}, at)).status).to.equal(401);
    const callback = await pending.browser.get(`${service.url}/api/v2/token/callback${pending.search}`);
    expect(callback.response.status, callback.body).to.equal(401);
    const { auth_url } = JSON.parse((await pending.browser.get(`${service.url}/api/v2/token/login`)).body);
    expect((await pending.browser.get(auth_url)).body).to.contain('name="password"');
  };
  const asAdmin = async (method: string, email: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${await service.cluster.token('admin')}`, 'content-type': 'application/json' };
    const response = await service.request(record(email), { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    return { status: response.status, text: await response.text() };
  };

  it('ends when the user changes the password, except the session that changed it, which continues under a new cookie', async () => {
    const email = 'own@example.com';
    const opened = await open(email);
    expect(await withCookie(opened.cookie)).to.deep.equal([200, 200]);
    expect(await withBearer(opened.bearer)).to.deep.equal([200, 200]);
    const change = (spec: Record<string, string>) =>
      service.request(record(email), {
        method: 'PATCH',
        headers: {
          cookie: opened.cookie,
          origin: service.url,
          'content-type': 'application/merge-patch+json',
        },
        body: JSON.stringify({ spec }),
      });
    expect((await change({ password: fresh })).status).to.equal(422);
    expect((await change({ password: fresh, old_password: 'wrong' })).status).to.equal(422);

    const response = await change({ password: fresh, old_password: old });

    expect(response.status, await response.text()).to.equal(200);
    const [line = ''] = response.headers.getSetCookie();
    const [kept = ''] = line.split(';');
    expect(kept).to.match(/atrium_session_[0-9a-f]{8}=.{20}/);
    expect(opened.cookie).not.to.contain(kept);
    await eventually(() => withCookie(kept), bothAre(200));
    await eventually(() => withCookie(opened.cookie), bothAre(401));
    await expectEnded(opened);
    expect(await withCookie(kept)).to.deep.equal([200, 200]);
    expect((await service.logIn(email, old)).status).to.equal(403);
    expect((await service.logIn(email, fresh)).status).to.equal(200);
  });

  const endings: [string, string, unknown, number][] = [
    ['reset', 'PATCH', { spec: { password: fresh } }, 200],
    ['disabled', 'PATCH', { spec: { is_disabled: true } }, 200],
    ['deleted', 'DELETE', undefined, 204],
  ];
  for (const [what, method, body, status] of endings)
    it(`ends when the ${what === 'reset' ? 'password is reset' : `user is ${what}`}`, async () => {
      const email = `${what}@example.com`;
      const opened = await open(email);

      const answer = await asAdmin(method, email, body);

      expect(answer.status, answer.text).to.equal(status);
      await eventually(() => withCookie(opened.cookie), bothAre(401));
      await expectEnded(opened);
      if (what === 'disabled') {
        expect((await asAdmin('PATCH', email, { spec: { is_disabled: false } })).status).to.equal(200);
        await eventually(
          () => service.logIn(email, old).then(({ status: again }) => again),
          (again) => again === 200,
        );
        expect(await withCookie(opened.cookie)).to.deep.equal([401, 401]);
        expect(await withBearer(opened.bearer)).to.deep.equal([401, 401]);
      }
    });

  it('USR-12 remains when another user locks the account, which is recorded and can be undone', async () => {
    const email = 'shut@example.com';
    const opened = await open(email);
    for (let guess = 0; guess < 5; guess += 1) expect((await service.logIn(email, 'wrong')).status).to.equal(403);
    expect((await service.logIn(email, old)).status).to.equal(403);

    expect(await withCookie(opened.cookie)).to.deep.equal([200, 200]);
    expect(await withBearer(opened.bearer)).to.deep.equal([200, 200]);
    const alarms = service.lines.filter((line) => line.includes('"UserLocked"') && line.includes(nameOf(email)));
    expect(alarms).to.have.length(1);

    expect((await asAdmin('PATCH', email, { spec: { is_disabled: false } })).status).to.equal(200);
    expect((await service.logIn(email, old)).status).to.equal(200);
  });

  it('USR-16 is not inherited by the next user of a deleted name, and the API reports bindings that are left', async () => {
    const email = 'reborn@example.com';
    await service.admin.apply(clusterRoleBinding('reborn-view', 'view', { kind: 'User', name: email }));
    const opened = await open(email);
    const authorization = `Bearer ${await service.cluster.token('admin')}`;
    const remove = (query = '') => service.request(`${record(email)}${query}`, { method: 'DELETE', headers: { authorization } });
    await eventually(
      () => remove('?dryRun=All'),
      ({ headers }) => headers.has('warning'),
    );
    const removed = await remove();
    expect(removed.status).to.equal(204);
    expect(removed.headers.get('warning')).to.match(/^299 - "1 role bindings still name this user/);

    const headers = { authorization, 'content-type': 'application/json' };
    const body = JSON.stringify({ spec: { email, password: fresh } });
    const made = await service.request('/auth/v1/users', { method: 'POST', headers, body });

    expect(made.status, await made.text()).to.equal(201);
    await eventually(() => withCookie(opened.cookie), bothAre(401));
    await expectEnded(opened);
    expect((await service.logIn(email, old)).status).to.equal(403);
    const successor = await open(email, fresh);
    expect(await withBearer(successor.bearer)).to.deep.equal([200, 200]);
    expect(await withCookie(successor.cookie)).to.deep.equal([200, 200]);
  });

  const native = (email: string) => `/apis/auth.platform.io/v1/users/${nameOf(email)}`;
  const uidOf = async (email: string) => {
    const { status, body } = await service.admin.call('GET', native(email));
    return status === 404 ? undefined : z.object({ metadata: z.object({ uid: z.string() }) }).parse(body).metadata.uid;
  };
  const revocations = async (email: string) => {
    const { body } = await service.admin.call('GET', '/apis/auth.platform.io/v1/revokedtokens');
    const { items } = z
      .object({ items: z.array(z.object({ spec: z.looseObject({ kind: z.string(), user: z.string().optional() }) })) })
      .parse(body);
    return items.filter(({ spec }) => spec.kind === 'Subject' && spec.user === nameOf(email));
  };
  const makeAgain = async (email: string, password: string) => {
    const headers = { authorization: `Bearer ${await service.cluster.token('admin')}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ spec: { email, password } });
    // The service learns a moment later that the name is free.
    const made = await eventually(
      () => service.request('/auth/v1/users', { method: 'POST', headers, body }),
      ({ status }) => status !== 409,
    );
    expect(made.status, await made.text()).to.equal(201);
  };

  it('REC-06 ends when the record is deleted with kubectl, and stays so when it is made again', async () => {
    const email = 'kubectl@example.com';
    const opened = await open(email);

    await service.admin.remove(native(email));

    await eventually(() => withBearer(opened.bearer), bothAre(401));
    await eventually(() => withCookie(opened.cookie), bothAre(401));
    await eventually(
      () => revocations(email),
      (found) => found.length === 1,
    );
    await makeAgain(email, fresh);
    await eventually(
      async () => (await service.logIn(email, fresh)).status,
      (status) => status === 200,
    );
    await expectEnded(opened);
    expect(await withCookie(opened.cookie)).to.deep.equal([401, 401]);
  });

  it('REC-06 ends with the beginning of a deletion that a finalizer holds up, and no login succeeds meanwhile', async () => {
    const email = 'terminating@example.com';
    const opened = await open(email);
    const type = { 'content-type': 'application/merge-patch+json' };
    await service.admin.call('PATCH', native(email), { metadata: { finalizers: ['example.com/archive'] } }, type);

    await service.admin.remove(native(email));

    await eventually(() => withCookie(opened.cookie), bothAre(401));
    await expectEnded(opened);
    expect((await service.logIn(email, old)).status).to.equal(403);
    const { body } = await eventually(
      () => service.admin.call('GET', native(email)),
      ({ body: found }) => JSON.stringify(found).includes('"Terminating"'),
    );
    expect(body).to.have.nested.property('status.phase', 'Disabled');
    expect(body).to.have.nested.property('status.reason', 'Terminating');

    await service.admin.call('PATCH', native(email), { metadata: { finalizers: null } }, type);
    await eventually(
      () => uidOf(email),
      (uid) => uid === undefined,
    );
    await makeAgain(email, fresh);
    expect(await withBearer(opened.bearer)).to.deep.equal([401, 401]);
    expect(await withCookie(opened.cookie)).to.deep.equal([401, 401]);
  });
});
