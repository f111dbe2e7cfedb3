import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { syncResult } from '../../../src/directory/schema.ts';
import { FaultProxy, type page } from '../../cluster/faults/fault-proxy.ts';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { type Journey, replaceEachCall } from '../../support/proxy-pages.ts';
import { ScriptedDirectory, type ScriptedEntry } from '../../support/scripted-directory.ts';
import { Desk, password, pathOf } from '../factors/desk.ts';
import { Browser } from '../identity/browser.ts';
import { sessionCookieOf, sessionPath } from '../sessions/support.ts';
import { nameOf } from '../users/a-user.ts';

const [plain, secured] = ['plain@example.com', 'secured@example.com'];
const usersPath = '/apis/auth.platform.io/v1/users';
const people = 'ou=people,dc=example,dc=com';

interface Stored {
  metadata: { uid: string };
  spec: { email: string; valid?: boolean };
}

const aPerson = (uid: string): ScriptedEntry => ({
  dn: `uid=${uid},${people}`,
  attributes: { objectClass: ['person'], uid: [uid], cn: [uid], mail: [`${uid}@example.com`], entryUUID: [`id-${uid}`] },
  password,
});

describe('a page of a proxy in place of each call to the API server', () => {
  let faults: FaultProxy;
  let authorization = '';
  const directory = forSuite(() => ScriptedDirectory.start({ entries: [] }));
  const service: EmbeddedLogin = forSuite(() =>
    startEmbeddedLogin({
      emails: [plain, secured],
      password,
      users: { sync: { maxInvalidPercent: 100 }, ldap: [{ id: 'corp', name: 'Corp', url: directory.url, baseDN: people }] },
      between: async ({ url, certificateAuthority, serving }) => {
        faults = await FaultProxy.start({ target: url, certificateAuthority, serving });
        return faults;
      },
    }),
  );

  before(async () => {
    const desk = await Desk.of(service, secured);
    expect(await desk.enrol()).to.equal(200);
    authorization = `Bearer ${await service.cluster.token('admin')}`;
  });

  /** Logs in up to the answer after the password. @returns the answer of the callback, `code` for the form of the second factor */
  async function logIn(email: string): Promise<number | 'code'> {
    const { url, dispatcher } = service;
    const browser = new Browser(url, [url], { dispatcher });
    const begun = await browser.get(`${url}/api/v2/token/login?token_storage=cookie`);
    if (begun.response.status !== 200) return begun.response.status;
    const form = await browser.get(JSON.parse(begun.body).auth_url);
    if (!form.body.includes('name="password"')) return statusOf(form);
    const next = await browser.submit(form, { email, password });
    if (next.body.includes('autocomplete="one-time-code"')) return 'code';
    if (!next.url.searchParams.has('code')) return statusOf(next);
    return (await browser.get(`${url}/api/v2/token/callback${next.url.search}`)).response.status;
  }

  /** Returns 503 for a redirect that reports an outage of the issuer. */
  const statusOf = ({ url, response }: Awaited<ReturnType<Browser['get']>>): number =>
    ['temporarily_unavailable', 'server_error'].includes(url.searchParams.get('error') ?? '') ? 503 : response.status;

  const admin = async (method: string, path: string, body?: unknown) => {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    return service.request(path, { method, headers: { authorization, 'content-type': 'application/json' }, ...json });
  };
  const journeys = <T>(journey: Journey<T>) => replaceEachCall(faults, journey);

  it('lets nobody in by password alone who has a second factor', async () => {
    const calls = await journeys({ prepare: async () => undefined, run: () => logIn(secured), expected: 'code' });

    expect(calls).to.include.members(['GET factors', 'GET secrets/*']);
  });

  it('makes no login fail for another reason than the outage', async () => {
    const calls = await journeys({ prepare: async () => undefined, run: () => logIn(plain), expected: 200 });

    expect(calls).to.include.members(['GET factors', 'POST sessions', 'POST revokedtokens', 'PATCH users/*/status']);
  });

  it('hides no factor from its owner, and ends no session', async () => {
    const desk = await Desk.of(service, plain);
    const run = async () => {
      const [factors, sessions, own] = [
        await desk.call('GET', pathOf(plain)),
        await desk.call('GET', '/auth/v1/sessions'),
        await desk.call('GET', '/api/v2/token/info'),
      ];
      for (const { headers } of [factors, sessions, own]) expect(headers.getSetCookie().join()).not.to.contain('Max-Age=0');
      return [factors, sessions, own].map(({ status }) => status).find((status) => status !== 200) ?? 200;
    };

    expect(await journeys({ prepare: async () => undefined, run, expected: 200 })).to.include('GET factors');
  });

  it('confirms no logout whose session is still there', async () => {
    const sessionStatus = async (headers: Record<string, string>) => (await service.request('/auth/v1/sessions', { headers })).status;
    const calls = await journeys({
      async prepare() {
        const { browser, body } = await service.logIn(plain, password);
        const secret = browser.cookies.find(({ name }) => name === sessionCookieOf(service.url))?.value ?? '';
        const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
        return {
          headers: { cookie, 'sec-fetch-site': 'same-origin' },
          handle: String(JSON.parse(body).ext.token.refresh_token),
          path: sessionPath(secret),
        };
      },
      async run({ headers, handle }) {
        const form = new URLSearchParams({ refresh_token: handle });
        const response = await service.request('/api/v2/token/logout', { method: 'POST', headers, body: form });
        if (response.status !== 200) expect(response.headers.getSetCookie().join()).not.to.contain('Max-Age=0');
        return response.status;
      },
      expected: 200,
      async check({ headers, path }, result) {
        expect((await service.admin.call('GET', path)).status, 'the Session').to.equal(result === 200 ? 404 : 200);
        expect(await sessionStatus(headers)).to.equal(result === 200 ? 401 : 200);
      },
      // The session has ended if the page answered a later call.
      again: async ({ headers, handle }) => {
        const form = new URLSearchParams({ refresh_token: handle });
        const { status } = await service.request('/api/v2/token/logout', { method: 'POST', headers, body: form });
        return status === 401 ? 200 : status;
      },
    });

    expect(calls).to.include('DELETE sessions/*');
  });

  it('deletes no user by half without saying so', async () => {
    const groupsPath = '/apis/auth.platform.io/v1/groups';
    const calls = await journeys({
      async prepare() {
        const email = `leaving-${randomUUID()}@example.com`;
        const name = nameOf(email);
        expect((await admin('POST', '/auth/v1/users', { spec: { email, password: 'correct horse battery' } })).status).to.equal(201);
        const metadata = { name: `crew-${randomUUID()}` };
        const spec = { displayName: 'Crew', users: [{ name }] };
        await service.admin.apply({ apiVersion: 'auth.platform.io/v1', kind: 'Group', metadata, spec });
        return { name, group: metadata.name };
      },
      run: async ({ name }) => (await admin('DELETE', `/auth/v1/users/${name}`)).status,
      expected: 204,
      async check({ name, group }, result) {
        if (result !== 204) return;
        expect((await service.admin.call('GET', `${usersPath}/${name}`)).status).to.equal(404);
        // A controller writes the status a moment later.
        const { spec } = (await service.admin.call('GET', `${groupsPath}/${group}`)).body as { spec: unknown };
        expect(spec).to.deep.equal({ displayName: 'Crew', users: [] });
      },
      again: async ({ name }) => {
        const { status } = await admin('DELETE', `/auth/v1/users/${name}`);
        return status === 404 ? 204 : status;
      },
    });

    expect(calls).to.include.members(['DELETE users/*', 'PATCH groups/*']);
  });

  it('refuses no new user and no new binding as a conflict or a missing right', async () => {
    const calls = await journeys({
      prepare: async () => randomUUID(),
      async run(id) {
        const spec = { email: `new-${id}@example.com`, password: 'correct horse battery' };
        const user = await admin('POST', '/auth/v1/users', { spec });
        if (user.status >= 500) return user.status;
        const binding = {
          metadata: { name: `b-${id}` },
          spec: { subjects: [{ kind: 'User', name: 'jane' }], roleRef: 'view', scope: 'platform' },
        };
        const bound = await admin('POST', '/auth/v2/userbindings', binding);
        return bound.status >= 500 ? bound.status : [user.status, bound.status];
      },
      expected: [201, 201],
      again: async (id) => {
        const spec = { email: `again-${id}@example.com`, password: 'correct horse battery' };
        return [(await admin('POST', '/auth/v1/users', { spec })).status, 201];
      },
    });

    expect(calls).to.include.members(['POST users', 'POST userbindings']);
  });

  it('takes no user of a directory for new, gone or changed', async () => {
    const kept = aPerson('kept');
    const sync = () => admin('PUT', '/auth/v1/users/sync', { connector_id: 'corp' });
    const recordOf = async (uid: string) => (await service.admin.call('GET', `${usersPath}/${nameOf(`${uid}@example.com`)}`)).body;
    directory.script.entries = [kept];
    expect((await sync()).status).to.equal(200);
    const before = (await recordOf('kept')) as Stored;
    const run = async () => {
      const response = await sync();
      if (response.status !== 200) return response.status;
      const [result] = syncResult.parse(await response.json()).connectors;
      return result?.status === 'Success' && result.errors.length === 0 ? 200 : 503;
    };
    const calls = await journeys({
      async prepare() {
        const uid = `new-${randomUUID()}`;
        directory.script.entries = [kept, aPerson(uid)];
        return uid;
      },
      run,
      expected: 200,
      async check(uid, result) {
        const { metadata, spec } = (await recordOf('kept')) as Stored;
        expect([metadata.uid, spec.valid]).to.deep.equal([before.metadata.uid, before.spec.valid]);
        if (result === 200) expect((await recordOf(uid)) as Stored).to.have.nested.property('spec.email', `${uid}@example.com`);
      },
    });

    expect(calls).to.include('POST users');
  });

  it('reads from the cluster whether factors are installed, and keeps that in mind', async () => {
    const definition = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/factors.auth.platform.io';
    const text = ({ response }: Parameters<ReturnType<typeof page>>[0]) =>
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
    faults.inject(text, ({ path }) => path.endsWith('/factors'));
    expect(await logIn(secured)).to.equal(503);
    faults.mend();
    await service.admin.remove(definition);

    expect(await logIn(plain)).to.equal(503);
  });
});
