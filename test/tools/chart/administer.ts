/** Operations of users that involve the service account. */
import { expect } from 'chai';
import { Browser, type Reply } from '../../service/login/provider/browser.ts';
import { sessionCookieOf } from '../../service/sessions/support.ts';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { type ClusterAdmin, eventually } from '../../support/cluster-admin.ts';
import { textOf } from './call-recorder.ts';
import { namespace } from './chart.ts';
import type { RecordedService } from './rbac-service.ts';

/** A session in a browser. */
interface Session {
  /** Value of the cookie. */
  secret: string;
}

export type Ask = (
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Reply>;

const password = 'correct horse battery';
const users = '/auth/v1/users';

/** Sends requests as the front-end does. */
export function asker({ url }: { url: string }, { secret }: Session): Ask {
  const browser = new Browser(url);
  browser.cookies.set(sessionCookieOf(url), secret);
  const type = (method: string) => (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
  return (method, path, body, headers = {}) =>
    browser.request(path, {
      method,
      headers: { 'sec-fetch-site': 'same-origin', ...headers, ...(body !== undefined && { 'content-type': type(method) }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
}

export async function expectStatus(status: number, reply: Promise<Reply>): Promise<void> {
  const { status: actual, text } = await reply;
  expect(actual, text).to.equal(status);
}

export const bind = (admin: ClusterAdmin, user: string, clusterRole: string) =>
  admin.apply({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: `${user.replace('@', '-')}-${clusterRole}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: clusterRole },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  });

/** Creates, changes and deletes users, with the rights of atrium-users-admin. */
export async function administer({ account: { admin, recorder } }: RecordedService, ask: Ask, as: string): Promise<void> {
  const needs = () => recorder.needs.map(textOf);
  const create = (email: string) => ask('POST', users, { spec: { email, password } });
  await eventually(
    () => create('kim@example.com'),
    ({ status }) => status === 201,
  );
  const kim = nameOf('kim@example.com');
  expect((await ask('PATCH', `${users}/${kim}`, { spec: { password: 'battery horse correct' } })).status).to.equal(200);

  await createInVain(admin, create);
  expect(needs()).to.include(`delete users.auth.platform.io ${nameOf('vain@example.com')}`);

  await refer(admin, kim);
  await expectStatus(200, ask('PATCH', '/auth/v1/groups/crew', { spec: { description: 'Everybody' } }));
  await expectStatus(204, ask('DELETE', `${users}/${kim}`));
  await expectStatus(201, create('kim@example.com'));
  await expectStatus(204, ask('DELETE', `${users}/${kim}`));

  await expectStatus(201, create('lee@example.com'));
  const selector = encodeURIComponent('spec.email=lee@example.com');
  expect((await ask('DELETE', `${users}?fieldSelector=${selector}`)).body).to.include({ total: 1, succeeded: 1 });
  expect(needs()).to.include(`delete users.auth.platform.io ${nameOf('lee@example.com')}`);
  await disableAdministrator(admin, ask, as);
  for (const lease of ['atrium-user-states', 'atrium-group-states'])
    await eventually(needs, (all) => all.includes(`update leases.coordination.k8s.io ${lease} in atrium-system`));
  await eventually(needs, (all) => all.includes('patch groups.auth.platform.io/status crew'));
}

/** Disables one of two administrators, so that one is left, and views the cluster as the other. The caller may impersonate both. */
async function disableAdministrator(admin: ClusterAdmin, ask: Ask, as: string): Promise<void> {
  const role = 'act-as-administrators';
  const emails = ['chief@example.com', 'deputy@example.com'];
  const rules = [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: emails }];
  await admin.apply({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: role }, rules });
  await bind(admin, as, role);
  await admin.apply(...emails.map((email) => aUser(email, { is_admin: true })));
  await eventually(
    () => ask('PATCH', `${users}/${nameOf('chief@example.com')}`, { spec: { is_disabled: true } }),
    ({ status }) => status === 200,
  );
  const viewing = { 'impersonate-user': 'deputy@example.com' };
  await expectStatus(200, ask('GET', '/api/kubernetes/version', undefined, viewing));
}

/** Fails to create a user, because a foreign Secret has the name of the password's Secret. The created record is deleted again. */
async function createInVain(admin: ClusterAdmin, create: (email: string) => Promise<Reply>): Promise<void> {
  const name = `user-password-${nameOf('vain@example.com')}`;
  await admin.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, type: 'Opaque' });
  await expectStatus(503, create('vain@example.com'));
  const { status } = await admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf('vain@example.com')}`);
  expect(status).to.equal(404);
}

/** Creates a group, a binding with two subjects and a binding with one. */
async function refer(admin: ClusterAdmin, name: string): Promise<void> {
  const apiVersion = 'auth.platform.io/v1';
  const [theirs, other] = [name, 'somebody'].map((subject) => ({ kind: 'User', name: subject }));
  const binding = (of: string, subjects: unknown[]) => ({
    apiVersion,
    kind: 'UserBinding',
    metadata: { name: of },
    spec: { scope: 'platform', roleRef: 'view', subjects },
  });
  await admin.apply(
    { apiVersion, kind: 'Group', metadata: { name: 'crew' }, spec: { displayName: 'Crew', users: [{ name }] } },
    binding('two', [theirs, other]),
    binding('one', [theirs]),
  );
}

/** Changes the caller's own password. */
export const changeOwnPassword = (ask: Ask, email: string, old_password: string) =>
  expectStatus(200, ask('PATCH', `${users}/${nameOf(email)}`, { spec: { password: 'another horse battery', old_password } }));

/** Requires that no synchronisation is recorded. */
export const askForSync = (ask: Ask) => expectStatus(404, ask('GET', `${users}/sync`));

/** Synchronises with a directory that cannot be reached. */
export const synchronise = (ask: Ask) => expectStatus(503, ask('PUT', `${users}/sync`, {}));

export async function authorize(ask: Ask): Promise<void> {
  await eventually(
    () => ask('POST', '/auth/v1/authorize', { spec: {} }),
    ({ status }) => status === 201,
  );
}
