import { argon2Sync, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { formatHash } from '../../../src/users/passwords/passwords.ts';
import { passwordSecret } from '../../../src/users/passwords/secret.ts';
import { configMap, mayGetConfigMap } from '../../service/console/objects.ts';
import { codeOf, secretIn } from '../../service/factors/person.ts';
import { Browser } from '../../service/identity/browser.ts';
import { RelyingParty } from '../../service/identity/relying-party.ts';
import { widgetDefinition } from '../../service/listed-resources/support.ts';
import { TestProvider } from '../../service/login/provider/provider.ts';
import { logout, refresh, session, sessionCookieOf } from '../../service/sessions/support.ts';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { administer, asker, askForSync, authorize, bind, changeOwnPassword, expectStatus, synchronise } from './administer.ts';
import { textOf } from './call-recorder.ts';
import { namespace } from './chart.ts';
import { bindUsers, endSessions, extend, useAccessToken } from './extensions.ts';
import { RecordedService } from './rbac-service.ts';
import { itIsGrantedJust } from './rights.ts';

/** Permissions that the service account needs, with their purpose. */
const always = {
  'list users.auth.platform.io': 'to follow users',
  'watch users.auth.platform.io': 'to follow users',
  'get users.auth.platform.io': 'to see whom a log-in is of',
  'patch users.auth.platform.io': 'to keep what a log-in tells of its user',
  'delete users.auth.platform.io': 'to take back a user whose making failed, and to delete a selection',
  'patch users.auth.platform.io/status': 'to keep when somebody logged in, and to end what a password has opened',
  'get groups.auth.platform.io': 'to change what there is now',
  'list groups.auth.platform.io': 'to find those that a deleted user is in',
  'watch groups.auth.platform.io': 'to know who is in which',
  'patch groups.auth.platform.io/status': 'to tell how many members there are',
  'patch groups.auth.platform.io': 'to take a deleted user out',
  'delete groups.auth.platform.io/members': 'to be let through by the admission policy then',
  'list userbindings.auth.platform.io': 'to find those that name a deleted user',
  'patch userbindings.auth.platform.io': 'to take a deleted user out',
  'delete userbindings.auth.platform.io': 'to leave none without a subject behind',
  'list revokedtokens.auth.platform.io': 'to know what counts no longer',
  'watch revokedtokens.auth.platform.io': 'to know what counts no longer',
  'create revokedtokens.auth.platform.io': 'to let an answer of the issuer count once',
  'patch revokedtokens.auth.platform.io': 'to end what a user was issued who is deleted again',
  'delete revokedtokens.auth.platform.io': 'to forget what has expired',
  'list roles.rbac.authorization.k8s.io': 'to drop decisions that a change makes wrong',
  'watch roles.rbac.authorization.k8s.io': 'to drop decisions that a change makes wrong',
  'list rolebindings.rbac.authorization.k8s.io': 'to know who is bound to what',
  'watch rolebindings.rbac.authorization.k8s.io': 'to know who is bound to what',
  'list clusterroles.rbac.authorization.k8s.io': 'to drop decisions that a change makes wrong',
  'watch clusterroles.rbac.authorization.k8s.io': 'to drop decisions that a change makes wrong',
  'list clusterrolebindings.rbac.authorization.k8s.io': 'to know who is bound to what',
  'watch clusterrolebindings.rbac.authorization.k8s.io': 'to know who is bound to what',
  'list namespaces': 'to tell somebody in which they may do something',
  'watch namespaces': 'to tell somebody in which they may do something',
  'list consoleplugins.console.platform.io': 'to leave disabled plugins out',
  'watch consoleplugins.console.platform.io': 'to leave disabled plugins out',
  'patch consoleplugins.console.platform.io/status': 'to tell whether their files can be had',
  'list configmaps in atrium-system': 'to follow images, plugins and the environment',
  'watch configmaps in atrium-system': 'to follow images, plugins and the environment',
  'list sessions.auth.platform.io in atrium-system': 'to follow sessions',
  'watch sessions.auth.platform.io in atrium-system': 'to follow sessions',
  'get sessions.auth.platform.io in atrium-system': 'to find one that another replica has just made',
  'create sessions.auth.platform.io in atrium-system': 'to log somebody in',
  'patch sessions.auth.platform.io in atrium-system': 'to renew tokens',
  'delete sessions.auth.platform.io in atrium-system': 'to log somebody out',
  'get secrets in atrium-system': 'to read the keys, and to check passwords',
  'create secrets in atrium-system': 'to make the keys, and to keep the password of a new user',
  'patch secrets in atrium-system': 'to set a password anew',
  'update secrets atrium-keys in atrium-system': 'to complete the keys',
  'create leases.coordination.k8s.io in atrium-system': 'to be the replica that keeps the states of users',
  'get leases.coordination.k8s.io atrium-user-states in atrium-system': 'to see which replica keeps the states of users',
  'update leases.coordination.k8s.io atrium-user-states in atrium-system': 'to go on keeping the states of users',
  'get leases.coordination.k8s.io atrium-administrators in atrium-system': 'to see whether somebody takes an administrator away',
  'update leases.coordination.k8s.io atrium-administrators in atrium-system': 'to be the one who does, so that one is left',
  'get leases.coordination.k8s.io atrium-group-states in atrium-system': 'to see which replica keeps the states of groups',
  'update leases.coordination.k8s.io atrium-group-states in atrium-system': 'to go on keeping the states of groups',
  'get leases.coordination.k8s.io atrium-plugin-states in atrium-system': 'to see which replica keeps the states of plugins',
  'update leases.coordination.k8s.io atrium-plugin-states in atrium-system': 'to go on keeping the states of plugins',
  'get leases.coordination.k8s.io atrium-user-sync in atrium-system': 'to see whether somebody synchronises',
  'create events in atrium-system': 'to tell of a plugin that cannot be served',
  'create events in default': 'to tell of users',
};

const impersonation = {
  'impersonate users': 'to act as who is logged in',
  'impersonate groups': 'to act with their groups',
  'impersonate userextras.authentication.k8s.io/atrium.platform.io/actor': 'to tell the audit log who views the cluster as another user',
  'impersonate uids.authentication.k8s.io': 'to tell the audit log who they are at the issuer',
};

const embedded = {
  ...always,
  ...impersonation,
  'get identityrecords.auth.platform.io in atrium-system': 'to find what was issued',
  'list identityrecords.auth.platform.io in atrium-system': 'to find what has expired',
  'create identityrecords.auth.platform.io in atrium-system': 'to issue',
  'update identityrecords.auth.platform.io in atrium-system': 'to go on with a session of the issuer',
  'patch identityrecords.auth.platform.io in atrium-system': 'to use the code of a device once',
  'delete identityrecords.auth.platform.io in atrium-system': 'to forget what has expired',
  'deletecollection identityrecords.auth.platform.io in atrium-system': 'to take back all that came of a code that is used twice',
  'list factors.auth.platform.io in atrium-system': 'to know what to ask of a user',
  'create factors.auth.platform.io in atrium-system': 'to set one up for its owner',
  'patch factors.auth.platform.io in atrium-system': 'to rename one for its owner',
  'delete factors.auth.platform.io in atrium-system': 'to take one away for its owner, or all of a user who lost them',
  'patch factors.auth.platform.io/status in atrium-system': 'to take each code once',
};

const external = {
  ...always,
  ...impersonation,
  'create users.auth.platform.io': 'to make the user of a first log-in',
  'update leases.coordination.k8s.io atrium-user-sync in atrium-system': 'to be the replica that synchronises',
  'create certificatesigningrequests.certificates.k8s.io': 'to ask for a client certificate',
  'update certificatesigningrequests.certificates.k8s.io/approval': 'to approve the request',
  'approve signers.certificates.k8s.io kubernetes.io/kube-apiserver-client': 'to approve it for that signer',
  'get certificatesigningrequests.certificates.k8s.io': 'to fetch the certificate',
  'delete certificatesigningrequests.certificates.k8s.io': 'to leave no request behind',
  'list accesstokens.auth.platform.io': 'to know which count',
  'watch accesstokens.auth.platform.io': 'to know which count',
  'create accesstokens.auth.platform.io': 'to make one for its owner, who needs no right to it',
  'delete accesstokens.auth.platform.io': 'to end one for its owner, and to forget what has expired',
  'patch accesstokens.auth.platform.io/status': 'to note the last use',
  'watch userbindings.auth.platform.io': 'to make them RBAC',
  'patch userbindings.auth.platform.io/status': 'to tell what came of them',
  'create rolebindings.rbac.authorization.k8s.io': 'to bind in a namespace',
  'patch rolebindings.rbac.authorization.k8s.io': 'to change who is bound there',
  'delete rolebindings.rbac.authorization.k8s.io': 'to end it',
  'create clusterrolebindings.rbac.authorization.k8s.io': 'to bind everywhere',
  'patch clusterrolebindings.rbac.authorization.k8s.io': 'to change who is bound everywhere',
  'delete clusterrolebindings.rbac.authorization.k8s.io': 'to end it',
  'bind clusterroles.rbac.authorization.k8s.io atrium-users-view': 'to give a role that it does not have',
  'bind clusterroles.rbac.authorization.k8s.io view': 'to give a role that it does not have',
  'bind clusterroles.rbac.authorization.k8s.io edit': 'to give a role that it does not have',
  'bind clusterroles.rbac.authorization.k8s.io admin': 'to give a role that it does not have',
  'list events': 'to list them to those who may',
  'watch events': 'to list them to those who may',
  'list widgets.example.com': 'to list them to those who may',
  'watch widgets.example.com': 'to list them to those who may',
  'list customresourcedefinitions.apiextensions.k8s.io widgets.example.com': 'to know their columns',
  'watch customresourcedefinitions.apiextensions.k8s.io widgets.example.com': 'to go on until there is a definition',
  'get leases.coordination.k8s.io atrium-user-bindings in atrium-system': 'to see which replica makes UserBindings RBAC',
  'update leases.coordination.k8s.io atrium-user-bindings in atrium-system': 'to go on doing so',
};

const jane = { email: 'jane@example.com', password: 'correct horse battery' };
const unreachable = { id: 'staff', name: 'Staff', url: 'ldap://127.0.0.1:1', baseDN: 'dc=example,dc=com' };
const keysPath = `/api/v1/namespaces/${namespace}/secrets/atrium-keys`;
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const userInfo = z.object({ ext: z.object({ token: z.object({ refresh_token: z.string() }) }) });

describe('the rights of the service, with the embedded issuer', () => {
  const service = forSuite(() => RecordedService.start({}));
  before(async () => {
    await addJane(service);
    await service.replica({ isFirst: true });
    const visit = new Browser(service.url, [service.url]);
    const { token: handle } = await logInByPage(service, visit);
    await useConsole(service, (path) => visit.get(`${service.url}${path}`).then(({ response }) => response.status));
    expect((await visit.get(`${service.url}/api/v2/token/refresh?refresh_token=${handle.refresh_token}`)).response.status).to.equal(200);
    await useCodeTwice(service);
    await logInDevice(service);
    await useFactors(service);
    const ask = asker(service, { secret: visit.cookies.find(({ name }) => name === sessionCookieOf(service.url))?.value ?? '' });
    await bind(service.account.admin, jane.email, 'atrium-users-admin');
    await administer(service, ask, jane.email);
    await extend(service, ask);
    await askForSync(ask);
    await changeOwnPassword(ask, jane.email, jane.password);
    await oddRequests(service);
    await service.sweep({ identityRecords: true });
    await completeKeys(service, ['identity.jwks']);
  });

  itIsGrantedJust(embedded, () => service.account);
});

describe('the rights of the service, with an external issuer, a directory and all features', () => {
  const provider = forSuite(() => TestProvider.start());
  const service = forSuite(() =>
    RecordedService.start({
      login: { issuer: provider.issuer },
      kubernetes: { credentials: 'impersonate' },
      users: { ldap: [unreachable], certificates: { enabled: true } },
      features: { accessTokens: true, userBindings: true },
      lists: {
        resources: [
          { version: 'v1', resource: 'events' },
          { group: 'example.com', version: 'v1', resource: 'widgets' },
        ],
      },
    }),
  );
  before(async () => {
    await service.replica({ isFirst: true });
    await service.account.admin.apply(widgetDefinition);
    await eventually(
      () => service.account.recorder.needs,
      (needs) => needs.some(({ verb, resource }) => verb === 'watch' && resource === 'widgets.example.com'),
    );
    const { browser, handle, secret } = await session(service);
    await useConsole(service, (path) => browser.request(path).then(({ status }) => status));
    const ask = asker(service, { secret });
    for (const role of ['atrium-users-admin', 'atrium-certificates']) await bind(service.account.admin, jane.email, role);
    await administer(service, ask, jane.email);
    await extend(service, ask);
    await bindUsers(service);
    await useAccessToken(service, ask);
    await synchronise(ask);
    await authorize(ask);
    expect((await refresh(browser, handle)).status).to.equal(200);
    await service.account.admin.apply(aUser('john@example.com'));
    provider.person = { ...provider.person, sub: 'john-1', email: 'john@example.com' };
    const again = await session(service);
    expect((await logout(again.browser, again.handle)).status).to.equal(200);
    await endSessions(service, provider);
    await oddRequests(service);
    await service.sweep({ identityRecords: false });
    await completeKeys(service, ['seal.jwks']);
  });

  itIsGrantedJust(external, () => service.account);
});

/** Creates Jane with a cheaply hashed password. */
async function addJane({ account: { admin } }: RecordedService): Promise<void> {
  await admin.apply(aUser(jane.email, { groups: ['dev'], labels: { 'auth.platform.io/user.state': 'old' } }));
  const { body } = await admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(jane.email)}`);
  const { metadata: user } = z.object({ metadata: z.object({ name: z.string(), uid: z.string() }) }).parse(body);
  const cost = { memoryKiB: 8192, passes: 1, parallelism: 1 };
  const salt = randomBytes(16);
  const tag = argon2Sync('argon2id', { message: jane.password, nonce: salt, memory: 8192, passes: 1, parallelism: 1, tagLength: 32 });
  await admin.apply(passwordSecret({ user, namespace, hash: formatHash({ ...cost, salt, tag }), changedAt: new Date() }));
}

/** @returns the renewal handle of the session, and the credential of its requests */
async function logInByPage({ url }: RecordedService, visit: Browser) {
  const { auth_url } = z
    .object({ auth_url: z.url() })
    .parse(JSON.parse((await visit.get(`${url}/api/v2/token/login?token_storage=cookie`)).body));
  const { url: back } = await visit.submit(await visit.get(auth_url), jane);
  const { response, body } = await visit.get(`${url}/api/v2/token/callback${back.search}`);
  expect(response.status, body).to.equal(200);
  return userInfo.parse(JSON.parse(body)).ext;
}

/** Uses an image that only Jane may read, and a plugin that cannot be served. */
async function useConsole({ account: { admin, recorder } }: RecordedService, get: (path: string) => Promise<number>): Promise<void> {
  await admin.apply(...mayGetConfigMap(jane.email, 'logos'), configMap('logos', {}, { data: { 'logo.svg': '<svg/>' } }));
  await admin.apply(
    configMap('odd', { 'console.platform.io/plugin': 'odd' }, { annotations: { 'console.platform.io/path': '../..' }, data: { a: 'b' } }),
  );
  expect(
    await eventually(
      () => get('/api/v1/cm/logos/logo.svg'),
      (status) => status !== 404,
    ),
  ).to.equal(200);
  expect(await get('/auth/v2/users')).to.equal(403);
  await get('/api/v1/console-plugins');
  await eventually(
    () => recorder.needs.map(textOf),
    (needs) => needs.includes('create events in atrium-system') && needs.includes('create events in default'),
  );
}

/** Redeems a code twice, which revokes its tokens, and logs in again. */
async function useCodeTwice({ url }: RecordedService): Promise<void> {
  const relying = new RelyingParty({ issuer: `${url}/identity` });
  const visit = new Browser(url, [url]);
  const code = await relying.code(visit, jane);
  expect((await relying.redeem(code)).status).to.equal(200);
  expect((await relying.redeem(code)).status).to.equal(400);
  await relying.code(visit, jane);
}

/** Sets up an authenticator app for Jane, names it and deletes it, which also deletes the recovery codes. */
async function useFactors(service: RecordedService): Promise<void> {
  const { url } = service;
  const visit = new Browser(url, [url]);
  const { auth_url } = z
    .object({ auth_url: z.url() })
    .parse(JSON.parse((await visit.get(`${url}/api/v2/token/login?token_storage=cookie&prompt=enrol&factor=totp`)).body));
  const page = await visit.submit(await visit.get(auth_url), jane);
  const codes = await visit.submit(page, { code: codeOf(secretIn(page)) });
  const { url: back } = await visit.submit(codes, {});
  expect((await visit.get(`${url}/api/v2/token/callback${back.search}`)).response.status).to.equal(200);
  const ask = asker(service, { secret: visit.cookies.find(({ name }) => name === sessionCookieOf(service.url))?.value ?? '' });
  const factors = `/auth/v1/users/${nameOf(jane.email)}/factors`;
  const { items } = z.object({ items: z.array(z.object({ id: z.string() })) }).parse(JSON.parse((await ask('GET', factors)).text));
  expect(items).to.have.length(2);
  const [{ id } = { id: '' }] = items;
  await expectStatus(200, ask('PATCH', `${factors}/${id}`, { name: 'phone' }));
  await expectStatus(204, ask('DELETE', `${factors}/${id}`));
}

/** Sends a cookie without a session. */
async function oddRequests({ url }: RecordedService): Promise<void> {
  const response = await fetch(`${url}/api/v2/token/info`, {
    headers: { cookie: `${sessionCookieOf(url)}=${randomBytes(32).toString('base64url')}` },
  });
  expect(response.status).to.equal(401);
}

/** Deletes entries of the keys, as an earlier version would leave them, and lets the service complete them. */
async function completeKeys(service: RecordedService, missing: readonly string[]): Promise<void> {
  const data = Object.fromEntries(missing.map((entry) => [entry, null]));
  expect((await service.account.admin.call('PATCH', keysPath, { data }, mergePatch)).status).to.equal(200);
  await service.replica({ isFirst: false });
  await eventually(
    () => service.account.recorder.needs.map(textOf),
    (needs) => needs.includes('update secrets atrium-keys in atrium-system'),
  );
}

/** Logs in a device. Its code stays, marked as used, so that the device gets an answer. */
async function logInDevice({ url }: RecordedService): Promise<void> {
  const relying = new RelyingParty({ issuer: `${url}/identity`, clientID: 'kubectl' });
  const begun = await relying.post('/device/auth', { scope: 'openid email groups offline_access' });
  const { user_code, device_code, verification_uri } = z
    .object({ user_code: z.string(), device_code: z.string(), verification_uri: z.url() })
    .parse(begun.body);
  const visit = new Browser(url, [url]);
  const question = await visit.submit(await visit.get(verification_uri), { user_code });
  await visit.submit(await visit.submit(question, { confirm: 'yes' }), jane);
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code };
  expect((await relying.post('/token', grant)).status).to.equal(200);
}
