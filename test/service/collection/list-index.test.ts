import { ListIndex } from '@atrium/lists/list-index.ts';
import type { QueryParameters } from '@atrium/lists/query.ts';
import { expect } from 'chai';
import { UserRow, userProperties } from '../../../src/users/row.ts';
import { aStoredUser, type UserParts } from '../users/a-user.ts';

/** An index of users, which a test changes one by one. */
class Users {
  readonly rows = new Map<string, UserRow>();
  #changes = 0;
  /** Number of results that were computed from all rows. */
  made = 0;
  readonly index = new ListIndex(userProperties, {
    rows: () => {
      this.made += 1;
      return this.rows.values();
    },
    resourceVersion: () => `${this.#changes}`,
  });

  set(name: string, parts: UserParts = {}): void {
    const old = this.rows.get(name);
    const row = new UserRow(aStoredUser(name, { name, ...parts }));
    this.rows.set(name, row);
    this.#changes += 1;
    this.index.record({ ...(old && { old }), new: row });
  }

  remove(name: string): void {
    const old = this.rows.get(name);
    this.rows.delete(name);
    this.#changes += 1;
    if (old) this.index.record({ old });
  }

  select(parameters: Partial<QueryParameters> = {}) {
    const all: QueryParameters = { labelSelector: '', fieldSelector: '', filterBy: [], search: '', sortBy: '', order: 'asc' };
    return this.index.select({ ...all, ...parameters });
  }

  async names(parameters: Partial<QueryParameters> = {}): Promise<string[]> {
    const { rows } = await this.select(parameters);
    return rows.slice().map(({ name }) => name);
  }
}

/** Runs the query on an index without cached results. */
const fromScratch = (users: Users, parameters: Partial<QueryParameters>): Promise<string[]> => {
  const other = new Users();
  for (const [name, row] of users.rows) other.rows.set(name, row);
  return other.names(parameters);
};

describe('the user index', () => {
  it('shows a change in a result that it has given before', async () => {
    const users = new Users();
    for (const name of ['c', 'a', 'b']) users.set(name, { username: `User ${name}` });
    expect(await users.names()).to.deep.equal(['a', 'b', 'c']);

    users.set('b', { username: 'Zoe' });
    users.set('d', { username: 'User aa' });
    users.remove('c');

    expect(await users.names()).to.deep.equal(['a', 'd', 'b']);
  });

  it('returns the version of its rows, also if another change precedes the notification', async () => {
    const users = new Users();
    users.set('a');
    await users.names();

    const selecting = users.select();
    users.set('b');
    const { rows, resourceVersion } = await selecting;

    expect({ names: rows.slice().map(({ name }) => name), resourceVersion }).to.deep.equal({ names: ['a'], resourceVersion: '1' });
    expect(await users.select()).to.deep.include({ resourceVersion: '2' });
    expect(await users.names()).to.deep.equal(['a', 'b']);
  });

  it('puts names in the order people expect: either case, accents beside their letters, missing ones last, ties by name', async () => {
    const users = new Users();
    for (const [name, username] of Object.entries({ k1: 'Zoë', k2: 'adam', k3: 'Éva', k4: 'eva', k5: 'Bob', k6: '', k7: 'bob' })) {
      users.set(name, { username });
    }

    expect(await users.names()).to.deep.equal(['k2', 'k5', 'k7', 'k3', 'k4', 'k1', 'k6']);
    expect(await users.names({ sortBy: 'd,username' })).to.deep.equal(['k1', 'k3', 'k4', 'k5', 'k7', 'k2', 'k6']);
  });

  it('keeps filtered results right while a user begins to fit and stops', async () => {
    const users = new Users();
    users.set('a', { is_disabled: true });
    users.set('b');
    const disabled = { filterBy: ['is_disabled,true'] };
    expect(await users.names(disabled)).to.deep.equal(['a']);

    users.set('b', { is_disabled: true });
    users.set('a');
    users.set('b', { is_disabled: true, username: 'Other' });

    expect(await users.names(disabled)).to.deep.equal(['b']);
  });

  for (const changes of [1, 40, 500, 20_000]) {
    it(`gives after ${changes} changes the rows of an index that is built from scratch`, async () => {
      const users = new Users();
      let seed = 7;
      const random = (below: number) => {
        seed = (seed * 48_271) % 2_147_483_647;
        return seed % below;
      };
      const change = () => {
        const name = `user-${random(3_000)}`;
        if (random(4) === 0) users.remove(name);
        else users.set(name, { username: `U${random(50)}`, is_disabled: random(2) === 0, phase: random(3) === 0 ? '' : 'Normal' });
      };
      const queries: Partial<QueryParameters>[] = [
        {},
        { sortBy: 'd,username' },
        { sortBy: 'phase,d,name' },
        { filterBy: ['username,u1', 'is_disabled,false'] },
        { fieldSelector: 'status.phase!=Normal', sortBy: 'd,phase,username' },
      ];
      for (let count = 0; count < 3_000; count += 1) change();
      for (const query of queries) await users.names(query);

      for (let count = 0; count < changes; count += 1) change();

      for (const query of queries) expect(await users.names(query)).to.deep.equal(await fromScratch(users, query));
    });
  }

  it('computes a repeated query once, however many changes arrive', async () => {
    const users = new Users();
    users.set('a');

    for (let count = 0; count < 20_000; count += 1) {
      users.set(`user-${count % 10}`, { username: `U${count}` });
      if (count % 100 === 0) await users.names();
    }

    expect(users.made).to.equal(1);
    expect(await users.names()).to.deep.equal(await fromScratch(users, {}));
  });

  it('keeps a bounded number of results', async () => {
    const users = new Users();
    users.set('a');

    for (let count = 0; count < 1000; count += 1) await users.names({ filterBy: [`username,${count}`] });

    expect(users.index.size).to.be.at.most(128);
  });
});
