/** Calls of the extensions with the service account: groups, bindings, access tokens, plugins, sessions and namespaces. */
import { expect } from 'chai';
import { z } from 'zod';
import { aBinding, aNamespace, Bindings } from '../../service/bindings/support.ts';
import { Browser } from '../../service/login/provider/browser.ts';
import type { TestProvider } from '../../service/login/provider/provider.ts';
import { consolePlugin } from '../../service/plugins/support.ts';
import { session } from '../../service/sessions/support.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { type ClusterAdmin, eventually } from '../../support/cluster-admin.ts';
import { type Ask, expectStatus } from './administer.ts';
import { textOf } from './call-recorder.ts';
import type { RecordedService } from './rbac-service.ts';

const accessToken = z.object({ id: z.string(), token: z.string() });
const tokenStatus = z.object({ status: z.object({ lastUsedTime: z.string() }) });
const tokens = '/apis/auth.platform.io/v1/accesstokens';

const untilNeeded = ({ account: { recorder } }: RecordedService, need: string) =>
  eventually(
    () => recorder.needs.map(textOf),
    (needs) => needs.includes(need),
  );

/** Uses the extensions that are always on. */
export async function extend(service: RecordedService, ask: Ask): Promise<void> {
  const { admin } = service.account;
  await expectStatus(200, ask('GET', '/auth/v1/namespaces?verb=get&resource=users&group=auth.platform.io'));
  await expectStatus(200, ask('GET', '/auth/v1/sessions'));
  await keepGroup(admin, ask);
  await admin.apply(consolePlugin('nowhere', {}));
  await untilNeeded(service, 'patch consoleplugins.console.platform.io/status nowhere');
  await untilNeeded(service, 'update leases.coordination.k8s.io atrium-plugin-states in atrium-system');
}

async function keepGroup(admin: ClusterAdmin, ask: Ask): Promise<void> {
  const names = [nameOf('jane@example.com')];
  await expectStatus(201, ask('POST', '/auth/v1/groups', { metadata: { name: 'night' }, spec: { displayName: 'Night' } }));
  await mayActAs(admin, 'jane@example.com', 'local:night');
  await eventually(
    () => ask('POST', '/auth/v1/groups/night/members', { names }),
    ({ status }) => status === 200,
  );
}

async function mayActAs(admin: ClusterAdmin, user: string, group: string): Promise<void> {
  const metadata = { name: 'may-act-as-night' };
  const apiGroup = 'rbac.authorization.k8s.io';
  const rules = [{ apiGroups: [''], resources: ['groups'], resourceNames: [group], verbs: ['impersonate'] }];
  const roleRef = { apiGroup, kind: 'ClusterRole', name: metadata.name };
  await admin.apply(
    { apiVersion: `${apiGroup}/v1`, kind: 'ClusterRole', metadata, rules },
    { apiVersion: `${apiGroup}/v1`, kind: 'ClusterRoleBinding', metadata, roleRef, subjects: [{ apiGroup, kind: 'User', name: user }] },
  );
}

/** Uses `features.userBindings`: binds in a project, which moves, and on the platform, and deletes all bindings. */
export async function bindUsers(service: RecordedService): Promise<void> {
  const { admin } = service.account;
  const bindings = new Bindings(admin);
  const [jane, john] = ['jane@example.com', 'john@example.com'].map((name) => ({ kind: 'User', name }));
  const spec = { scope: 'project', constraint: [{ project: 'shop' }], subjects: [jane] };
  await admin.apply(aNamespace('shop-1', 'shop'), aBinding('sellers', spec));
  await bindings.untilBound('sellers', ['User jane@example.com in shop-1']);
  await admin.apply(aBinding('sellers', { ...spec, subjects: [jane, john] }), aNamespace('shop-2', 'shop'));
  await bindings.untilBound(
    'sellers',
    ['shop-1', 'shop-2'].flatMap((namespace) => [`User jane@example.com in ${namespace}`, `User john@example.com in ${namespace}`]),
  );
  await admin.apply(aBinding('viewers', { scope: 'platform', roleRef: 'atrium-users-view', subjects: [jane] }));
  await bindings.untilBound('viewers', ['User jane@example.com']);
  await admin.apply(aBinding('viewers', { scope: 'platform', roleRef: 'atrium-users-view', subjects: [jane, john] }));
  await bindings.untilBound('viewers', ['User jane@example.com', 'User john@example.com']);
  for (const roleRef of ['edit', 'admin']) {
    await admin.apply(aBinding(`${roleRef}-all`, { scope: 'platform', roleRef, subjects: [jane] }));
    await bindings.untilBound(`${roleRef}-all`, ['User jane@example.com']);
  }
  for (const name of ['sellers', 'viewers', 'edit-all', 'admin-all']) {
    await bindings.remove(name);
    await bindings.untilGone(name);
    expect(await bindings.bound(name)).to.deep.equal([]);
  }
  await untilNeeded(service, 'update leases.coordination.k8s.io atrium-user-bindings in atrium-system');
}

/** Uses `features.accessTokens`. */
export async function useAccessToken({ url, account: { admin } }: RecordedService, ask: Ask): Promise<void> {
  const { status, text, body } = await ask('POST', '/auth/v1/accesstoken', { description: 'ci' });
  expect(status, text).to.equal(201);
  const { id, token } = accessToken.parse(body);
  const headers = { authorization: `Bearer ${token}` };
  await eventually(
    async () => (await new Browser(url).request('/auth/v2/users', { headers })).status,
    (answer) => answer === 200,
  );
  await eventually(
    async () => tokenStatus.safeParse((await admin.call('GET', `${tokens}/${id}`)).body).success,
    (isNoted) => isNoted,
  );
  await expectStatus(200, ask('GET', '/auth/v1/accesstokens'));
  await expectStatus(204, ask('DELETE', `/auth/v1/accesstokens/${id}`));
  expect((await new Browser(url).request('/auth/v2/users', { headers })).status).to.equal(401);
}

/** Ends a session by the issuer, and another one by name. */
export async function endSessions(service: RecordedService, provider: TestProvider): Promise<void> {
  provider.person = { ...provider.person, sid: 'at-the-issuer' };
  const { browser } = await session(service);
  const body = new URLSearchParams({ logout_token: provider.logoutToken() });
  await expectStatus(200, new Browser(service.url).request('/api/v2/token/backchannel-logout', { method: 'POST', body }));
  expect((await browser.info('v2')).status).to.equal(401);
  provider.person = { ...provider.person, sid: 'again' };
  const again = await session(service);
  const headers = { 'sec-fetch-site': 'same-origin' };
  const path = `/auth/v1/sessions/${again.path.split('/').at(-1)}`;
  await expectStatus(204, again.browser.request(path, { method: 'DELETE', headers }));
}
