import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { asService, eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { aBinding, aGroup, applyKnown, Bindings, bindingsPath, conditionOf, notYet } from './support.ts';

const mergePatch = { 'content-type': 'application/merge-patch+json' };
const users = '/apis/auth.platform.io/v1/users';
const groups = '/apis/auth.platform.io/v1/groups';

describe('subjects of UserBindings', () => {
  const server = forSuite(() => startServer({ config: { login: { claims: { groupsPrefix: 'oidc:' } } } }));
  let bindings: Bindings;

  before(async () => {
    bindings = new Bindings(server.kubernetes);
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });

  const patch = async (path: string, change: unknown) => {
    const { status, body } = await server.kubernetes.call('PATCH', path, change, mergePatch);
    expect(status, JSON.stringify(body)).to.equal(200);
  };
  const user = (email: string) => ({ kind: 'User', name: nameOf(email) });
  const setMembers = (group: string, emails: readonly string[]) =>
    patch(`${groups}/${group}`, { spec: { users: emails.map((email) => ({ name: nameOf(email) })) } });

  describe('users who are bound', () => {
    it('have the name that Kubernetes has for the record, or the name as it is given', async () => {
      await applyKnown(server, aUser('ann@example.com', { subjectName: 'ann-at-k8s' }));
      await server.kubernetes.apply(aBinding('users', { subjects: [user('ann@example.com'), { kind: 'User', name: 'native' }] }));
      const binding = await bindings.until('users', 'Synced');

      expect(await bindings.bound('users')).to.deep.equal(['User ann-at-k8s', 'User native']);
      const { body } = await server.kubernetes.call('GET', `${users}/${nameOf('ann@example.com')}`);
      const { uid } = (body as { metadata: { uid: string } }).metadata;
      expect(binding.status?.subjects).to.deep.equal([
        { ...user('ann@example.com'), uid },
        { kind: 'User', name: 'native', uid: '' },
      ]);
    });

    it('get the role at their first login', async () => {
      await applyKnown(server, notYet('new@example.com'));
      await server.kubernetes.apply(aBinding('first', { subjects: [user('new@example.com'), { kind: 'User', name: 'native' }] }));
      const pending = await bindings.until('first', 'Pending');
      expect(await bindings.bound('first')).to.deep.equal(['User native']);
      expect(conditionOf(pending, 'SubjectsFound')).to.include({ status: 'False', reason: 'NotLoggedInYet' });
      expect(conditionOf(pending, 'SubjectsFound')?.message).to.include(nameOf('new@example.com'));

      await patch(`${users}/${nameOf('new@example.com')}/status`, { status: { subjectName: 'new@corp' } });
      await bindings.until('first', 'Synced');
      expect(await bindings.bound('first')).to.deep.equal(['User native', 'User new@corp']);
      await patch(`${users}/${nameOf('new@example.com')}/status`, { status: { subjectName: 'newer@corp' } });
      await bindings.untilBound('first', ['User native', 'User newer@corp']);
    });

    it('lose the role once they are deleted, also to another user of the name', async () => {
      await applyKnown(server, aUser('gone@example.com'));
      await server.kubernetes.apply(aBinding('deleted', { subjects: [user('gone@example.com'), { kind: 'User', name: 'native' }] }));
      await bindings.untilBound('deleted', ['User gone@example.com', 'User native']);
      const answer = await server.request(`/auth/v1/users/${nameOf('gone@example.com')}`, { method: 'DELETE', as: 'manager' });
      expect(answer.status).to.equal(204);
      await bindings.untilBound('deleted', ['User native']);
      const left = await bindings.until('deleted', 'Synced', ({ spec }) => spec.subjects.length === 1);
      expect(left.spec.subjects).to.deep.equal([{ kind: 'User', name: 'native' }]);
    });

    it('lose the role once they are deleted with kubectl, also to another user of the name until bound again', async () => {
      await applyKnown(server, aUser('swap@example.com'));
      await server.kubernetes.apply(aBinding('swapped', { subjects: [user('swap@example.com')] }));
      await bindings.untilBound('swapped', ['User swap@example.com']);
      await bindings.until('swapped', 'Synced');
      await server.kubernetes.remove(`${users}/${nameOf('swap@example.com')}`);
      await bindings.untilBound('swapped', []);
      const failed = await bindings.until('swapped', 'Failed');
      expect(conditionOf(failed, 'SubjectsFound')).to.include({ status: 'False', reason: 'AnotherOfThatName' });

      await applyKnown(server, aUser('swap@example.com'), aUser('after@example.com'));
      await patch(`${bindingsPath}/swapped`, { spec: { subjects: [user('swap@example.com'), user('after@example.com')] } });
      await bindings.untilBound('swapped', ['User after@example.com']);
      await patch(`${bindingsPath}/swapped`, { spec: { subjects: [user('after@example.com')] } });
      await bindings.until('swapped', 'Synced');
      await patch(`${bindingsPath}/swapped`, { spec: { subjects: [user('swap@example.com')] } });
      await bindings.untilBound('swapped', ['User swap@example.com']);
    });

    it('JIT-08 get the role only by the record that asked for access, also before the binding is first made', async () => {
      await applyKnown(server, aUser('anew@example.com'), aUser('asker@example.com'));
      const { body } = await server.kubernetes.call('GET', `${users}/${nameOf('asker@example.com')}`);
      const { uid } = (body as { metadata: { uid: string } }).metadata;
      const create = async (email: string, request: { name: string; uid: string; recordUID: string }) => {
        const binding = aBinding(`ar-${request.uid}`, { subjects: [user(email)], expiresAt: '2040-01-01T00:00:00Z', request });
        expect((await server.kubernetes.call('POST', bindingsPath, binding, asService)).status).to.equal(201);
      };
      await create('anew@example.com', { name: 'areq-1', uid: 'one', recordUID: 'uid-of-the-deleted-record' });
      await create('asker@example.com', { name: 'areq-2', uid: 'two', recordUID: uid });

      await bindings.untilBound('ar-two', ['User asker@example.com']);
      const failed = await bindings.until('ar-one', 'Failed');
      expect(conditionOf(failed, 'SubjectsFound')).to.include({ status: 'False', reason: 'AnotherOfThatName' });
      expect(await bindings.bound('ar-one')).to.deep.equal([]);
    });

    it('have no record whose name any user could have chosen', async () => {
      await server.kubernetes.apply(aUser('mallory@example.com', { name: 'boss' }));
      await server.kubernetes.apply(aBinding('chosen', { subjects: [{ kind: 'User', name: 'boss' }] }));
      await bindings.until('chosen', 'Synced');
      expect(await bindings.bound('chosen')).to.deep.equal(['User boss']);
    });

    it('require the right to bind before an account is made that a UserBinding waits for', async () => {
      await server.kubernetes.apply(aBinding('awaited', { subjects: [user('heir@example.com')] }));
      await bindings.until('awaited', 'Synced');
      const body = { spec: { email: 'heir@example.com', password: 'correct horse battery' } };
      const refused = await server.request('/auth/v1/users', { method: 'POST', as: 'manager', body });
      expect(refused.status).to.equal(403);
      expect(await refused.text()).to.include('cannot impersonate resource');
      await server.kubernetes.apply(aUser('heir@example.com'));
      await bindings.untilBound('awaited', ['User heir@example.com']);
    });

    it('require the right to bind before the password of a user of a UserBinding is set', async () => {
      await server.kubernetes.apply(aBinding('failing', { roleRef: 'cluster-admin', subjects: [user('victim@example.com')] }));
      await server.kubernetes.apply(aUser('victim@example.com', { subjectName: 'victim@example.com' }));
      await bindings.until('failing', 'Failed');
      const answer = await eventually(
        () =>
          server.request(`/auth/v1/users/${nameOf('victim@example.com')}`, {
            method: 'PATCH',
            as: 'manager',
            headers: { 'Content-Type': 'application/merge-patch+json' },
            body: { spec: { password: 'correct horse battery' } },
          }),
        ({ status }) => status !== 404,
      );
      expect(answer.status).to.equal(403);
    });
  });

  describe('groups that are bound', () => {
    it('give the role to the members that they have, by their local name', async () => {
      await applyKnown(server, aUser('m1@example.com'), aUser('m2@example.com'), notYet('m3@example.com'));
      await applyKnown(server, aGroup('crew', ['m1@example.com', 'm3@example.com'].map(nameOf)));
      await server.kubernetes.apply(aBinding('crew', { subjects: [{ kind: 'Group', name: 'crew' }] }));
      await bindings.until('crew', 'Synced');
      await bindings.untilBound('crew', ['Group local:crew', 'User m1@example.com']);

      await setMembers('crew', ['m1@example.com', 'm2@example.com', 'm3@example.com']);
      await bindings.untilBound('crew', ['Group local:crew', 'User m1@example.com', 'User m2@example.com']);
      await patch(`${users}/${nameOf('m3@example.com')}/status`, { status: { subjectName: 'm3@corp' } });
      await bindings.untilBound('crew', ['Group local:crew', 'User m1@example.com', 'User m2@example.com', 'User m3@corp']);
      await setMembers('crew', ['m2@example.com']);
      await bindings.untilBound('crew', ['Group local:crew', 'User m2@example.com']);
      await server.kubernetes.remove(`${users}/${nameOf('m2@example.com')}`);
      await bindings.untilBound('crew', ['Group local:crew']);
    });

    it('have the name of Kubernetes for groups of the issuer, and their own name otherwise', async () => {
      await applyKnown(server, aGroup('ops', [], { refConnector: { id: 'corp', type: 'oidc' } }));
      await server.kubernetes.apply(
        aBinding('issuer', {
          subjects: [
            { kind: 'Group', name: 'ops' },
            { kind: 'Group', name: 'native' },
          ],
        }),
      );
      await bindings.untilBound('issuer', ['Group oidc:ops', 'Group native']);
      await bindings.until('issuer', 'Synced');
      // A caller who may create Groups must not move a binding to another group.
      await applyKnown(server, aGroup('native', [], { refConnector: { id: 'corp', type: 'oidc' } }));
      await patch(`${bindingsPath}/issuer`, { spec: { subjects: [{ kind: 'Group', name: 'native' }] } });
      await bindings.untilBound('issuer', ['Group native']);
    });

    it('give no role to a group of the issuer with the name of a deleted local group', async () => {
      await applyKnown(server, aGroup('team', []));
      await server.kubernetes.apply(aBinding('team', { subjects: [{ kind: 'Group', name: 'team' }] }));
      await bindings.until('team', 'Synced');
      await server.kubernetes.remove(`${groups}/team`);
      await bindings.untilBound('team', []);
      expect(conditionOf(await bindings.until('team', 'Failed'), 'SubjectsFound')?.message).to.include('Group team');
      await applyKnown(server, aGroup('team', []), aGroup('other-team', []));
      await patch(`${bindingsPath}/team`, {
        spec: {
          subjects: [
            { kind: 'Group', name: 'team' },
            { kind: 'Group', name: 'other-team' },
          ],
        },
      });
      await bindings.untilBound('team', ['Group local:other-team']);
    });
  });
});
