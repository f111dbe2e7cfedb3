import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { z } from 'zod';
import type { Person } from '../../support/api-server.ts';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { aBinding, aRole, bindingPath, podRule } from '../access/objects.ts';
import { aGroup } from '../groups/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { aConfigMap, aWidget, objects, ofAlice, resources } from './support.ts';

const type = { group: z.string(), version: z.string(), resource: z.string() };
const result = z.strictObject({
  apiVersion: z.literal('auth.platform.io/v1'),
  kind: z.literal('SearchResult'),
  kinds: z.array(
    z.strictObject({
      ...type,
      scope: z.enum(['Cluster', 'Namespaces']),
      total: z.int(),
      items: z.array(
        z.strictObject({
          metadata: z.strictObject({ name: z.string(), namespace: z.string().optional(), uid: z.string() }),
          title: z.string().optional(),
          detail: z.string().optional(),
          match: z.strictObject({ rank: z.string(), field: z.string(), text: z.string() }),
        }),
      ),
    }),
  ),
  unsearched: z.array(z.strictObject({ ...type, reason: z.string(), message: z.string() })),
});
type Result = z.output<typeof result>;

const labelled = (namespace: string, name: string, labels: Record<string, string>): Manifest => {
  const { metadata, ...rest } = aConfigMap(namespace, name, 'none');
  return { ...rest, metadata: { ...metadata, labels } };
};

const found = [
  labelled('shop-01', 'cart', {}),
  labelled('shop-04', 'cart-2', {}),
  labelled('shop-04', 'big-cart', {}),
  labelled('shop-07', 'bigcart', {}),
  labelled('shop-07', 'other', { 'example.com/part-of': 'Cart' }),
  labelled('shop-02', 'cart', {}),
];
const searched = [
  ...resources.map((resource) =>
    resource.resource === 'widgets' ? { ...resource, columns: [{ name: 'images', jsonPath: '.spec.image' }] } : resource,
  ),
  // Kinds that the service account may not list.
  { version: 'v1', resource: 'pods' },
];

describe('a search', () => {
  let server: TestServer;

  const get = (query: string, as: Person = 'alice') => server.request(`/api/v2/search?${query}`, { as });
  const search = async (query: string, as?: Person): Promise<Result> => {
    const response = await get(query, as);
    const body = await response.json();
    expect(response.status, JSON.stringify(body)).to.equal(200);
    return result.parse(body);
  };
  const kindOf = (answer: Result, resource: string) => answer.kinds.find((kind) => kind.resource === resource);
  const matches = (answer: Result, resource: string) =>
    kindOf(answer, resource)?.items.map(
      ({ metadata: { namespace, name }, match: { rank, field } }) => `${namespace ? `${namespace}/` : ''}${name} ${rank} ${field}`,
    );
  const reasons = ({ unsearched }: Result) =>
    unsearched.filter(({ reason }) => reason !== 'Disabled').map(({ resource, reason }) => `${resource} ${reason}`);
  const disabled = ({ unsearched }: Result) => unsearched.filter(({ reason }) => reason === 'Disabled').map(({ resource }) => resource);

  before(async () => {
    server = await startServer({
      config: { lists: { resources: searched }, kubernetes: { accessCache: '1s' } },
      objects: [
        ...objects,
        ...found,
        aWidget('shop-01', 'w0', { size: 1, image: 'registry.example.com/shop/cart:2' }),
        aUser('carter@example.com', { username: 'Jane Cart', labels: { 'auth.platform.io/user.state': 'cart-like' } }),
        aGroup('carters'),
        aRole('search-people', [{ apiGroups: ['auth.platform.io'], resources: ['users', 'groups'], verbs: ['list'] }]),
        aBinding('search-bob', { role: 'search-people', to: 'User:bob' }),
        aRole('search-pods', [podRule(['list'])]),
        aBinding('search-pods', { role: 'search-pods', to: 'User:bob' }),
      ],
    });
    await eventually(
      () => search('q=cart&kinds=configmaps').catch(() => undefined),
      (answer) => answer !== undefined && kindOf(answer, 'configmaps')?.total === 5,
    );
    await eventually(
      () => search('q=cart', 'bob').catch(() => undefined),
      (answer) => ['users', 'groups', 'widgets'].every((kind) => answer && kindOf(answer, kind)?.total === 1),
    );
  });
  after(() => server.stop());

  it('ranks exact before prefix before word before part, and names before labels', async () => {
    const answer = await search('q=CART', 'bob');

    expect(matches(answer, 'configmaps')).to.deep.equal([
      'shop-01/cart Exact name',
      'shop-02/cart Exact name',
      'shop-07/other Exact label',
      'shop-04/cart-2 Prefix name',
      'shop-04/big-cart Word name',
      'shop-07/bigcart Part name',
    ]);
    expect(kindOf(answer, 'configmaps')).to.include({ group: '', version: 'v1', scope: 'Cluster', total: 6 });
    expect(answer.kinds[0]?.resource).to.equal('configmaps');
  });

  it('finds users and groups by display name, and objects by image', async () => {
    const answer = await search('q=cart', 'bob');

    expect(kindOf(answer, 'users')?.items).to.deep.include.members([
      {
        metadata: { name: nameOf('carter@example.com'), uid: kindOf(answer, 'users')?.items[0]?.metadata.uid },
        title: 'Jane Cart',
        detail: 'carter@example.com',
        match: { rank: 'Prefix', field: 'name', text: 'carter@example.com' },
      },
    ]);
    expect(matches(answer, 'groups')).to.deep.equal(['carters Prefix name']);
    expect(kindOf(answer, 'widgets')?.items[0]?.match).to.deep.equal({
      rank: 'Word',
      field: 'image',
      text: 'registry.example.com/shop/cart:2',
    });
    expect((await search('q=cart-like', 'bob')).kinds.map(({ total }) => total)).not.to.contain(1);
  });

  it('finds a label by its value, and by key and value', async () => {
    for (const q of ['cart', 'part-of=cart', 'example.com/part-of=Cart'])
      expect(matches(await search(`q=${encodeURIComponent(q)}&kinds=configmaps`, 'bob'), 'configmaps')?.join(), q).to.contain(
        'shop-07/other',
      );
    expect(kindOf(await search('q=part-of', 'bob'), 'configmaps')?.total).to.equal(0);
  });

  it('shows what the caller may list alone, and names the kinds that the caller may not list', async () => {
    const answer = await search('q=cart');

    expect(matches(answer, 'configmaps')).to.deep.equal([
      'shop-01/cart Exact name',
      'shop-07/other Exact label',
      'shop-04/cart-2 Prefix name',
      'shop-04/big-cart Word name',
      'shop-07/bigcart Part name',
    ]);
    expect(kindOf(answer, 'configmaps')).to.include({ scope: 'Namespaces', total: 5 });
    expect(reasons(answer)).to.have.members([
      'users Forbidden',
      'groups Forbidden',
      'namespaces Forbidden',
      'pods Forbidden',
      'gadgets NotInstalled',
    ]);
    expect(answer.unsearched[0]?.message).to.contain('cannot list resource');
    expect(kindOf(await search('q=m0&kinds=configmaps'), 'configmaps')?.items.map(({ metadata }) => metadata.namespace)).to.deep.equal(
      ofAlice,
    );
  });

  it('names the kinds whose objects are not known, and answers 503 where no kind is known', async () => {
    const answer = await search('q=cart', 'bob');
    const pods = await get('q=cart&kinds=pods', 'bob');

    expect(reasons(answer)).to.have.members(['pods Unavailable', 'gadgets NotInstalled']);
    expect(kindOf(answer, 'configmaps')?.total).to.equal(6);
    expect(pods.status).to.equal(503);
  });

  it('hides all objects from a caller without rights', async () => {
    const answer = await search('q=cart', 'nobody');

    expect(answer.kinds).to.deep.equal([]);
    expect(new Set(answer.unsearched.map(({ reason }) => reason))).to.deep.equal(new Set(['Forbidden', 'Disabled']));
    expect(JSON.stringify(answer)).not.to.contain('shop-');
  });

  it('shows nothing of a namespace whose right is taken away', async () => {
    await server.kubernetes.remove(bindingPath('lists-alice', 'shop-07'));
    await eventually(
      () => search('q=cart'),
      (answer) => kindOf(answer, 'configmaps')?.total === 3,
    );
    await server.kubernetes.apply(aBinding('lists-alice', { role: 'lists-viewer', to: 'User:alice', namespace: 'shop-07' }));
    await eventually(
      () => search('q=cart'),
      (answer) => kindOf(answer, 'configmaps')?.total === 5,
    );
  });

  it('keeps to a namespace, to kinds and to a limit', async () => {
    const inShop = await search('q=cart&namespace=shop-04', 'bob');
    const few = await search('q=m&kinds=configmaps&kinds=users.auth.platform.io,widgets.example.com&limit=3', 'bob');

    expect(matches(inShop, 'configmaps')).to.deep.equal(['shop-04/cart-2 Prefix name', 'shop-04/big-cart Word name']);
    expect(inShop.kinds.map(({ resource }) => resource)).to.have.members(['configmaps', 'events', 'widgets']);
    expect(reasons(inShop)).to.have.members(['pods Unavailable', 'gadgets NotInstalled']);
    expect(few.kinds.map(({ resource }) => resource)).to.have.members(['configmaps', 'users', 'widgets']);
    expect(kindOf(few, 'configmaps')?.items).to.have.length(3);
    expect(kindOf(few, 'configmaps')?.total).to.be.greaterThan(40);
    expect(kindOf(await search('q=m&limit=999', 'bob'), 'configmaps')?.items).to.have.length(20);
  });

  it('names the usual kinds that the configuration does not list, with the setting', async () => {
    const rest = ['services', 'persistentvolumeclaims', 'deployments', 'statefulsets', 'daemonsets', 'jobs', 'cronjobs', 'ingresses'];
    const everywhere = await search('q=cart', 'bob');

    expect(disabled(everywhere)).to.have.members([...rest, 'nodes']);
    expect(everywhere.unsearched.find(({ resource }) => resource === 'deployments')?.message).to.equal(
      'deployments.apps are not searched: lists.preset: workloads turns them on',
    );
    expect(disabled(await search('q=cart&namespace=shop-04', 'bob'))).to.have.members(rest);
    expect(disabled(await search('q=cart&kinds=configmaps', 'bob'))).to.deep.equal([]);
  });

  it('refuses a namespace in which the caller may list nothing, kind by kind', async () => {
    const answer = await search('q=cart&namespace=shop-02&kinds=configmaps');

    expect(answer.kinds).to.deep.equal([]);
    expect(reasons(answer)).to.deep.equal(['configmaps Forbidden']);
    expect(answer.unsearched[0]?.message).to.contain('in the namespace "shop-02"');
  });

  it('refuses parameters that cannot be, and names them', async () => {
    const refusals = { q: ['', 'q=', 'q=%20', `q=${'x'.repeat(129)}`], kinds: ['q=x&kinds=secrets'], limit: ['q=x&limit=0'] };
    for (const [field, queries] of Object.entries(refusals))
      for (const query of queries) {
        const response = await get(query, 'bob');
        const body = JSON.stringify(await response.json());
        expect(response.status, body).to.equal(400);
        expect(body).to.contain(`"field":"${field}"`);
      }
    expect((await server.request('/api/v2/search?q=x')).status).to.equal(401);
  });

  it('finds an object once it is there, and no longer once it is gone', async () => {
    const total = async () => kindOf(await search('q=fresh-cart&kinds=configmaps'), 'configmaps')?.total;

    expect(await total()).to.equal(0);
    await server.kubernetes.apply(labelled('shop-01', 'fresh-cart', {}));
    await eventually(total, (count) => count === 1);
    await server.kubernetes.remove('/api/v1/namespaces/shop-01/configmaps/fresh-cart');
    await eventually(total, (count) => count === 0);
  });
});

describe('a search without lists', () => {
  const search = async (server: TestServer) => result.parse(await (await server.request('/api/v2/search?q=web', { as: 'admin' })).json());

  it('names every kind of the preset, and groups if they are off', async () => {
    const server = await startServer({ config: { features: { groups: false } } });
    try {
      const { kinds, unsearched } = await search(server);

      expect(kinds.map(({ resource }) => resource)).to.deep.equal(['users']);
      expect(unsearched).to.have.length(14);
      expect(new Set(unsearched.map(({ reason }) => reason))).to.deep.equal(new Set(['Disabled']));
      expect(unsearched.map(({ message }) => message)).to.include(
        'groups.auth.platform.io are not searched: features.groups: true turns them on',
      );
    } finally {
      await server.stop();
    }
  });

  it('names no kind as disabled with the preset', async () => {
    const server = await startServer({ config: { lists: { preset: 'workloads' } } });
    try {
      const { unsearched } = await search(server);

      expect(unsearched.map(({ reason }) => reason)).not.to.include('Disabled');
    } finally {
      await server.stop();
    }
  });
});
