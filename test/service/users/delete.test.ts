import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding, grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf } from './a-user.ts';

interface Result {
  total: number;
  succeeded: number;
  failed: number;
  items: { name: string; status: string; code: number; reason?: string }[];
}

const users = '/apis/auth.platform.io/v1/users';
const good = 'correct horse battery';

describe('deleting users', () => {
  const server = forSuite(() => startServer());

  before(async () => {
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });

  const create = async (email: string) => {
    const response = await server.request('/auth/v1/users', { method: 'POST', as: 'manager', body: { spec: { email, password: good } } });
    expect(response.status).to.equal(201);
    return nameOf(email);
  };
  const remove = (path: string, options: { as?: 'manager' | 'nobody' | 'alice'; body?: unknown } = {}) =>
    server.request(`/auth/v1/users${path}`, { method: 'DELETE', as: 'manager', ...options });
  const exists = async (name: string) => (await server.kubernetes.call('GET', `${users}/${name}`)).status === 200;
  const reasonOf = async (response: Response) => ((await response.json()) as { reason: string }).reason;

  describe('DELETE /auth/v1/users/{name}', () => {
    it('deletes the password, memberships and bindings too, and ends issued tokens', async () => {
      const name = await create('gone@example.com');
      await server.kubernetes.apply(
        {
          apiVersion: 'auth.platform.io/v1',
          kind: 'Group',
          metadata: { name: 'crew' },
          spec: { displayName: 'Crew', users: [{ name }, { name: nameOf('other@example.com') }] },
        },
        ...['alone', 'two'].map((binding) => ({
          apiVersion: 'auth.platform.io/v1',
          kind: 'UserBinding',
          metadata: { name: binding },
          spec: {
            scope: 'platform',
            roleRef: 'view',
            subjects: [{ kind: 'User', name }, ...(binding === 'two' ? [{ kind: 'User', name: 'somebody' }] : [])],
          },
        })),
        clusterRoleBinding('native', 'view', { kind: 'User', name: 'gone@example.com' }),
      );
      // The service follows the bindings by a watch.
      const response = await eventually(
        () => remove(`/${name}?dryRun=All`),
        ({ headers }) => headers.has('warning'),
      );
      expect(response.status).to.equal(204);
      expect(await exists(name)).to.equal(true);

      const deleted = await remove(`/${name}`);
      expect(deleted.status, await deleted.text()).to.equal(204);
      expect(deleted.headers.get('warning')).to.match(/^299 - "1 role bindings still name this user/);
      expect(await exists(name)).to.equal(false);
      // The garbage collector learns of new kinds every 30 s.
      await eventually(
        () => server.kubernetes.call('GET', `/api/v1/namespaces/atrium-system/secrets/user-password-${name}`),
        ({ status }) => status === 404,
      );
      const { body: group } = await server.kubernetes.call('GET', '/apis/auth.platform.io/v1/groups/crew');
      expect((group as { spec: { users: unknown } }).spec.users).to.deep.equal([{ name: nameOf('other@example.com') }]);
      // Its controller lets it go when what it has made of it is undone.
      await eventually(
        () => server.kubernetes.call('GET', '/apis/auth.platform.io/v1/userbindings/alone'),
        ({ status }) => status === 404,
      );
      const { body: two } = await server.kubernetes.call('GET', '/apis/auth.platform.io/v1/userbindings/two');
      expect((two as { spec: { subjects: unknown } }).spec.subjects).to.deep.equal([{ kind: 'User', name: 'somebody' }]);
      const { body: revoked } = await server.kubernetes.call('GET', '/apis/auth.platform.io/v1/revokedtokens');
      const subjects = (revoked as { items: { spec: { kind: string; user: string } }[] }).items.filter(
        ({ spec }) => spec.kind === 'Subject',
      );
      expect(subjects.map(({ spec }) => spec.user)).to.deep.equal([name]);
      expect((await remove(`/${name}`)).status).to.equal(404);
    });

    it('can be done to the same name again', async () => {
      for (let time = 0; time < 2; time += 1) {
        const name = await create('again@example.com');
        expect((await remove(`/${name}`)).status).to.equal(204);
      }
    });

    it('USR-08 refuses oneself, and the last administrator', async () => {
      await server.kubernetes.apply(
        aUser('manager@example.com', { subjectName: 'manager' }),
        aUser('root@example.com', { is_admin: true, subjectName: 'root@example.com' }),
      );
      await eventually(
        () => server.request(`/auth/v1/users/${nameOf('root@example.com')}`, { as: 'manager' }),
        ({ status }) => status === 200,
      );
      const own = await remove(`/${nameOf('manager@example.com')}`);
      expect([own.status, await reasonOf(own)]).to.deep.equal([403, 'Forbidden']);
      const admin = await remove(`/${nameOf('root@example.com')}`);
      expect([admin.status, await reasonOf(admin)]).to.deep.equal([403, 'Forbidden']);
      const last = await server.request(`/auth/v1/users/${nameOf('root@example.com')}`, { method: 'DELETE', as: 'admin' });
      expect([last.status, await reasonOf(last)]).to.deep.equal([409, 'Conflict']);
      expect(await exists(nameOf('root@example.com'))).to.equal(true);
    });

    it('checks permissions before preconditions, so that existence does not leak', async () => {
      const name = await create('pre@example.com');
      const other = await remove(`/${name}`, { body: { preconditions: { uid: 'another' } } });
      expect([other.status, await reasonOf(other)]).to.deep.equal([409, 'Conflict']);
      expect((await remove(`/${name}`, { as: 'nobody' })).status).to.equal(403);
      expect((await remove(`/${nameOf('nobody-has-this@example.com')}`, { as: 'nobody' })).status).to.equal(403);
      expect(await exists(name)).to.equal(true);
    });
  });

  describe('DELETE /auth/v1/users', () => {
    it('tells what became of each name, in the order asked', async () => {
      const [first, second] = [await create('b1@example.com'), await create('b2@example.com')];
      const missing = nameOf('b3@example.com');
      const response = await remove('', { body: { names: [second, missing, first] } });
      expect(response.status).to.equal(200);
      const result = (await response.json()) as Result;
      expect(result).to.deep.include({ kind: 'UserDeleteResult', total: 3, succeeded: 2, failed: 1 });
      expect(result.items.map(({ name, code }) => [name, code])).to.deep.equal([
        [second, 204],
        [missing, 404],
        [first, 204],
      ]);
    });

    it('USR-08 keeps users who may not be deleted, and deletes the others', async () => {
      await server.kubernetes.apply(aUser('boss@example.com', { is_admin: true }), aUser('boss2@example.com', { is_admin: true }));
      const [other, boss] = [await create('b4@example.com'), nameOf('boss@example.com')];
      await eventually(
        () => server.request(`/auth/v1/users/${boss}`, { as: 'manager' }),
        ({ status }) => status === 200,
      );
      const result = (await (await remove('', { body: { names: [boss, other] } })).json()) as Result;
      expect(result.items.map(({ name, code, reason }) => [name, code, reason])).to.deep.equal([
        [boss, 403, 'Forbidden'],
        [other, 204, undefined],
      ]);
      expect([await exists(boss), await exists(other)]).to.deep.equal([true, false]);
      for (const name of ['boss', 'boss2']) await server.kubernetes.remove(`${users}/${nameOf(`${name}@example.com`)}`);
    });

    it('USR-08 refuses to delete all, and takes either names or a selector', async () => {
      const name = await create('kept@example.com');
      const refused = [
        ['', undefined],
        ['', {}],
        ['', { names: [] }],
        ['', { labelSelector: '' }],
        ['?labelSelector=', undefined],
        [`?names=${name}`, { names: [name] }],
        [`?names=${name}&labelSelector=a=b`, undefined],
        ['', { names: [name, name] }],
      ] as const;
      for (const [query, body] of refused) expect((await remove(query, { body })).status, `${query} ${JSON.stringify(body)}`).to.equal(400);
      expect(await exists(name)).to.equal(true);
    });

    it('deletes a selection for callers who may delete collections', async () => {
      await Promise.all(['s1@sel.example.com', 's2@sel.example.com'].map(create));
      const path = `?fieldSelector=${encodeURIComponent('spec.email=s1@sel.example.com')}`;
      expect((await remove(path, { as: 'nobody' })).status).to.equal(403);
      const result = (await (await remove(path)).json()) as Result;
      expect(result.items).to.deep.equal([{ name: nameOf('s1@sel.example.com'), status: 'Success', code: 204 }]);
      expect(await exists(nameOf('s2@sel.example.com'))).to.equal(true);
    });

    it('is refused whole where the right is missing for every item', async () => {
      const name = await create('whole@example.com');
      const response = await remove('', { as: 'nobody', body: { names: [name, nameOf('x@example.com')] } });
      expect(response.status).to.equal(403);
    });
  });
});
