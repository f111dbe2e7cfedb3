/** Deleting many users at once, also from a large group and with an API server that is slow. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { after, before, beforeEach, describe, it } from 'mocha';
import { delay, type ProxiedRequest } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { type FaultyServer, startFaultyServer } from '../../support/faulty-server.ts';
import { grant } from '../../support/grants.ts';
import { aUser, nameOf } from './a-user.ts';

interface Item {
  name: string;
  status: string;
  code: number;
  message?: string;
}
interface Objects {
  items: { metadata: { name: string }; spec: { user?: string } }[];
}

const group = '/apis/auth.platform.io/v1';
const isGroupWrite = ({ method, path }: ProxiedRequest) => method === 'PATCH' && path === `${group}/groups/large`;
const isUserDeletion = ({ method, path }: ProxiedRequest) => method === 'DELETE' && path.startsWith(`${group}/users/`);
const addresses = (count: number, domain: string) => Array.from({ length: count }, (_, index) => `user${index}@${domain}`);

describe('deleting many users', () => {
  let server: FaultyServer;
  const startWith = async (requestTimeout: string) => {
    server = await startFaultyServer({ config: { server: { requestTimeout } } });
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  };
  const make = async (emails: readonly string[]) => {
    await server.kubernetes.apply(...emails.map((email) => aUser(email)));
    await eventually(
      async () => (await (await server.request('/auth/v2/users?limit=1000', { as: 'manager' })).json()) as Objects,
      ({ items }) => emails.every((email) => items.some(({ metadata }) => metadata.name === nameOf(email))),
      60_000,
    );
    return emails.map(nameOf);
  };
  const aGroupWith = (names: readonly string[], members: number) => {
    const others = Array.from({ length: members - names.length }, (_, index) => nameOf(`other${index}@example.com`));
    const users = [...others, ...names].sort().map((name) => ({ name }));
    const spec = { displayName: 'Large', users };
    return server.kubernetes.apply({ apiVersion: 'auth.platform.io/v1', kind: 'Group', metadata: { name: 'large' }, spec });
  };
  const remove = (names: readonly string[], options: { signal?: AbortSignal } = {}) =>
    server.request('/auth/v1/users', { method: 'DELETE', as: 'manager', body: { names }, ...options });
  const namesOf = async (resource: string) => {
    const { body } = await server.kubernetes.call('GET', `${group}/${resource}`);
    return (body as Objects).items.map(({ metadata, spec }) => (resource === 'revokedtokens' ? spec.user : metadata.name));
  };
  const membersLeft = async () => {
    const { body } = await server.kubernetes.call('GET', `${group}/groups/large`);
    return (body as { spec: { users: { name: string }[] } }).spec.users.map(({ name }) => name);
  };

  describe('the deletion of members of a group of 5000', () => {
    before(() => startWith('120s'));
    after(() => server.stop());
    beforeEach(() => server.faults.mend());

    it('removes them from the group by a few writes, during other changes of the group', async () => {
      const names = await make(addresses(30, 'crowd.example.com'));
      await aGroupWith(names, 5000);
      server.faults.forgetRequests();

      const response = await remove(names);

      expect(response.status).to.equal(200);
      const { items } = (await response.json()) as { items: Item[] };
      expect(items).to.deep.equal(names.map((name) => ({ name, status: 'Success', code: 204 })));
      expect(await namesOf('users')).to.deep.equal([]);
      expect(await membersLeft()).to.have.length(4970);
      const writes = server.faults.requests.filter((request) => isGroupWrite(request) && !request.path.endsWith('/status'));
      expect(writes.length).to.be.within(1, 5);
    });

    it('completes deletions that were begun for a caller who disconnected', async () => {
      const [name = ''] = await make(['left@crowd.example.com']);
      await server.kubernetes.remove(`${group}/groups/large`);
      await aGroupWith([name], 10);
      const gone = new AbortController();
      server.faults.inject(({ pass }) => {
        gone.abort();
        void sleep(300).then(() => pass());
      }, isGroupWrite);

      await remove([name], { signal: gone.signal }).then(
        () => expect.fail('answered'),
        () => undefined,
      );

      await eventually(
        () => namesOf('users'),
        (users) => !users.includes(name),
      );
      expect(await membersLeft()).not.to.include(name);
    });
  });

  describe('a deletion whose request times out', () => {
    before(() => startWith('8s'));
    after(() => server.stop());

    it('answers the outcome of each, and does not change users that it did not begin', async () => {
      const names = await make(addresses(60, 'late.example.com'));
      server.faults.inject(delay(2600), isUserDeletion);

      const response = await remove(names);

      expect(response.status).to.equal(200);
      const { items, ...counted } = (await response.json()) as { items: Item[] };
      expect(items.map(({ name }) => name)).to.deep.equal(names);
      const late = items.filter(({ code }) => code === 504);
      expect(counted).to.include({ total: 60, failed: late.length, succeeded: 60 - late.length });
      const waiting = late.filter(({ message }) => message?.includes('was not begun')).map(({ name }) => name);
      expect(waiting).to.include.members(names.slice(40));
      const revoked = await namesOf('revokedtokens');
      expect(waiting.filter((name) => revoked.includes(name))).to.deep.equal([]);
      expect(await namesOf('users')).to.include.members(waiting);
      const begun = names.filter((name) => !waiting.includes(name));
      await eventually(
        () => namesOf('users'),
        (users) => begun.every((name) => !users.includes(name)),
      );
    });
  });
});
