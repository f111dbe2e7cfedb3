/** Every kind of audit event, each recorded once by a user's action. */

import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { z } from 'zod';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { nameOf } from './a-user.ts';

const jane = 'jane@example.com';
const made = 'made@example.com';
const locked = 'locked@example.com';
const password = 'canary-given horse battery';
const changed = 'canary-changed horse battery';
const reset = 'canary-reset horse battery';
const wrong = 'canary-wrong horse battery';
const userAgent = 'audit-test/1';
const group = '/apis/auth.platform.io/v1';

const line = z.strictObject({
  audit: z.string(),
  time: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  requestId: z.string().optional(),
  actor: z.strictObject({ name: z.string(), uid: z.string() }).optional(),
  source: z.string().optional(),
  userAgent: z.string().optional(),
  target: z.string().optional(),
  outcome: z.enum(['success', 'failure']),
  code: z.int().optional(),
  reason: z.string().optional(),
  issuer: z.string().optional(),
});
type Line = z.output<typeof line>;

const eventList = z.object({
  items: z.array(z.object({ reason: z.string(), type: z.string(), involvedObject: z.looseObject({ name: z.string().optional() }) })),
});
const ext = z.object({
  ext: z.object({
    token: z.object({ access_token: z.string().optional(), id_token: z.string().optional(), refresh_token: z.string() }),
  }),
});
const certificate = z.object({ status: z.object({ key: z.string() }) });
const secretList = z.object({ items: z.array(z.object({ data: z.record(z.string(), z.string()).default({}) })) });

describe('the audit trail of user actions', () => {
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [jane, locked],
      password,
      credentials: 'impersonate',
      users: { ldap: [{ id: 'corp', name: 'Corp', url: 'ldaps://127.0.0.1:1', baseDN: 'dc=example,dc=com' }] },
    }),
  );
  /** Secrets that no line, object or Event may contain. */
  const secrets = new Map<string, string>();
  const keep = (what: string, value: string | undefined) => {
    expect(value, what).to.have.length.above(7);
    secrets.set(`${what} ${secrets.size}`, value ?? '');
  };

  before(async () => {
    for (const text of [password, changed, reset, wrong]) keep('a password', text);
    await service.admin.apply(
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'audit-test' },
        rules: [{ apiGroups: ['auth.platform.io'], resources: ['users/authorize'], verbs: ['create'] }],
      },
      clusterRoleBinding('audit-test', 'audit-test', { kind: 'User', name: jane }),
    );
  });

  const lines = (): Line[] => service.lines.filter((text) => text.startsWith('{"audit":')).map((text) => line.parse(JSON.parse(text)));
  /** Returns the lines that were recorded during the work. */
  const told = async (work: () => Promise<unknown>): Promise<Line[]> => {
    const before = lines().length;
    await work();
    return lines().slice(before);
  };
  const send = async (token: string, method: string, path: string, body?: unknown, status = 200) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const response = await service.request(path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'user-agent': userAgent, 'x-request-id': 'request-of-test', 'content-type': type },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.status, text).to.equal(status);
    return text;
  };
  const record = (email: string) => `/auth/v1/users/${nameOf(email)}`;
  const logIn = async (email: string, given: string, storage: 'cookie' | 'local') => {
    const { browser, back, body } = await service.logIn(email, given, `?token_storage=${storage}`);
    for (const name of ['code', 'state']) keep(name, back.searchParams.get(name) ?? undefined);
    // The path of the login page contains the id of the visit too; its secret is the signature, a cookie of its own.
    for (const { value, name } of browser.cookies) if (value !== '' && !/_(log_in|resume)_/.test(name)) keep(`cookie ${name}`, value);
    const { token } = ext.parse(JSON.parse(body)).ext;
    keep('refresh token', token.refresh_token);
    for (const each of [token.access_token, token.id_token]) if (each) keep('token', each);
    return { browser, token };
  };
  const byAdmin = { actor: { name: 'admin' }, source: '127.0.0.1', userAgent, requestId: 'request-of-test', outcome: 'success' };
  const byJane = { ...byAdmin, actor: { name: jane } };
  const expectLine = ([event, ...more]: Line[], wanted: Record<string, unknown>) => {
    expect(more, JSON.stringify(more)).to.deep.equal([]);
    const { actor, ...rest } = wanted;
    expect(event).to.include(rest);
    if (typeof actor === 'object' && actor !== null) expect(event?.actor).to.include(actor);
  };

  it('records each once, with actor, target, origin and outcome, and discloses no secret', async () => {
    const admin = await service.cluster.token('admin');
    keep('token', admin);

    const created = await told(() => send(admin, 'POST', '/auth/v1/users', { spec: { email: made, password } }, 201));
    expectLine(created, { ...byAdmin, audit: 'UserCreated', target: nameOf(made), code: 201 });
    const patched = await told(() => send(admin, 'PATCH', record(made), { spec: { username: 'Made' } }));
    expectLine(patched, { ...byAdmin, audit: 'UserPatched', target: nameOf(made), code: 200 });
    // The spec says so already: the patch unlocks the user.
    const unlocked = await told(() => send(admin, 'PATCH', record(made), { spec: { is_disabled: false } }));
    expectLine(unlocked, { ...byAdmin, audit: 'UserPatched', target: nameOf(made), code: 200 });
    const wasReset = await told(() => send(admin, 'PATCH', record(made), { spec: { password: reset } }));
    expectLine(wasReset, { ...byAdmin, audit: 'PasswordReset', target: nameOf(made), code: 200 });
    const synced = await told(() => send(admin, 'PUT', '/auth/v1/users/sync', {}, 503));
    expectLine(synced, { ...byAdmin, audit: 'UsersSynced', outcome: 'failure' });

    const loggedIn = await told(() => logIn(jane, password, 'cookie'));
    const success = { audit: 'LoginSucceeded', actor: { name: jane }, target: nameOf(jane), issuer: 'local' };
    expectLine(loggedIn, { ...success, source: '127.0.0.1', code: 200 });
    const failed = await told(() => service.logIn(jane, wrong));
    expectLine(failed, { audit: 'LoginFailed', target: nameOf(jane), source: '127.0.0.1', outcome: 'failure', reason: 'WrongPassword' });

    const { browser, token } = await logIn(jane, password, 'local');
    const bearer = token.access_token ?? '';
    const renew = async (refreshToken: string) => {
      const query = new URLSearchParams({ refresh_token: refreshToken });
      return (await browser.get(`${service.url}/api/v2/token/refresh?${query}`)).body;
    };
    let renewed = '';
    const refreshed = await told(async () => {
      const payload = z.object({ refresh_token: z.string(), access_token: z.string() }).parse(JSON.parse(await renew(token.refresh_token)));
      renewed = payload.refresh_token;
      keep('token', payload.access_token);
      keep('token', renewed);
    });
    expectLine(refreshed, { audit: 'TokenRefreshed', outcome: 'success', source: '127.0.0.1', actor: { name: jane } });
    const notRefreshed = await told(() => renew('canary-of-a-refresh-token'));
    keep('refresh token', 'canary-of-a-refresh-token');
    expectLine(notRefreshed, { audit: 'RefreshFailed', outcome: 'failure', code: 401, source: '127.0.0.1' });

    const checkFailed = await told(() => send(bearer, 'PATCH', record(jane), { spec: { password: changed, old_password: wrong } }, 422));
    expectLine(checkFailed, { audit: 'PasswordCheckFailed', target: nameOf(jane), outcome: 'failure', reason: 'WrongPassword', userAgent });
    const denied = await told(() => send(bearer, 'GET', record(made), undefined, 403));
    expectLine(denied, { ...byJane, audit: 'AccessDenied', target: nameOf(made), outcome: 'failure', code: 403, reason: 'Forbidden' });
    expectLine(await told(() => send(bearer, 'GET', '/auth/v2/users', undefined, 403)), {
      ...byJane,
      audit: 'AccessDenied',
      outcome: 'failure',
    });
    let issued = '';
    const authorized = await told(async () => {
      issued = await send(bearer, 'POST', '/auth/v1/authorize', { spec: {} }, 201);
    });
    expectLine(authorized, { ...byJane, audit: 'CertificateIssued', target: nameOf(jane), code: 201 });
    keep('private key', certificate.parse(JSON.parse(issued)).status.key.split('\n')[1]);
    const loggedOut = await told(async () => {
      const { body: answer } = await browser.get(`${service.url}/api/v2/token/logout?${new URLSearchParams({ refresh_token: renewed })}`);
      expect(JSON.parse(answer)).to.include({ token_storage: 'local' });
    });
    expectLine(loggedOut, { audit: 'LoggedOut', outcome: 'success', source: '127.0.0.1' });

    const again = await logIn(jane, password, 'local');
    const change = { spec: { password: changed, old_password: password } };
    const passwordChanged = await told(() => send(again.token.access_token ?? '', 'PATCH', record(jane), change));
    expectLine(passwordChanged, { ...byJane, audit: 'PasswordChanged', target: nameOf(jane), code: 200 });

    const guesses = await told(async () => {
      for (let guess = 0; guess < 5; guess += 1) await service.logIn(locked, wrong);
    });
    expect(guesses.map(({ audit }) => audit)).to.deep.equal([...Array.from({ length: 5 }, () => 'LoginFailed'), 'UserLocked']);
    expect(guesses[5]).to.include({ target: nameOf(locked), source: '127.0.0.1', reason: 'TooManyFailedLogins' });

    const deleted = await told(() => send(admin, 'DELETE', record(made), undefined, 204));
    expectLine(deleted, { ...byAdmin, audit: 'UserDeleted', target: nameOf(made), code: 204 });
    await expectEvents();
    await expectNothingGivenAway();
  });

  const reasonsOf = async (email: string) => {
    const { body } = await service.admin.call('GET', '/api/v1/namespaces/default/events');
    return eventList
      .parse(body)
      .items.filter(({ involvedObject }) => involvedObject.name === nameOf(email))
      .map(({ reason, type }) => `${reason} ${type}`);
  };

  /** Waits for the Events on the User of each audit event. */
  async function expectEvents(): Promise<void> {
    const wanted: Record<string, string[]> = {
      [made]: ['UserCreated Normal', 'UserPatched Normal', 'PasswordReset Normal', 'UserDeleted Normal'],
      [jane]: [
        'LoginSucceeded Normal',
        'LoginFailed Warning',
        'PasswordCheckFailed Warning',
        'CertificateIssued Normal',
        'PasswordChanged Normal',
      ],
      [locked]: ['LoginFailed Warning', 'UserLocked Warning'],
    };
    for (const [email, reasons] of Object.entries(wanted))
      await eventually(
        () => reasonsOf(email),
        (found) => reasons.every((reason) => found.includes(reason)),
      );
  }

  async function expectNothingGivenAway(): Promise<void> {
    const { body: stored } = await service.admin.call('GET', `/api/v1/namespaces/${serviceNamespace}/secrets`);
    const values = secretList
      .parse(stored)
      .items.flatMap(({ data }) => Object.values(data).map((value) => Buffer.from(value, 'base64').toString()));
    const hashes = values.filter((value) => value.startsWith('$argon2id$'));
    // The garbage collector may not have deleted the password of the deleted user yet.
    expect(hashes.length).to.be.within(2, 3);
    const objects = [];
    for (const path of [
      `${group}/users`,
      `${group}/revokedtokens`,
      `${group}/namespaces/${serviceNamespace}/sessions`,
      `${group}/namespaces/${serviceNamespace}/identityrecords`,
      '/api/v1/namespaces/default/events',
      `/api/v1/namespaces/${serviceNamespace}/configmaps`,
      `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases`,
      '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    ]) {
      const { status, body } = await service.admin.call('GET', path);
      expect(status, path).to.equal(200);
      objects.push([path, JSON.stringify(body)] as const);
    }
    const places = new Map([
      ['the log and the audit trail', service.lines.join('')],
      ['the metrics', await (await fetch(`${service.metricsURL}/metrics`)).text()],
      ...objects,
    ]);
    for (const [place, text] of places) {
      expect(text.length, place).to.be.greaterThan(0);
      for (const [what, secret] of secrets) expect(text.includes(secret), `${what} in ${place}`).to.equal(false);
      for (const hash of hashes) expect(text.includes(hash.split('$').at(-1) ?? hash), `a hash in ${place}`).to.equal(false);
    }
    // Secrets of passwords contain hashes only.
    for (const secret of [password, changed, reset, wrong]) expect(values.join('\n')).not.to.contain(secret);
  }
});
