import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { leaveAfterWrite } from '../../support/leave-after-write.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import {
  aGroup,
  ask,
  causesOf,
  groups,
  mayImpersonate,
  memberNamesOf,
  nativeGroups,
  settled,
  stored,
  untilActsAs,
  whenSeen,
} from './support.ts';

const jane = nameOf('jane@example.com');
const john = nameOf('john@example.com');
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const jsonPatch = { 'content-type': 'application/json-patch+json' };

/** alice and bob may write Groups; alice may also act as `local:dev` and `local:made`. */
describe('groups', () => {
  const server = forSuite(() => startServer({ objects: [aUser('jane@example.com'), aUser('john@example.com')] }));

  before(async () => {
    for (const person of ['alice', 'bob'] as const) await grant(server.kubernetes, person, 'atrium-users-admin');
    await server.kubernetes.apply(...mayImpersonate('alice', 'dev', 'made'));
    await eventually(
      () => ask(server, 'bob', 'GET', groups),
      ({ status }) => status === 200,
    );
    await untilActsAs(server, 'alice', 'made');
  });
  afterEach(async () => {
    await server.kubernetes.call('DELETE', nativeGroups);
    await eventually(
      () => ask(server, 'bob', 'GET', groups),
      ({ body }) => body.total === 0,
    );
  });

  const auditOf = (audit: string) => server.auditLines.map((line) => JSON.parse(line)).filter((event) => event.audit === audit);

  describe('POST /auth/v1/groups', () => {
    it('makes a local group with its first members', async () => {
      const spec = { displayName: 'Développeurs', description: 'Who writes it', users: [{ name: jane }] };
      const made = await ask(server, 'alice', 'POST', groups, { body: { metadata: { name: 'made', labels: { team: 'a' } }, spec } });

      expect(made.status).to.equal(201);
      expect(made.headers.get('location')).to.equal('/auth/v1/groups/made');
      expect(made.headers.get('etag')).to.equal(`"${made.body.metadata?.resourceVersion}"`);
      expect(made.body).to.deep.include({ apiVersion: 'auth.platform.io/v1', kind: 'Group' });
      expect(made.body.metadata).not.to.have.property('managedFields');
      const { users = [], ...texts } = (await stored(server.kubernetes, 'made')).spec ?? {};
      expect(texts).to.deep.equal({ displayName: 'Développeurs', description: 'Who writes it' });
      expect(users.map(({ name }) => name)).to.deep.equal([jane]);
      expect(users[0]?.importTime).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(auditOf('GroupCreated').at(-1)).to.deep.include({ target: 'made', code: 201, outcome: 'success' });
      expect(auditOf('GroupCreated').at(-1).actor.name).to.equal('alice');
    });

    it('refuses members from callers who may not act as the group, and creates no group', async () => {
      const refused = await ask(server, 'bob', 'POST', groups, { body: { metadata: { name: 'made' }, spec: { users: [{ name: jane }] } } });

      expect(refused.status).to.equal(403);
      expect(refused.body.message).to.equal(
        'groups "local:made" is forbidden: User "bob" cannot impersonate resource "groups" in API group "" at the cluster scope',
      );
      expect((await server.kubernetes.call('GET', `${nativeGroups}/made`)).status).to.equal(404);
      expect((await ask(server, 'bob', 'POST', groups, { body: { metadata: { name: 'made' } } })).status).to.equal(201);
    });

    it('reports every violation at once', async () => {
      const body = {
        metadata: { name: 'Dev', labels: { 'auth.platform.io/x': 'y' }, generateName: 'g-' },
        spec: { displayName: 'x'.repeat(129), description: 'a\u202eb', users: [{ name: jane }, { name: jane }] },
        status: { memberCount: 7 },
      };
      const refused = await ask(server, 'alice', 'POST', groups, { body });

      expect(refused.status).to.equal(422);
      expect(causesOf(refused)).to.have.members([
        'metadata.name FieldValueInvalid',
        'metadata.labels FieldValueForbidden',
        'metadata.generateName FieldValueForbidden',
        'spec.displayName FieldValueInvalid',
        'spec.description FieldValueInvalid',
        'spec.users[1].name FieldValueDuplicate',
        'status FieldValueForbidden',
      ]);
    });

    it('S11 refuses texts that hold an address, zero-width or direction characters', async () => {
      for (const text of ['jane@example.com', 'Ask jane@example.com', 'a\u200bb', 'a\u2067b', '\ufeffa'])
        for (const field of ['displayName', 'description']) {
          const refused = await ask(server, 'alice', 'POST', groups, { body: { metadata: { name: 'texts' }, spec: { [field]: text } } });
          expect([refused.status, ...causesOf(refused)], `${field} ${JSON.stringify(text)}`).to.deep.equal([
            422,
            `spec.${field} FieldValueInvalid`,
          ]);
        }
      expect((await server.kubernetes.call('GET', `${nativeGroups}/texts`)).status).to.equal(404);
    });

    it('refuses unknown fields, members who are not users, and members of a group of an issuer', async () => {
      const post = (body: unknown, query = '') => ask(server, 'alice', 'POST', `${groups}${query}`, { body });
      const unknown = await post({ metadata: { name: 'dev' }, spec: { colour: 'red' } });
      const strangers = await post({ metadata: { name: 'dev' }, spec: { users: [{ name: jane }, { name: 'nobody' }] } });
      const refConnector = { id: 'github', type: 'oidc' };
      const foreign = await post({ metadata: { name: 'dev' }, spec: { refConnector, users: [{ name: jane }] } });

      expect([unknown.status, unknown.body.message]).to.deep.equal([400, 'strict decoding error: unknown field "spec.colour"']);
      expect([strangers.status, ...causesOf(strangers)]).to.deep.equal([422, 'spec.users[1].name FieldValueNotFound']);
      expect([foreign.status, ...causesOf(foreign)]).to.deep.equal([422, 'spec.users FieldValueForbidden']);
      expect((await post({})).status).to.equal(422);
      expect((await post([])).status).to.equal(400);
      const warned = await post({ metadata: { name: 'dev' }, spec: { refConnector, colour: 'red' } }, '?fieldValidation=Warn');
      expect([warned.status, warned.headers.get('warning')]).to.deep.equal([201, '299 - "unknown field \\"spec.colour\\""']);
    });

    it('changes nothing on a dry run, and refuses a name that is taken', async () => {
      const body = { metadata: { name: 'dev' }, spec: { users: [{ name: jane }] } };
      const tried = await ask(server, 'alice', 'POST', `${groups}?dryRun=All`, { body });

      expect([tried.status, tried.body.spec?.users[0]?.name]).to.deep.equal([201, jane]);
      expect((await server.kubernetes.call('GET', `${nativeGroups}/dev`)).status).to.equal(404);
      expect((await ask(server, 'alice', 'POST', groups, { body })).status).to.equal(201);
      const again = await ask(server, 'alice', 'POST', groups, { body });
      expect([again.status, again.body.reason]).to.deep.equal([409, 'AlreadyExists']);
    });
  });

  describe('GET /auth/v1/groups/{name}', () => {
    it('shows it to callers who may get it, and hides its existence from others', async () => {
      await server.kubernetes.apply(aGroup('dev', [jane]));
      const { metadata } = await settled(server.kubernetes, 'dev');
      const { headers, body } = await whenSeen(server, 'alice', 'dev', metadata?.resourceVersion);

      expect(headers.get('cache-control')).to.equal('private, no-cache');
      expect(body.spec?.users).to.deep.equal([{ name: jane }]);
      const same = await ask(server, 'alice', 'GET', `${groups}/dev`, { headers: { 'if-none-match': headers.get('etag') ?? '' } });
      expect(same.status).to.equal(304);
      const [there, missing] = [await ask(server, 'carol', 'GET', `${groups}/dev`), await ask(server, 'carol', 'GET', `${groups}/xyz`)];
      expect([there.status, missing.status]).to.deep.equal([403, 403]);
      expect((await ask(server, 'alice', 'GET', `${groups}/xyz`)).status).to.equal(404);
      expect((await ask(server, 'alice', 'GET', `${groups}/A..b`)).status).to.equal(404);
    });
  });

  describe('GET /auth/v1/groups', () => {
    it('filters, sorts and pages', async () => {
      await server.kubernetes.apply(
        aGroup('dev', [jane], { displayName: 'Writers' }),
        aGroup('ops', [], { displayName: 'On call', description: 'Night and day' }),
        aGroup('github-dev', [], { refConnector: { id: 'github', type: 'oidc' } }),
      );
      await whenSeen(server, 'alice', 'github-dev');
      const names = async (query: string) => {
        const { body } = await ask(server, 'alice', 'GET', `${groups}?${query}`);
        return body.items.map(({ metadata }) => metadata?.name);
      };

      expect(await names('')).to.deep.equal(['dev', 'github-dev', 'ops']);
      expect(await names('sortBy=d,displayName')).to.deep.equal(['dev', 'ops', 'github-dev']);
      expect(await names('filterBy=local,true,description,NIGHT')).to.deep.equal(['ops']);
      expect(await names('filterBy=source,github')).to.deep.equal(['github-dev']);
      expect(await names('fieldSelector=metadata.name!%3Dops')).to.deep.equal(['dev', 'github-dev']);
      expect(await names('limit=2&page=2')).to.deep.equal(['ops']);
      const first = await ask(server, 'alice', 'GET', `${groups}?limit=2`);
      expect(first.body).to.deep.include({ kind: 'GroupList', apiVersion: 'auth.platform.io/v1', total: 3 });
      expect(first.body.metadata).to.deep.include({ remainingItemCount: 1 });
      expect((await ask(server, 'alice', 'GET', `${groups}?sortBy=members`)).status).to.equal(400);
      expect((await ask(server, 'carol', 'GET', groups)).status).to.equal(403);
    });
  });

  describe('PATCH /auth/v1/groups/{name}', () => {
    it('changes texts, labels and annotations in every form of a patch', async () => {
      await server.kubernetes.apply(aGroup('dev', [jane], { description: 'old' }));
      const merged = await ask(server, 'bob', 'PATCH', `${groups}/dev`, {
        headers: mergePatch,
        body: { metadata: { labels: { team: 'a' }, annotations: { note: 'n' } }, spec: { displayName: 'Dev', description: null } },
      });
      const patched = await ask(server, 'bob', 'PATCH', `${groups}/dev`, {
        headers: jsonPatch,
        body: [
          { op: 'test', path: '/spec/displayName', value: 'Dev' },
          { op: 'replace', path: '/spec/displayName', value: 'Devs' },
          { op: 'add', path: '/metadata/labels/team', value: 'b' },
        ],
      });

      expect([merged.status, patched.status]).to.deep.equal([200, 200]);
      const { spec, metadata } = await settled(server.kubernetes, 'dev');
      expect(spec).to.deep.equal({ displayName: 'Devs', users: [{ name: jane }] });
      expect(metadata).to.deep.include({ labels: { team: 'b' }, annotations: { note: 'n' } });
      expect(patched.headers.get('etag')).to.equal(`"${patched.body.metadata?.resourceVersion}"`);
      expect(auditOf('GroupPatched')).to.have.length(2);
      const empty = await ask(server, 'bob', 'PATCH', `${groups}/dev`, { headers: mergePatch, body: {} });
      expect([empty.status, empty.body.metadata?.resourceVersion]).to.deep.equal([200, metadata?.resourceVersion]);
      expect(auditOf('GroupPatched')).to.have.length(2);
    });

    it('USR-15 lets one of many win who change the version that they have seen', async () => {
      await server.kubernetes.apply(aGroup('dev'));
      const { resourceVersion = '' } = (await settled(server.kubernetes, 'dev')).metadata ?? {};
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          ask(server, 'bob', 'PATCH', `${groups}/dev`, {
            headers: { ...mergePatch, 'if-match': `"${resourceVersion}"` },
            body: { spec: { description: `${index}` } },
          }),
        ),
      );

      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(409)]);
    });

    it('leaves members and where it comes from alone, and says what changes them', async () => {
      await server.kubernetes.apply(aGroup('dev', [jane]));
      const refused = await ask(server, 'alice', 'PATCH', `${groups}/dev`, {
        headers: mergePatch,
        body: { spec: { users: [{ name: john }], refConnector: { id: 'x', type: 'y' }, displayName: 'X' }, status: { memberCount: 3 } },
      });

      expect(refused.status).to.equal(422);
      expect(causesOf(refused)).to.have.members([
        'spec.users FieldValueForbidden',
        'spec.refConnector FieldValueForbidden',
        'status FieldValueForbidden',
      ]);
      expect(refused.body.message).to.include('POST and DELETE /auth/v1/groups/{name}/members');
      expect((await stored(server.kubernetes, 'dev')).spec).to.deep.equal({ users: [{ name: jane }] });
      const byPointer = await ask(server, 'alice', 'PATCH', `${groups}/dev`, {
        headers: jsonPatch,
        body: [{ op: 'add', path: '/spec/users/-', value: { name: john } }],
      });
      expect([byPointer.status, ...causesOf(byPointer)]).to.deep.equal([422, 'spec.users FieldValueForbidden']);
    });

    it('refuses another version, a test that does not hold, another name and a stranger', async () => {
      await server.kubernetes.apply(aGroup('dev'));
      const patch = (body: unknown, headers: Record<string, string> = mergePatch) =>
        ask(server, 'alice', 'PATCH', `${groups}/dev`, { headers, body });
      const spec = { displayName: 'X' };

      expect((await patch({ metadata: { resourceVersion: '1' }, spec })).status).to.equal(409);
      expect((await patch({ spec }, { ...mergePatch, 'if-match': '"1"' })).status).to.equal(409);
      expect((await patch([{ op: 'test', path: '/spec/displayName', value: 'Y' }], jsonPatch)).status).to.equal(422);
      expect((await patch([{ op: 'move', from: '/spec', path: '/x' }], jsonPatch)).status).to.equal(422);
      expect((await patch({ metadata: { name: 'ops' }, spec })).status).to.equal(400);
      expect((await patch({ spec }, { 'content-type': 'text/plain' })).status).to.equal(415);
      expect((await stored(server.kubernetes, 'dev')).spec).to.not.have.property('displayName');
      const { resourceVersion = '' } = (await settled(server.kubernetes, 'dev')).metadata ?? {};
      expect((await patch({ spec }, { ...mergePatch, 'if-match': `"${resourceVersion}"` })).status).to.equal(200);
      for (const name of ['dev', 'xyz'])
        expect((await ask(server, 'carol', 'PATCH', `${groups}/${name}`, { headers: mergePatch, body: { spec } })).status).to.equal(403);
      expect((await ask(server, 'alice', 'PATCH', `${groups}/xyz`, { headers: mergePatch, body: { spec } })).status).to.equal(404);
    });
  });

  describe('DELETE /auth/v1/groups/{name}', () => {
    it('honours preconditions and dry runs, and is seen at once by its caller', async () => {
      await server.kubernetes.apply(aGroup('dev', [jane]));
      const remove = (query = '', body?: unknown) => ask(server, 'bob', 'DELETE', `${groups}/dev${query}`, body ? { body } : {});

      expect((await remove('', { preconditions: { uid: 'another' } })).status).to.equal(409);
      expect((await remove('', { preconditions: { resourceVersion: '1' } })).status).to.equal(409);
      expect((await remove('?dryRun=All')).status).to.equal(204);
      expect((await server.kubernetes.call('GET', `${nativeGroups}/dev`)).status).to.equal(200);
      expect((await ask(server, 'carol', 'DELETE', `${groups}/dev`)).status).to.equal(403);
      expect((await remove()).status).to.equal(204);
      expect((await ask(server, 'alice', 'GET', `${groups}/dev`)).status).to.equal(404);
      expect((await remove()).status).to.equal(404);
      expect(auditOf('GroupDeleted')).to.have.length(1);
      expect(auditOf('GroupDeleted')[0]).to.deep.include({ target: 'dev', code: 204 });
    });
  });

  it('have columns for users in kubectl', async () => {
    await server.kubernetes.apply(aGroup('dev', [jane], { displayName: 'Dev' }));
    await eventually(
      async () => (await stored(server.kubernetes, 'dev')).status,
      (status) => typeof status === 'object' && status.memberCount === 1,
    );
    const { body } = await server.kubernetes.call('GET', `${nativeGroups}/dev`, undefined, {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    });

    expect(body).to.have.nested.property('columnDefinitions[1].name', 'Display Name');
    const { rows } = body as { rows: { cells: unknown[] }[] };
    const [name, displayName, , members] = rows[0]?.cells ?? [];
    expect([name, displayName, members]).to.deep.equal(['dev', 'Dev', 1]);
  });

  describe('whose writer disconnects', () => {
    it('are audited before the replica sees the write', async () => {
      const left = async (method: string, path: string, body: object, audit: string) => {
        const before = auditOf(audit).length;
        const headers = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
        await leaveAfterWrite((signal) => server.request(path, { as: 'alice', method, body, headers, signal }));
        await eventually(
          async () => auditOf(audit).length,
          (count) => count === before + 1,
        );
      };
      await left('POST', groups, { metadata: { name: 'made' } }, 'GroupCreated');
      await left('PATCH', `${groups}/made`, { metadata: { labels: { team: 'shop' } } }, 'GroupPatched');
      await left('POST', `${groups}/made/members`, { names: [jane] }, 'GroupMembersChanged');
    });
  });
});

describe('groups that are turned off', () => {
  it('have no operations, no watch and no check', async () => {
    const server = await startServer({ config: { features: { groups: false } }, objects: [aGroup('dev')] });
    try {
      for (const [method, path] of [
        ['GET', groups],
        ['POST', groups],
        ['GET', `${groups}/dev`],
        ['PATCH', `${groups}/dev`],
        ['DELETE', `${groups}/dev`],
        ['POST', `${groups}/dev/members`],
        ['DELETE', `${groups}/dev/members`],
      ] as const)
        expect((await ask(server, 'admin', method, path)).status, `${method} ${path}`).to.equal(404);
      expect(await (await fetch(`${server.metricsURL}/readyz?verbose`)).text()).not.to.include('groups');
      expect(await (await fetch(`${server.metricsURL}/metrics`)).text()).not.to.include('"groups"');
      expect(await memberNamesOf(server.kubernetes, 'dev')).to.deep.equal([]);
    } finally {
      await server.stop();
    }
  });
});
