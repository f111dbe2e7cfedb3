/** Records that one build stores and the other one reads, changes and ends: after an upgrade, and after a rollback. */
import { expect } from 'chai';
import { Agent } from 'undici';
import { z } from 'zod';
import { aPolicy, type Request, user } from '../../service/access-requests/support.ts';
import { aNamespace } from '../../service/bindings/support.ts';
import { Authenticator, optionsIn } from '../../service/factors/authenticator.ts';
import { codeOf, codesIn, secretIn } from '../../service/factors/person.ts';
import { Browser } from '../../service/identity/browser.ts';
import { RelyingParty, tokensOf } from '../../service/identity/relying-party.ts';
import { authorize } from '../../service/login/provider/browser.ts';
import { TestProvider } from '../../service/login/provider/provider.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { ScriptedDirectory, type ScriptedEntry } from '../../support/scripted-directory.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { customObjects, refusalOfRewrite } from './custom-objects.ts';
import { Installation, localUsers, password } from './installation.ts';
import { buildOf, lastRelease, objectsOf } from './last-release.ts';
import { Person, shortIdle } from './person.ts';
import type { Replica } from './replica.ts';

const release = lastRelease();
const base = 'dc=example,dc=com';
const loginInfo = z.object({ auth_url: z.url() });
const userInfo = z.looseObject({ name: z.string(), ext: z.looseObject({ user: z.string() }) });
const linkMade = z.object({ url: z.url() });
const linkList = z.object({ items: z.array(z.object({ id: z.string(), issuer: z.string() })) });
const factorList = z.object({ items: z.array(z.object({ id: z.string(), type: z.string(), left: z.number().optional() })) });
const deviceCodes = z.object({ device_code: z.string(), user_code: z.string(), verification_uri: z.url() });
/** Kinds that the rows leave in the cluster. */
const kindsOfRows = ['AccessPolicy', 'AccessRequest', 'Factor', 'IdentityRecord', 'RevokedToken', 'Session', 'User'];
const syncResult = z.looseObject({ state: z.string(), connectors: z.array(z.looseObject({ status: z.string() })) });

const entryOf = (uid: string): ScriptedEntry => ({
  dn: `uid=${uid},ou=people,${base}`,
  attributes: { objectClass: ['person'], uid: [uid], cn: [uid], mail: [`${uid}@corp.example`], entryUUID: [`id-${uid}`] },
  password: `secret of ${uid}`,
});

describe(`records that replicas of version ${release.version} and of the present build read from each other`, () => {
  const dispatcher = new Agent(shortIdle);
  const directory = forSuite(() => ScriptedDirectory.start({ entries: [] }));
  const wire = forSuite(
    async () => {
      const proxy = new TcpProxy(directory.url);
      await proxy.start();
      return proxy;
    },
    (it) => it.cut(),
  );
  const corp = forSuite(() => TestProvider.start({ clientID: 'console' }));
  const namesItself = () => ({ metadata: { authorization_response_iss_parameter_supported: true }, response: { iss: corp.issuer } });
  const service = forSuite(() => {
    corp.misbehave(namesItself());
    const claims = { usernamePrefix: 'corp:', groupsPrefix: 'corp:' };
    const settings = {
      features: { accessRequests: true },
      login: {
        issuers: [
          { id: 'local', name: 'Local users' },
          { id: 'corp', name: 'Corp', issuer: corp.issuer, clientID: 'console', claims },
        ],
      },
      users: {
        ldap: [{ id: 'corp', name: 'Corp', url: wire.url, baseDN: `ou=people,${base}` }],
        sync: { maxInvalidPercent: 100 },
      },
    };
    return Installation.start(settings, 'localhost');
  });
  let old: Replica;
  let present: Replica;
  const unused = localUsers.values();
  const nextUser = (): string => unused.next().value ?? '';

  before(async () => {
    const older = await buildOf(release);
    const [kept, replaced] = service.replicas;
    if (kept === undefined || replaced === undefined) throw new Error('there are not two replicas');
    await service.stopReplica(replaced);
    [present, old] = [kept, await service.startReplica(older)];
    await service.admin.apply(aNamespace('shop'));
  });
  after(() => dispatcher.close());

  const logIn = (email: string, { url }: Replica) => Person.logIn(email, { publicURL: service.url, url, dispatcher });
  const browserAt = ({ url }: Replica) => new Browser(service.url, [url], { dispatcher });
  const asAdmin = async (method: string, path: string, { url }: Replica, body?: unknown) => {
    const headers = { authorization: `Bearer ${service.token('admin')}`, 'content-type': 'application/json' };
    const answer = await fetch(url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const text = await answer.text();
    return { status: answer.status, text, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
  };

  /** Begins a login at the embedded issuer. @returns the page after the password */
  async function begin(browser: Browser, email: string, { secret = password, parameters = '' } = {}) {
    const { body } = await browser.get(`${service.url}/api/v2/token/login?token_storage=cookie&issuer=local${parameters}`);
    return browser.submit(await browser.get(loginInfo.parse(JSON.parse(body)).auth_url), { email, password: secret });
  }

  /** @returns the user, or the refusal of the last page */
  async function finish(browser: Browser, { url, response, body }: Awaited<ReturnType<typeof begin>>) {
    if (!url.searchParams.has('code')) return { status: response.status, text: body };
    const callback = await browser.get(`${service.url}/api/v2/token/callback${url.search}`);
    return { status: callback.response.status, text: callback.body };
  }

  const nameIn = ({ status, text }: { status: number; text: string }): string => {
    expect(status, text).to.equal(200);
    return userInfo.parse(JSON.parse(text)).name;
  };

  /** Logs in at the issuer `corp`, at one replica. */
  async function logInAtCorp(replica: Replica) {
    const browser = browserAt(replica);
    const { body } = await browser.get(`${service.url}/api/v2/token/login?token_storage=cookie&issuer=corp`);
    const answer = await authorize(loginInfo.parse(JSON.parse(body)).auth_url);
    const { response, body: text } = await browser.get(`${service.url}/api/v2/token/callback?${answer}`);
    return { status: response.status, text };
  }

  async function untilNextSecond(): Promise<void> {
    const second = () => Math.floor(Date.now() / 1000);
    const begun = second();
    await eventually(
      async () => second(),
      (now) => now > begun,
    );
  }

  /** Waits until the list of a replica has the stored version of a user. */
  async function untilSeen(email: string, replica: Replica): Promise<void> {
    const { body } = await service.admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(email)}`);
    const { resourceVersion } = (body as Manifest).metadata;
    await eventually(
      async () => (await asAdmin('GET', `/auth/v2/users?fieldSelector=metadata.name%3D${nameOf(email)}`, replica)).text,
      (text) => text.includes(`"resourceVersion":"${resourceVersion}"`),
    );
  }

  /** Calls of a page in a browser that is logged in. */
  const callsOf =
    (browser: Browser) =>
    async (method: string, path: string, { url }: Replica, body?: unknown) => {
      const cookie = browser.cookies.filter(({ path }) => path === '/').map(({ name, value }) => `${name}=${value}`);
      const headers = { cookie: cookie.join('; '), 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
      const answer = await fetch(url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
      for (const line of answer.headers.getSetCookie()) browser.keep(line);
      return { status: answer.status, text: await answer.text() };
    };

  const rows: Record<string, (one: Replica, other: Replica) => Promise<void>> = {
    async 'a second factor and recovery codes'(one, other) {
      const email = nextUser();
      const setUp = browserAt(one);
      const page = await begin(setUp, email, { parameters: '&prompt=enrol&factor=totp' });
      const secret = secretIn(page);
      const codesPage = await setUp.submit(page, { code: codeOf(secret) });
      const [first = '', second = ''] = codesIn(codesPage);
      expect(nameIn(await finish(setUp, await setUp.submit(codesPage, {})))).to.equal(email);

      const withCode = async (replica: Replica, code: string) => {
        const browser = browserAt(replica);
        // A replica learns of new factors from its watch.
        const asked = await eventually(
          () => begin(browser, email),
          ({ body }) => body.includes('name="code"'),
        );
        return finish(browser, await browser.submit(asked, { code }));
      };
      // The code is computed once: computed again 30 seconds later, it would be a new one.
      const code = codeOf(secret, 1);
      expect(nameIn(await withCode(other, code))).to.equal(email);
      expect(nameIn(await withCode(one, first))).to.equal(email);
      expect((await withCode(other, first)).status).to.equal(403);
      expect((await withCode(one, code)).status).to.equal(403);
      expect(nameIn(await withCode(other, second))).to.equal(email);
      for (const replica of [one, other])
        await eventually(
          async () => factorList.parse((await asAdmin('GET', `/auth/v1/users/${nameOf(email)}/factors`, replica)).body).items,
          (items) => items.some(({ left }) => left === 8) && items.some(({ type }) => type === 'TOTP'),
        );
    },

    async 'notices to a user'(one, other) {
      const email = nextUser();
      const setUp = browserAt(one);
      const page = await begin(setUp, email, { parameters: '&prompt=enrol&factor=totp' });
      const codesPage = await setUp.submit(page, { code: codeOf(secretIn(page)) });
      const codes = codesIn(codesPage);
      expect(nameIn(await finish(setUp, await setUp.submit(codesPage, {})))).to.equal(email);

      const told: number[] = [];
      for (const replica of [other, one, other]) {
        await untilSeen(email, replica);
        // Notices of one type and second are one notice to the user who confirms it.
        await untilNextSecond();
        const browser = new Browser(service.url, [replica.url], { dispatcher, staysAtNotices: true });
        const asked = await eventually(
          () => begin(browser, email),
          ({ body }) => body.includes('name="code"'),
        );
        const next = await browser.submit(asked, { code: codes.pop() ?? '' });
        told.push([...next.body.matchAll(/<li>[^<]*<br>/g)].length);
        const done = next.body.includes('name="noticed"') ? await browser.submit(next, { noticed: 'yes' }) : next;
        expect(nameIn(await finish(browser, done))).to.equal(email);
      }
      // The new app and codes, and then the recovery code of the login before.
      expect(told).to.deep.equal([2, 1, 1]);
    },

    async 'a passkey and its counter'(one, other) {
      const email = nextUser();
      const authenticator = new Authenticator(service.url, { count: 1 });
      const setUp = browserAt(one);
      const page = await begin(setUp, email, { parameters: '&prompt=enrol&factor=passkey' });
      const codesPage = await setUp.submit(page, { assertion: authenticator.create(page), name: 'laptop' });
      expect(codesIn(codesPage), codesPage.body).to.have.length(10);
      expect(nameIn(await finish(setUp, await setUp.submit(codesPage, {})))).to.equal(email);

      for (const replica of [other, one, other]) {
        const browser = browserAt(replica);
        // A replica learns of new factors from its watch.
        const asked = await eventually(
          () => begin(browser, email),
          ({ body }) => body.includes('data-passkey="get"'),
        );
        expect(optionsIn(asked).allowCredentials).to.deep.equal([{ id: authenticator.id.toString('base64url') }]);
        expect(nameIn(await finish(browser, await browser.submit(asked, { assertion: authenticator.get(asked) })))).to.equal(email);
      }
      const withoutPassword = async (replica: Replica, lies = {}) => {
        const browser = browserAt(replica);
        const { body } = await browser.get(`${service.url}/api/v2/token/login?token_storage=cookie&issuer=local`);
        const form = await browser.get(loginInfo.parse(JSON.parse(body)).auth_url);
        return finish(browser, await browser.submit(form, { assertion: authenticator.get(form, lies) }));
      };
      for (const replica of [one, other]) expect(nameIn(await withoutPassword(replica))).to.equal(email);
      // A copy of the authenticator would have a counter of the past.
      expect((await withoutPassword(one, { count: 2 })).status).to.not.equal(200);
    },

    async 'a one-time link'(one, other) {
      const email = nextUser();
      const manager = nextUser();
      await service.admin.apply(clusterRoleBinding(`manages-${nameOf(manager)}`, 'cluster-admin', { kind: 'User', name: manager }));
      const office = await logIn(manager, one);
      const made = await eventually(
        () => office.post(`/auth/v1/users/${nameOf(email)}/links`, { kind: 'password' }),
        ({ status }) => status !== 403,
      );
      expect(made.status, made.text).to.equal(201);
      const { url } = linkMade.parse(JSON.parse(made.text));
      const open = browserAt(other);
      const page = await open.get(url);
      expect(page.response.status, page.body).to.equal(200);
      const fields = { new_password: 'a passphrase by a link', new_password_again: 'a passphrase by a link' };
      const done = await new Browser(service.url, [other.url], { dispatcher, headers: { 'sec-fetch-site': 'same-origin' } }).submit(
        page,
        fields,
      );
      expect(done.response.status, done.body).to.equal(200);

      for (const replica of [one, other]) {
        const browser = browserAt(replica);
        expect(nameIn(await finish(browser, await begin(browser, email, { secret: fields.new_password })))).to.equal(email);
        const again = await browserAt(replica).get(url);
        expect(again.response.status, again.body).to.equal(410);
      }
    },

    async 'refresh tokens of the embedded issuer, and sessions'(one, other) {
      const email = nextUser();
      const person = await logIn(email, one);
      for (const { url } of [other, one, other]) expect((await person.refresh({ url })).status).to.equal(200);

      const party = new RelyingParty({ issuer: `${service.url}/identity` });
      const code = await party.code(browserAt(one), { email, password });
      const first = tokensOf(await party.redeem(code, { origin: other.url }));
      const second = tokensOf(await party.refresh(first.refresh_token, { origin: one.url }));
      const third = tokensOf(await party.refresh(second.refresh_token, { origin: other.url }));
      // A refresh token that comes again ends all that came after it.
      for (const [token, { url }] of [
        [first.refresh_token, one],
        [third.refresh_token, other],
        [third.refresh_token, one],
      ] as const)
        expect((await party.refresh(token, { origin: url })).body).to.deep.include({ error: 'invalid_grant' });
    },

    async 'a login by device code'(one, other) {
      const email = nextUser();
      const kubectl = new RelyingParty({ issuer: `${service.url}/identity`, clientID: 'kubectl' });
      const codes = deviceCodes.parse((await kubectl.post('/device/auth', { scope: 'openid email offline_access', origin: one.url })).body);
      const poll = ({ url }: Replica) =>
        kubectl.post('/token', {
          grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
          device_code: codes.device_code,
          origin: url,
        });
      expect((await poll(other)).body).to.include({ error: 'authorization_pending' });
      // Each page comes from the other build.
      const browser = new Browser(service.url, [other.url, one.url], { dispatcher });
      const question = await browser.submit(await browser.get(codes.verification_uri), { user_code: codes.user_code });
      const done = await browser.submit(await browser.submit(question, { confirm: 'yes' }), { email, password });
      expect(done.response.status, done.body).to.equal(200);

      const { refresh_token: token } = tokensOf(await poll(one));
      const renewed = tokensOf(await kubectl.refresh(token, { origin: other.url }));
      // A code that comes again ends its tokens.
      expect((await poll(other)).body).to.include({ error: 'invalid_grant' });
      expect((await kubectl.refresh(renewed.refresh_token, { origin: one.url })).body).to.include({ error: 'invalid_grant' });
    },

    async 'a recent login at another issuer'(one, other) {
      const name = `recent${one.port}`;
      corp.person = { sub: name, email: `${name}@corp.example`, email_verified: true, name, groups: [] };
      const call = callsOf(browserAt(one));
      const logInSince = async (seconds: number, parameters: string, [first, last]: readonly [Replica, Replica]) => {
        corp.misbehave({ ...namesItself(), idToken: { claims: { auth_time: Math.floor(Date.now() / 1000) - seconds } } });
        const begun = await call('GET', `/api/v2/token/login?token_storage=cookie&issuer=corp${parameters}`, first);
        const answer = await authorize(loginInfo.parse(JSON.parse(begun.text)).auth_url);
        return call('GET', `/api/v2/token/callback?${answer}`, last);
      };
      const write = async (replica: Replica) => {
        const { status, text } = await call('POST', '/auth/v1/links', replica, { issuer: 'corp', return_to: '/links' });
        return `${status} ${text}`;
      };

      nameIn(await logInSince(600, '', [one, other]));
      for (const replica of [one, other])
        await eventually(
          () => write(replica),
          (answer) => answer.startsWith('401') && answer.includes('StepUpRequired'),
        );
      for (const route of [
        [one, other],
        [other, one],
      ] as const) {
        const tooOld = await logInSince(600, '&max_age=300', route);
        expect(`${tooOld.status} ${tooOld.text}`).to.match(/^401 .*StepUpNotMet/);
        nameIn(await logInSince(0, '&max_age=300', route));
        for (const replica of [one, other])
          await eventually(
            () => write(replica),
            // The issuer has an account of this user already, which is found after the time of the login.
            (answer) => answer.startsWith('409'),
          );
        nameIn(await logInSince(600, '', route));
      }
      corp.misbehave(namesItself());
    },

    async 'a user, a local group and its members'(one, other) {
      const [name, group] = [`kim${one.port}`, `team${one.port}`];
      const email = `${name}@example.com`;
      const until = (replica: Replica, path: string, status: number) =>
        eventually(
          () => asAdmin('GET', path, replica),
          (answer) => answer.status === status,
        );
      const write = async (status: number, ...call: Parameters<typeof asAdmin>) => {
        const answer = await asAdmin(...call);
        expect(answer.status, answer.text).to.equal(status);
      };
      const groupPath = `/auth/v1/groups/${group}`;
      const userPath = `/auth/v1/users/${nameOf(email)}`;
      await write(201, 'POST', '/auth/v1/users', one, { spec: { email, password } });
      await write(201, 'POST', '/auth/v1/groups', one, { metadata: { name: group }, spec: { displayName: 'Team' } });
      await Promise.all([until(other, userPath, 200), until(other, groupPath, 200)]);
      await write(200, 'POST', `${groupPath}/members`, other, { names: [nameOf(email)] });
      await write(200, 'PATCH', userPath, other, { spec: { mobile: '+49 30 1234' } });
      for (const replica of [one, other]) {
        await eventually(
          () => asAdmin('GET', groupPath, replica),
          ({ text }) => text.includes(nameOf(email)),
        );
        const browser = browserAt(replica);
        expect(nameIn(await finish(browser, await begin(browser, email)))).to.equal(email);
      }
      await write(204, 'DELETE', userPath, one);
      await until(other, userPath, 404);
      await write(204, 'DELETE', groupPath, other);
      await until(one, groupPath, 404);
    },

    async 'a linked account'(one, other) {
      const email = nextUser();
      const name = nameOf(email);
      corp.person = { sub: `sub of ${name}`, email: `${name}@corp.example`, email_verified: true, name, groups: ['dev'] };
      const browser = browserAt(one);
      await finish(browser, await begin(browser, email));
      const call = callsOf(browser);
      const begun = await call('POST', '/auth/v1/links', one, { issuer: 'corp', return_to: '/links' });
      expect(begun.status, begun.text).to.equal(200);
      const answer = await authorize(loginInfo.parse(JSON.parse(begun.text)).auth_url);
      const linked = await call('GET', `/api/v2/token/callback?${answer}`, other);
      expect(linked.status, linked.text).to.equal(200);

      const shown = async (replica: Replica) => linkList.parse(JSON.parse((await call('GET', '/auth/v1/links', replica)).text)).items;
      for (const replica of [one, other]) {
        const links = await eventually(
          () => shown(replica),
          ({ length }) => length === 2,
        );
        expect(links.map(({ issuer }) => issuer)).to.have.members(['local', 'corp']);
        const there = await logInAtCorp(replica);
        expect(there.status, there.text).to.equal(200);
        expect(userInfo.parse(JSON.parse(there.text)).ext.user).to.equal(name);
      }
      const link = (await shown(other)).find(({ issuer }) => issuer === 'corp');
      const unlinked = await call('DELETE', `/auth/v1/links/${link?.id}`, other);
      expect(unlinked.status, unlinked.text).to.equal(204);
      await eventually(
        () => shown(one),
        ({ length }) => length === 1,
      );
      for (const replica of [one, other]) {
        const there = await logInAtCorp(replica);
        expect(there.status === 200 ? userInfo.parse(JSON.parse(there.text)).ext.user : there.status).to.not.equal(name);
      }
    },

    async 'an access request'(one, other) {
      const [asker, approver] = [nextUser(), nextUser()];
      const policy = `of-${nameOf(asker)}`;
      await service.admin.apply(aPolicy(policy, { subjects: [user(asker)], approvers: [user(approver)] }));
      const [asks, approves] = await Promise.all([logIn(asker, one), logIn(approver, other)]);
      const wanted = {
        policy,
        roleRef: 'view',
        scope: 'namespace',
        namespaces: ['shop'],
        reason: 'the shop is down',
        durationSeconds: 600,
      };
      const path = '/auth/v1/accessrequests';
      const asked = await eventually(
        () => asks.post(path, wanted, one),
        ({ status }) => status !== 404 && status !== 403,
      );
      expect(asked.status, asked.text).to.equal(201);
      const { name } = (JSON.parse(asked.text) as Request).metadata;
      const approved = await eventually(
        () => approves.post(`${path}/${name}/decision`, { approve: true }, other),
        ({ status }) => status !== 404,
      );
      expect(approved.status, approved.text).to.equal(200);
      const statusAt = async ({ url }: Replica) => (JSON.parse((await asks.get(`${path}/${name}`, { url })).text) as Request).status;
      for (const replica of [one, other])
        await eventually(
          () => statusAt(replica),
          (status) => status?.phase === 'Active',
        );
      const binding = `/apis/auth.platform.io/v1/userbindings/${(await statusAt(one))?.binding}`;
      expect((await service.admin.call('GET', binding)).status).to.equal(200);
      const list = `/api/kubernetes/api/v1/namespaces/shop/pods`;
      for (const { url } of [one, other])
        await eventually(
          () => asks.get(list, { url }),
          ({ status }) => status === 200,
        );

      const ended = await asks.post(`${path}/${name}/end`, {}, one);
      expect(ended.status, ended.text).to.equal(200);
      for (const replica of [one, other])
        await eventually(
          () => statusAt(replica),
          (status) => status?.phase === 'Ended' && status.ended !== undefined,
        );
      await eventually(
        async () => (await service.admin.call('GET', binding)).status,
        (status) => status === 404,
      );
      const denied = JSON.parse((await asks.post(path, wanted, other)).text) as Request;
      const no = await approves.post(`${path}/${denied.metadata.name}/decision`, { approve: false }, one);
      expect([no.status, (JSON.parse(no.text) as Request).status?.phase], no.text).to.deep.equal([200, 'Denied']);
    },

    async 'a synchronisation with a directory, its Lease and its users'(one, other) {
      const uids = [`a${one.port}`, `b${one.port}`];
      directory.script.entries = uids.map(entryOf);
      const path = '/auth/v1/users/sync';
      const run = async (replica: Replica, query = '') => {
        const { status, body, text } = await asAdmin('PUT', path + query, replica, {});
        return { status, text, result: syncResult.safeParse(body).data };
      };
      const stateAt = async (replica: Replica) => syncResult.safeParse((await asAdmin('GET', path, replica)).body).data;

      const email = `${uids[0]}@corp.example`;
      const logInFromDirectory = async (replica: Replica) => {
        const browser = browserAt(replica);
        return finish(browser, await begin(browser, email, { secret: `secret of ${uids[0]}` }));
      };

      wire.holdAnswers();
      const begun = await run(one, '?timeoutSeconds=1');
      expect(begun.status, begun.text).to.equal(202);
      await eventually(
        () => stateAt(other),
        (result) => result?.state === 'Running',
      );
      expect((await run(other)).status).to.equal(409);
      wire.releaseAnswers();
      for (const replica of [one, other]) {
        const result = await eventually(
          () => stateAt(replica),
          (found) => found?.state === 'Completed',
        );
        expect(result?.connectors[0]).to.deep.include({ status: 'Success', created: 2, failed: 0, errors: [] });
      }
      for (const replica of [other, one]) {
        const { status, text, result } = await run(replica);
        expect(status, text).to.equal(200);
        expect(result?.connectors[0], text).to.deep.include({
          status: 'Success',
          created: 0,
          updated: 0,
          unchanged: 2,
          linked: 0,
          failed: 0,
        });
        expect(nameIn(await logInFromDirectory(replica))).to.equal(email);
      }

      directory.script.entries = uids.slice(1).map(entryOf);
      expect((await run(other)).result?.connectors[0]).to.deep.include({ unchanged: 1, invalidated: 1, failed: 0 });
      expect((await logInFromDirectory(one)).status).to.not.equal(200);
      directory.script.entries = uids.map(entryOf);
      expect((await run(one)).result?.connectors[0]).to.deep.include({ unchanged: 1, restored: 1, failed: 0 });
      expect(nameIn(await logInFromDirectory(other))).to.equal(email);
    },
  };

  // Helm brings these back in a rollback, while replicas of both builds run.
  describe('with the definitions, rights and policies of the last release', () => {
    before(async () => service.admin.apply(...(await objectsOf(release))));

    for (const [title, run] of Object.entries(rows))
      it(`are used and changed by this build, and used by both, if the last release wrote them: ${title}`, () => run(old, present));
  });

  describe('with the present definitions, rights and policies', () => {
    before(() => service.admin.install());

    for (const [title, run] of Object.entries(rows))
      it(`are used and changed by the last release, and used by both, if this build wrote them: ${title}`, () => run(present, old));

    it('are whole and valid under the definitions of the last release', async () => {
      const older = await objectsOf(release);
      const before = await customObjects(service.admin, older);
      await service.admin.apply(...older);

      const after = await customObjects(service.admin, older);
      const unchanged = [...after].filter(([version]) => before.has(version));
      expect(new Set(unchanged.map(([, { kind }]) => kind))).to.include.keys(...kindsOfRows);
      for (const [version, object] of unchanged) {
        expect(object).to.deep.equal(before.get(version));
        expect(await refusalOfRewrite(service.admin, object)).to.equal(undefined);
      }
    });
  });
});
