/** Records whose name does not follow the name rule: every caller who may create users can create them. */

import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf } from './a-user.ts';

const group = '/apis/auth.platform.io/v1';
const users = `${group}/users`;

interface User {
  metadata: { name: string };
  spec: Record<string, unknown>;
  status?: Record<string, unknown>;
}

/** Name of alice at the API server. Her record has another name, and a stray record has this one. */
const email = 'alice';
const strays = ['alice', 'another-name'];

describe('REC-03 a record under another name than the rule’s', () => {
  const server = forSuite(() => startServer());

  before(async () => {
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
    const member = { name: nameOf(email) };
    const binding = { scope: 'platform', roleRef: 'view', subjects: [{ kind: 'User', name: email }] };
    await server.kubernetes.apply(
      aUser(email, { groups: ['dev'] }),
      {
        apiVersion: 'auth.platform.io/v1',
        kind: 'Group',
        metadata: { name: 'crew' },
        spec: { displayName: 'Crew', users: [member] },
      },
      { apiVersion: 'auth.platform.io/v1', kind: 'UserBinding', metadata: { name: 'hers' }, spec: binding },
    );
  });

  const read = async (name: string) => (await server.kubernetes.call('GET', `${users}/${name}`)).body as User;
  /** Creates a stray record like `kubectl create`, with a status of an earlier release. */
  const makeStray = async (name: string, status: Record<string, unknown> = { subjectName: email, groups: ['admins'] }) => {
    const { status: _status, ...user } = aUser('Alice', { name });
    await server.kubernetes.apply({ ...user, status } as Manifest);
    return eventually(
      () => read(name),
      (user) => user.status?.phase === 'Invalid' && user.status.subjectName === undefined,
    );
  };
  const hers = async () => {
    const binding = (await server.kubernetes.call('GET', `${group}/userbindings/hers`)).body as { spec: { subjects: unknown } };
    const crew = (await server.kubernetes.call('GET', `${group}/groups/crew`)).body as { spec: { users: unknown } };
    const revoked = (await server.kubernetes.call('GET', `${group}/revokedtokens`)).body as { items: unknown[] };
    const me = await server.request('/auth/v1/me', { as: 'alice' });
    return {
      subjects: binding.spec.subjects,
      members: crew.spec.users,
      revoked: revoked.items,
      me: ((await me.json()) as User).metadata.name,
    };
  };

  it('is Invalid, and has neither a name for Kubernetes nor groups', async () => {
    for (const name of strays) {
      const { status } = await makeStray(name);
      expect(status).to.include({ phase: 'Invalid', reason: 'NotCanonical' });
      expect(status).not.to.have.any.keys('subjectName', 'groups');
      const conditions = status?.conditions as { type: string; status: string; reason: string }[];
      expect(conditions.find(({ type }) => type === 'Canonical')).to.include({ status: 'False', reason: 'NotCanonical' });
    }
  });

  it('is so alone in the cluster, too', async () => {
    const { status: _status, ...user } = aUser('single@example.com', { name: 'single' });
    await server.kubernetes.apply(user);
    const { status } = await eventually(
      () => read('single'),
      (found) => found.status?.phase !== undefined,
    );
    expect(status).to.include({ phase: 'Invalid', reason: 'NotCanonical' }).and.not.to.have.property('subjectName');
    // The stray record does not prevent a record for the person.
    const made = await server.request('/auth/v1/users', {
      method: 'POST',
      as: 'manager',
      body: { spec: { email: 'single@example.com', password: 'correct horse battery' } },
    });
    expect(made.status).to.equal(201);
  });

  it('is never shown or changed as the person, and gets no password', async () => {
    const before = await hers();
    expect(before.me).to.equal(nameOf(email));
    for (const name of strays) {
      await makeStray(name);
      expect(await hers()).to.deep.equal(before);
      expect((await server.request(`/auth/v1/users/${name}`, { as: 'alice' })).status).to.equal(403);
      const patch = (spec: unknown, as: 'alice' | 'manager') =>
        server.request(`/auth/v1/users/${name}`, { method: 'PATCH', as, body: { spec } });
      expect((await patch({ username: 'Mine' }, 'alice')).status).to.equal(403);
      const refused = await patch({ password: 'a fresh and long password' }, 'manager');
      const text = await refused.text();
      expect(refused.status, text).to.equal(409);
      expect(text).to.contain(nameOf(email));
    }
  });

  it('ends and takes away nothing of the person when it is deleted, by the API or with kubectl', async () => {
    for (const name of strays) {
      const before = await hers();
      await makeStray(name);
      expect((await server.request(`/auth/v1/users/${name}`, { method: 'DELETE', as: 'manager' })).status).to.equal(204);
      await makeStray(name);
      await server.kubernetes.remove(`${users}/${name}`);
      await eventually(
        () => server.request(`/auth/v1/users/${name}`, { as: 'admin' }),
        ({ status }) => status === 404,
      );
      expect(await hers()).to.deep.equal(before);
    }
  });

  it('REC-03 names the obstacle to the caller who creates the real user, and frees the name when it is deleted', async () => {
    const honest = 'honest@example.com';
    const name = nameOf(honest);
    const squatter = aUser('squatter@example.com', { name });
    await server.kubernetes.apply(squatter);
    await eventually(
      () => server.request(`/auth/v1/users/${name}`, { as: 'admin' }),
      ({ status }) => status === 200,
    );
    const make = () =>
      server.request('/auth/v1/users', { method: 'POST', as: 'manager', body: { spec: { email: honest, password: 'a long password' } } });

    const refused = await make();

    expect(refused.status).to.equal(409);
    const { message } = (await refused.json()) as { message: string };
    expect(message).to.contain(`a record of another e-mail address has the name ${name}`).and.to.contain('delete');
    expect(message).to.not.contain('squatter');
    await eventually(
      async () => (await read(name)).status?.phase,
      (phase) => phase === 'Invalid',
    );
    expect((await server.request(`/auth/v1/users/${name}`, { method: 'DELETE', as: 'manager' })).status).to.equal(204);
    expect((await make()).status).to.equal(201);
  });
});
