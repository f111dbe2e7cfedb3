import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { aGroup, ask, causesOf, groups, nativeGroups } from './support.ts';

const emails = ['jane@example.com', 'john@example.com'];
const [jane = '', john = ''] = emails.map(nameOf);
const memberships = '/auth/v1/memberships';

/** alice may list Groups, carol may not. */
describe('GET /auth/v1/memberships', () => {
  const server = forSuite(() => startServer({ objects: emails.map((email) => aUser(email)) }));
  before(async () => {
    await grant(server.kubernetes, 'alice', 'atrium-users-admin');
    await eventually(
      () => ask(server, 'alice', 'GET', groups),
      ({ status }) => status === 200,
    );
  });

  const itemsOf = async (query: string) => (await ask(server, 'alice', 'GET', `${memberships}?${query}`)).body.items;

  it('lists the local groups of each user, and follows them', async () => {
    await server.kubernetes.apply(aGroup('ops', [jane]), aGroup('dev', [jane, john]));
    await eventually(
      () => itemsOf(`names=${jane},${john}`),
      (items) => items.every((item) => Array.isArray(item.groups) && item.groups.includes('local:dev')),
    );

    expect(await itemsOf(`names=${john},nobody&names=${jane}`)).to.deep.equal([
      { name: john, groups: ['local:dev'] },
      { name: 'nobody', groups: [] },
      { name: jane, groups: ['local:dev', 'local:ops'] },
    ]);
    await server.kubernetes.call('DELETE', `${nativeGroups}/dev`);
    const items = await eventually(
      () => itemsOf(`names=${john}`),
      ([item]) => Array.isArray(item?.groups) && item.groups.length === 0,
    );
    expect(items).to.deep.equal([{ name: john, groups: [] }]);
  });

  it('is refused to callers who may not list groups', async () => {
    const refused = await ask(server, 'carol', 'GET', `${memberships}?names=${jane}`);
    expect(refused.status).to.equal(403);
    expect(refused.body.message).to.include('cannot list resource "groups" in API group "auth.platform.io"');
  });

  it('requires one to a hundred names', async () => {
    const many = Array.from({ length: 101 }, (_, index) => `user${index}`).join();
    for (const [query, cause] of [
      ['', 'names FieldValueRequired'],
      ['?names=', 'names FieldValueRequired'],
      [`?names=${many}`, 'names FieldValueTooMany'],
    ] as const) {
      const refused = await ask(server, 'alice', 'GET', `${memberships}${query}`);
      expect(refused.status, query).to.equal(400);
      expect(causesOf(refused), query).to.deep.equal([cause]);
    }
    expect((await itemsOf(`names=${many.split(',').slice(0, 100).join()}`)).length).to.equal(100);
  });
});
