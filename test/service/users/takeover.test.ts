/** Managers of users gain no permissions of other users. */

import { expect } from 'chai';
import { afterEach, before, describe, it } from 'mocha';
import { refuse } from '../../cluster/faults/fault-proxy.ts';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { startFaultyServer } from '../../support/faulty-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf, type UserParts } from './a-user.ts';

const users = '/apis/auth.platform.io/v1/users';
const password = 'a fresh and long password';

/** All fields of the service that `kubectl` can write on a record. */
const ours = {
  labels: { 'auth.platform.io/user.email': 'nobody', 'auth.platform.io/user.state': 'inactive', 'auth.platform.io/user.valid': 'false' },
  annotations: { 'auth.platform.io/unfinished': '', 'auth.platform.io/created-by': 'login' },
};

/** Returns a User as `kubectl create` sends it: without a status. */
const created = (email: string, parts: UserParts = {}, metadata: Partial<Manifest['metadata']> = {}): Manifest => {
  const { status: _status, ...user } = aUser(email, parts);
  return { ...user, metadata: { ...user.metadata, ...metadata } };
};

const boundTo = (name: string, subject: { kind: 'User' | 'Group'; name: string }): Manifest => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
});

describe('REC-01 a caller who may edit users', () => {
  const server = forSuite(() => startFaultyServer());

  before(async () => {
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });
  afterEach(() => server.faults.mend());

  const setPassword = async (email: string, name = nameOf(email)) => {
    const response = await server.request(`/auth/v1/users/${name}`, { method: 'PATCH', as: 'manager', body: { spec: { password } } });
    return { status: response.status, text: await response.text() };
  };
  const post = async (email: string) => {
    const response = await server.request('/auth/v1/users', { method: 'POST', as: 'manager', body: { spec: { email, password } } });
    return { status: response.status, text: await response.text() };
  };
  const remove = (email: string) => server.kubernetes.remove(`${users}/${nameOf(email)}`);
  const secretOf = async (email: string) =>
    (await server.kubernetes.call('GET', `/api/v1/namespaces/atrium-system/secrets/user-password-${nameOf(email)}`)).status;
  let probes = 0;
  /** Creates a binding, and waits until the service knows it: its watch delivers bindings in order. */
  const bind = async (binding: Manifest) => {
    probes += 1;
    const probe = `bound-probe-${probes}`;
    await server.kubernetes.apply(binding, boundTo(probe, { kind: 'User', name: probe }));
    const { body } = await server.kubernetes.call('GET', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings');
    expect(JSON.stringify(body)).to.contain(binding.metadata.name);
    await eventually(
      async () => (await post(probe)).status,
      (status) => status === 403,
    );
  };

  it('does not set the password of a record that was just made for a name with rights, whatever stands on it', async () => {
    const email = 'carol@example.com';
    await bind(boundTo('carol', { kind: 'User', name: email }));
    for (const metadata of [{}, { annotations: ours.annotations }, ours])
      for (const waitMs of [0, 500]) {
        await server.kubernetes.apply(created(email, {}, metadata));
        await new Promise((resolve) => setTimeout(resolve, waitMs));

        const { status, text } = await setPassword(email);

        expect(status, text).to.equal(403);
        expect(text).to.contain('cannot impersonate resource \\"users\\"');
        expect(await secretOf(email)).to.equal(404);
        await remove(email);
      }
  });

  it('does not come by the rights of an administrator whose record is deleted and made again', async () => {
    const email = 'root@example.com';
    await bind(boundTo('root', { kind: 'User', name: email }));
    await server.kubernetes.apply(aUser(email, { is_admin: true }));
    await remove(email);
    await server.kubernetes.apply(created(email));

    expect(await setPassword(email)).to.include({ status: 403 });
  });

  it('does not set the password where the local login would tell a name with rights, and the last login told another', async () => {
    const email = 'two-names@example.com';
    await bind(boundTo('two-names', { kind: 'User', name: email }));
    await server.kubernetes.apply(aUser(email, { subjectName: 'oidc:somebody' }));

    expect(await setPassword(email)).to.include({ status: 403 });
  });

  it('does not set the password of a record that a UserBinding names, or a group of it', async () => {
    const email = 'by-userbinding@example.com';
    const userBinding = (name: string, subject: unknown): Manifest => ({
      apiVersion: 'auth.platform.io/v1',
      kind: 'UserBinding',
      metadata: { name },
      spec: { scope: 'platform', roleRef: 'view', subjects: [subject] },
    });
    await server.kubernetes.apply(
      userBinding('by-subject', { kind: 'User', name: email }),
      userBinding('by-group', { kind: 'Group', name: 'bound-team' }),
      created(email),
      aUser('by-group@example.com', { groups: ['bound-team'] }),
    );

    for (const named of [email, 'by-group@example.com'])
      await eventually(
        async () => (await setPassword(named)).status,
        (status) => status === 403,
      );
  });

  it('is asked to retry while the roles are unknown, and is never allowed', async () => {
    const email = 'free@example.com';
    await server.kubernetes.apply(created(email));
    const isBindings = ({ path }: { path: string }) => path.endsWith('/clusterrolebindings');
    server.faults.inject(refuse(403, 'Forbidden'), isBindings);
    server.faults.cut(isBindings);

    await eventually(
      async () => (await fetch(`${server.metricsURL}/readyz?verbose`)).text(),
      (report) => report.includes('[-]roles'),
    );
    expect(await setPassword(email)).to.include({ status: 503 });
    expect(await post('another@example.com')).to.include({ status: 503 });

    server.faults.mend();
    await eventually(
      async () => (await setPassword(email)).status,
      (status) => status === 200,
    );
  });
});

describe('REC-01 a name that Kubernetes will see and the service cannot know', () => {
  const server = forSuite(() =>
    startServer({
      config: { login: { issuer: 'https://issuer.example.com', clientID: 'console', claims: { username: 'preferred_username' } } },
    }),
  );
  before(async () => {
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });

  it('makes no user and sets no password, and says what to do', async () => {
    await server.kubernetes.apply(created('unknown@example.com'));
    const name = nameOf('unknown@example.com');

    const patched = await server.request(`/auth/v1/users/${name}`, { method: 'PATCH', as: 'manager', body: { spec: { password } } });
    const made = await server.request('/auth/v1/users', {
      method: 'POST',
      as: 'manager',
      body: { spec: { email: 'other@example.com', password } },
    });

    for (const response of [patched, made]) {
      const text = await response.text();
      expect(response.status, text).to.equal(409);
      expect(JSON.parse(text)).to.include({ reason: 'Conflict' });
      expect(text).to.contain('log in once');
    }
  });
});

describe('REC-01 local users named by the uid of their record', () => {
  const server = forSuite(() =>
    startServer({
      config: { server: { publicURL: 'https://console.example.com' }, login: { claims: { username: 'sub' } } },
    }),
  );
  before(async () => {
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });

  it('knows the name as soon as the record is there, and guards it', async () => {
    const email = 'by-uid@example.com';
    await server.kubernetes.apply(created(email));
    const { body } = await server.kubernetes.call('GET', `${users}/${nameOf(email)}`);
    const { uid } = (body as { metadata: { uid: string } }).metadata;
    const name = `https://console.example.com/identity#${uid}.${nameOf(email)}`;
    await server.kubernetes.apply(boundTo('by-uid', { kind: 'User', name }));
    const patch = (spec: unknown) => server.request(`/auth/v1/users/${nameOf(email)}`, { method: 'PATCH', as: 'manager', body: { spec } });
    await eventually(
      async () => (await patch({ password })).status,
      (status) => status === 403,
    );

    const made = await server.request('/auth/v1/users', {
      method: 'POST',
      as: 'manager',
      body: { spec: { email: 'new@example.com', password } },
    });
    const { metadata, status } = (await made.json()) as { metadata: { uid: string; name: string }; status: { subjectName: string } };

    expect(made.status).to.equal(201);
    expect(status.subjectName).to.equal(`https://console.example.com/identity#${metadata.uid}.${metadata.name}`);
  });
});
