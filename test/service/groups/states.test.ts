import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { aGroup, ask, groups, mayImpersonate, memberNamesOf, nativeGroups, statusOf, stored, untilActsAs } from './support.ts';

const jane = nameOf('jane@example.com');
const john = nameOf('john@example.com');
const users = '/apis/auth.platform.io/v1/users';
const mergePatch = { 'content-type': 'application/merge-patch+json' };

describe('the status of groups', () => {
  const server = forSuite(() => startServer());
  before(async () => {
    await grant(server.kubernetes, 'alice', 'atrium-users-admin');
    await server.kubernetes.apply(...mayImpersonate('alice', 'dev'));
    await untilActsAs(server, 'alice', 'dev');
  });
  beforeEach(async () => {
    await server.kubernetes.apply(aUser('jane@example.com'), aUser('john@example.com'));
    // The service watches users and groups separately: the status is about members that it has seen.
    for (const name of [jane, john]) {
      const { body } = await server.kubernetes.call('GET', `${users}/${name}`);
      const { resourceVersion } = z.object({ metadata: z.object({ resourceVersion: z.string() }) }).parse(body).metadata;
      await eventually(
        () => server.request(`/auth/v2/users?limit=1&resourceVersion=${resourceVersion}`, { as: 'admin' }),
        ({ status }) => status === 200,
      );
    }
  });
  afterEach(() => server.kubernetes.call('DELETE', nativeGroups));

  const whenCounted = (name: string, memberCount: number | undefined) =>
    eventually(
      () => statusOf(server.kubernetes, name),
      (status) => status?.known !== undefined && status.memberCount === memberCount,
    );

  it('reports the number of members, and which of them are unknown', async () => {
    await server.kubernetes.apply(aGroup('dev', [jane, 'nobody', john]));
    const { known } = (await whenCounted('dev', 3)) ?? {};

    expect(known).to.deep.include({ status: 'False', reason: 'MembersWithoutRecord', message: 'no User record has these names: nobody' });
    const { metadata, status } = await stored(server.kubernetes, 'dev');
    expect(status).to.deep.include({ observedGeneration: metadata?.generation });
    expect(status).to.have.deep.property('members', [
      { name: jane, email: 'jane@example.com' },
      { name: 'nobody', email: '' },
      { name: john, email: 'john@example.com' },
    ]);
    await server.kubernetes.call('PATCH', `${nativeGroups}/dev`, { spec: { users: [{ name: jane }] } }, mergePatch);
    expect((await whenCounted('dev', 1))?.known).to.deep.include({ status: 'True', reason: 'AsExpected' });
  });

  it('does not count the users in a group of an issuer', async () => {
    await server.kubernetes.apply(aGroup('github-dev', [], { refConnector: { id: 'github', type: 'oidc' } }));

    expect((await whenCounted('github-dev', undefined))?.known).to.deep.include({ status: 'Unknown', reason: 'KnownByIssuer' });
  });

  it('is put right again when another client writes it', async () => {
    await server.kubernetes.apply(aGroup('dev', [jane]));
    await whenCounted('dev', 1);
    await server.kubernetes.call('PATCH', `${nativeGroups}/dev/status`, { status: { memberCount: 99, conditions: [] } }, mergePatch);

    await whenCounted('dev', 1);
  });

  describe('members whose user was deleted', () => {
    it('leave with a user who is deleted by the API', async () => {
      await server.kubernetes.apply(aGroup('dev', [jane, john]));
      await whenCounted('dev', 2);

      expect((await ask(server, 'alice', 'DELETE', `/auth/v1/users/${jane}`)).status).to.equal(204);
      expect(await memberNamesOf(server.kubernetes, 'dev')).to.deep.equal([john]);
    });

    it('leave also when many of a group are deleted at once', async () => {
      const many = Array.from({ length: 16 }, (_, index) => `many${index}@example.com`);
      await server.kubernetes.apply(...many.map((email) => aUser(email)), aGroup('dev', [jane, ...many.map(nameOf)]));
      await whenCounted('dev', 17);
      const deleted = await ask(server, 'alice', 'DELETE', '/auth/v1/users', { body: { names: many.map(nameOf) } });

      expect(deleted.body.items.map(({ code }) => code)).to.deep.equal(many.map(() => 204));
      expect(await memberNamesOf(server.kubernetes, 'dev')).to.deep.equal([jane]);
    });

    it('USR-16 leave with a user who is deleted with kubectl, so that the next user of the name is not in the group', async () => {
      await server.kubernetes.apply(aGroup('dev', [jane, john]));
      await whenCounted('dev', 2);
      await server.kubernetes.remove(`${users}/${jane}`);
      await server.kubernetes.apply(aUser('jane@example.com'));

      await whenCounted('dev', 1);
      expect(await memberNamesOf(server.kubernetes, 'dev')).to.deep.equal([john]);
    });

    it('leave also when no replica watched, if they were users when they became members', async () => {
      const importTime = '2026-01-01T00:00:00Z';
      await server.kubernetes.apply(
        aGroup('dev', [], { users: [{ name: 'was-here', importTime }, { name: 'to-come' }, { name: jane, importTime }] }),
      );

      await whenCounted('dev', 2);
      expect(await memberNamesOf(server.kubernetes, 'dev')).to.deep.equal(['to-come', jane]);
      expect((await statusOf(server.kubernetes, 'dev'))?.known?.message).to.equal('no User record has these names: to-come');
    });

    it('may be members again once they are users again', async () => {
      await server.kubernetes.apply(aGroup('dev', [jane, john]));
      await whenCounted('dev', 2);
      await server.kubernetes.remove(`${users}/${jane}`);
      await whenCounted('dev', 1);
      await server.kubernetes.apply(aUser('jane@example.com'));
      await eventually(
        () => ask(server, 'alice', 'POST', `${groups}/dev/members`, { body: { names: [jane] } }),
        ({ body }) => body.items[0]?.code === 201,
      );
      await whenCounted('dev', 2);

      // The member is still listed after another reconciliation.
      await server.kubernetes.call('PATCH', `${nativeGroups}/dev`, { spec: { description: 'x' } }, mergePatch);
      await eventually(
        async () => await stored(server.kubernetes, 'dev'),
        ({ metadata, status }) => typeof status === 'object' && status.observedGeneration === metadata?.generation,
      );
      expect(await memberNamesOf(server.kubernetes, 'dev')).to.deep.equal([john, jane]);
    });
  });
});
