import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { grant } from '../../support/grants.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { aGroup, ask, causesOf, groups, mayImpersonate, memberNamesOf, nativeGroups, settled, stored, untilActsAs } from './support.ts';

const emails = Array.from({ length: 24 }, (_, index) => `user${index}@example.com`);
const names = emails.map(nameOf);
const [jane = '', john = '', ann = ''] = names;

/** alice and bob may write Groups; alice may also act as `local:dev`. */
describe('members of groups', () => {
  let server: TestServer;
  let other: { url: string };

  before(async () => {
    server = await startServer({ objects: emails.map((email) => aUser(email)) });
    other = await server.replica();
    for (const person of ['alice', 'bob'] as const) await grant(server.kubernetes, person, 'atrium-users-admin');
    await server.kubernetes.apply(...mayImpersonate('alice', 'dev', 'github-dev'));
    await eventually(
      () => ask(server, 'bob', 'GET', groups),
      ({ status }) => status === 200,
    );
    await untilActsAs(server, 'alice', 'dev');
  });
  after(() => server.stop());
  afterEach(() => server.kubernetes.call('DELETE', nativeGroups));

  const add = (
    given: readonly unknown[],
    { as = 'alice', group = 'dev', query = '', at }: { as?: 'alice' | 'bob' | 'carol'; group?: string; query?: string; at?: string } = {},
  ) => ask(server, as, 'POST', `${groups}/${group}/members${query}`, { body: { names: given }, ...(at && { at }) });
  const remove = (
    given: readonly unknown[],
    { as = 'alice', group = 'dev', query = '' }: { as?: 'alice' | 'bob'; group?: string; query?: string } = {},
  ) => ask(server, as, 'DELETE', `${groups}/${group}/members${query}`, { body: { names: given } });
  const auditOf = (audit: string) => server.auditLines.map((line) => JSON.parse(line)).filter((event) => event.audit === audit);

  it('are added and removed, with a result for each', async () => {
    await server.kubernetes.apply(aGroup('dev', [jane]));
    const added = await add([john, 'nobody', jane, ann]);

    expect(added.status).to.equal(200);
    expect(added.body).to.deep.include({
      kind: 'GroupMembersResult',
      apiVersion: 'auth.platform.io/v1',
      total: 4,
      succeeded: 3,
      failed: 1,
    });
    expect(added.body.items).to.deep.equal([
      { name: john, status: 'Success', code: 201 },
      { name: 'nobody', status: 'Failure', code: 404, reason: 'NotFound', message: 'users.auth.platform.io "nobody" not found' },
      { name: jane, status: 'Success', code: 200 },
      { name: ann, status: 'Success', code: 201 },
    ]);
    const users = (await stored(server.kubernetes, 'dev')).spec?.users ?? [];
    expect(users.map(({ name }) => name)).to.deep.equal([jane, john, ann]);
    expect(users[1]?.importTime).to.match(/^\d{4}-\d\d-\d\dT/);
    expect((await ask(server, 'alice', 'GET', `${groups}/dev`)).body.spec?.users).to.have.length(3);
    expect(auditOf('GroupMembersChanged').at(-1)).to.deep.include({ target: 'dev', members: { added: 2, removed: 0, names: [john, ann] } });

    const removed = await remove([jane, 'nobody', ann]);
    expect(removed.body.items.map(({ code }) => code)).to.deep.equal([204, 404, 204]);
    expect(await memberNamesOf(server.kubernetes, 'dev')).to.deep.equal([john]);
    const byQuery = await ask(server, 'alice', 'DELETE', `${groups}/dev/members?names=${john},${jane}`);
    expect(byQuery.body.items.map(({ code }) => code)).to.deep.equal([204, 404]);
    expect(await memberNamesOf(server.kubernetes, 'dev')).to.deep.equal([]);
    expect(auditOf('GroupMembersChanged').at(-1)).to.deep.include({ members: { added: 0, removed: 1, names: [john] } });
  });

  it('cannot be changed by callers who may not act as the group, whatever other rights they have', async () => {
    await server.kubernetes.apply(aGroup('dev', [jane]));
    const { resourceVersion } = (await settled(server.kubernetes, 'dev')).metadata ?? {};

    for (const refused of [await add([john], { as: 'bob' }), await remove([jane], { as: 'bob' })]) {
      expect([refused.status, refused.body.reason]).to.deep.equal([403, 'Forbidden']);
      expect(refused.body.message).to.include('"local:dev" is forbidden: User "bob" cannot impersonate resource "groups"');
    }
    expect((await add([john], { as: 'carol' })).body.message).to.include('cannot patch resource "groups" in API group "auth.platform.io"');
    // The answer for a group that does not exist is the same.
    expect((await add([john], { as: 'bob', group: 'xyz' })).status).to.equal(403);
    expect((await add([john], { group: 'ops' })).status).to.equal(403);
    expect((await stored(server.kubernetes, 'dev')).metadata?.resourceVersion).to.equal(resourceVersion);
    expect(auditOf('AccessDenied').at(-1)).to.deep.include({ code: 403, outcome: 'failure' });
  });

  it('are fixed in a group of an issuer, and 404 for a group that does not exist', async () => {
    await server.kubernetes.apply(aGroup('github-dev', [], { refConnector: { id: 'github', type: 'oidc' } }));

    for (const refused of [await add([jane], { group: 'github-dev' }), await remove([jane], { group: 'github-dev' })])
      expect([refused.status, ...causesOf(refused)]).to.deep.equal([422, 'spec.users FieldValueForbidden']);
    const missing = await add([jane]);
    expect([missing.status, missing.body.message]).to.deep.equal([404, 'groups.auth.platform.io "dev" not found']);
  });

  it('are named once, one at least and 5000 at most', async () => {
    await server.kubernetes.apply(aGroup('dev', [jane]));
    const many = Array.from({ length: 5001 }, (_, index) => `u${index}`);

    expect((await add([])).status).to.equal(400);
    expect((await add(many)).status).to.equal(400);
    expect((await add([john, 7])).status).to.equal(400);
    const twice = await add([john, ann, john]);
    expect([twice.status, ...causesOf(twice)]).to.deep.equal([400, 'names[2] FieldValueDuplicate']);
    expect((await ask(server, 'alice', 'POST', `${groups}/dev/members`)).status).to.equal(400);
    expect((await ask(server, 'alice', 'DELETE', `${groups}/dev/members`)).status).to.equal(400);
    expect((await remove([jane], { query: `?names=${jane}` })).status).to.equal(400);
    expect((await ask(server, 'alice', 'POST', `${groups}/dev/members`, { body: { names: [john], all: true } })).status).to.equal(400);
    expect(await memberNamesOf(server.kubernetes, 'dev')).to.deep.equal([jane]);
  });

  it('stay as they are on a dry run', async () => {
    await server.kubernetes.apply(aGroup('dev', [jane]));
    const before = auditOf('GroupMembersChanged').length;

    expect((await add([john], { query: '?dryRun=All' })).body.items.map(({ code }) => code)).to.deep.equal([201]);
    expect((await remove([jane], { query: '?dryRun=All' })).body.items.map(({ code }) => code)).to.deep.equal([204]);
    expect(await memberNamesOf(server.kubernetes, 'dev')).to.deep.equal([jane]);
    expect(auditOf('GroupMembersChanged')).to.have.length(before);
  });

  it('are all there when many are added at once on two replicas', async () => {
    await server.kubernetes.apply(aGroup('dev'));
    const answers = await Promise.all(names.map((name, index) => add([name], index % 2 === 0 ? {} : { at: other.url })));

    expect(answers.map(({ status }) => status)).to.deep.equal(names.map(() => 200));
    expect(await memberNamesOf(server.kubernetes, 'dev')).to.have.members(names);
    await Promise.all([
      ...names.slice(0, 6).map((name) => remove([name])),
      ...names
        .slice(0, 6)
        .map((_, index) => ask(server, 'bob', 'PATCH', `${groups}/dev`, { body: { spec: { description: `${index}` } }, at: other.url })),
    ]);
    expect(await memberNamesOf(server.kubernetes, 'dev')).to.have.members(names.slice(6));
  });

  it('are 5000 at most', async () => {
    const strangers = Array.from({ length: 4999 }, (_, index) => `${index}`.padStart(32, 'f'));
    await server.kubernetes.apply(aGroup('dev', strangers));

    expect((await add([jane])).body.items.map(({ code }) => code)).to.deep.equal([201]);
    const beyond = await add([john, ann]);
    expect([beyond.status, ...causesOf(beyond)]).to.deep.equal([422, 'spec.users FieldValueTooMany']);
    expect((await remove(strangers)).body).to.deep.include({ total: 4999, succeeded: 4999, failed: 0 });
    expect(await memberNamesOf(server.kubernetes, 'dev')).to.deep.equal([jane]);
    // The audit event names some members, and counts all.
    const { members } = auditOf('GroupMembersChanged').at(-1);
    expect([members.removed, members.names.length]).to.deep.equal([4999, 100]);
  });
});
