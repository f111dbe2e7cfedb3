import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { z } from 'zod';
import type { Person } from '../../support/api-server.ts';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { aBinding, bindingPath } from '../access/objects.ts';
import { aConfigMap, aWidget, objects, ofAlice, perShop, resources, shops } from './support.ts';

const configMaps = '/api/v2/resources/core/v1/configmaps';
const mine = 'labelSelector=suite%3Dlists';

const row = z.strictObject({
  metadata: z.strictObject({
    name: z.string(),
    namespace: z.string().optional(),
    uid: z.string(),
    resourceVersion: z.string(),
    creationTimestamp: z.iso.datetime(),
    labels: z.record(z.string(), z.string()),
  }),
  owner: z.string().optional(),
  values: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
});
const list = z.strictObject({
  apiVersion: z.literal('auth.platform.io/v1'),
  kind: z.literal('ResourceRowList'),
  resource: z.strictObject({ group: z.string(), version: z.string(), resource: z.string() }),
  columns: z.array(z.strictObject({ name: z.string(), title: z.string().optional(), type: z.string() })),
  metadata: z.strictObject({ resourceVersion: z.string(), continue: z.string(), remainingItemCount: z.int() }),
  total: z.int(),
  items: z.array(row),
});
const summary = z.strictObject({
  apiVersion: z.literal('auth.platform.io/v1'),
  kind: z.literal('ResourceSummary'),
  metadata: z.strictObject({ resourceVersion: z.string() }),
  total: z.int(),
  values: z.array(z.strictObject({ value: z.union([z.string(), z.number(), z.boolean(), z.null()]), count: z.int() })),
  other: z.int(),
});
const offered = z.strictObject({
  apiVersion: z.string(),
  kind: z.string(),
  items: z.array(
    z.strictObject({
      group: z.string(),
      version: z.string(),
      resource: z.string(),
      columns: z.array(z.strictObject({ name: z.string(), title: z.string().optional(), type: z.string() })),
    }),
  ),
});
const failure = z.looseObject({
  kind: z.literal('Status'),
  code: z.number(),
  message: z.string(),
  details: z.looseObject({ causes: z.array(z.looseObject({ field: z.string() })).optional() }).optional(),
});

const keysOf = ({ items }: z.output<typeof list>) => items.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);

describe('lists of any resource', () => {
  let server: TestServer;

  const get = (path: string, as: Person = 'alice') => server.request(path, { as });
  const ask = async (path: string, as: Person = 'alice') => {
    const response = await get(path, as);
    const body = await response.json();
    expect(response.status, JSON.stringify(body)).to.equal(200);
    return body;
  };
  const rows = async (path: string, as?: Person) => list.parse(await ask(path, as));
  const counts = async (path: string, as?: Person) => summary.parse(await ask(path, as));
  const refused = async (path: string, as?: Person) => {
    const response = await get(path, as);
    const body = failure.parse(await response.json());
    expect(response.status).to.equal(body.code);
    return body;
  };

  before(async () => {
    server = await startServer({ config: { lists: { resources } }, objects });
    await eventually(
      () => rows(`${configMaps}?${mine}`, 'bob').catch(() => undefined),
      (found) => found?.total === shops.length * perShop,
    );
    // A permission and a definition take effect a moment after their creation.
    await eventually(
      () => rows(`${configMaps}?${mine}`).catch(() => undefined),
      (found) => found?.total === ofAlice.length * perShop,
    );
    await eventually(
      async () => offered.parse(await ask('/api/v2/resources', 'nobody')).items.map(({ resource }) => resource),
      (known) => known.includes('widgets'),
    );
  });
  after(() => server.stop());

  it('name the listed resources with their columns, and no resource that the cluster does not have', async () => {
    const { items, ...rest } = offered.parse(await ask('/api/v2/resources', 'nobody'));

    expect(rest).to.deep.equal({ apiVersion: 'auth.platform.io/v1', kind: 'OfferedResourceList' });
    expect(items.map(({ resource }) => resource)).to.deep.equal(['configmaps', 'events', 'namespaces', 'widgets']);
    expect(items.map(({ columns }) => columns.map(({ name, type }) => `${name} ${type}`))).to.deep.include([
      'size number',
      'currentState string',
      'hidden string',
    ]);
    expect(items[0]).to.deep.equal({ group: '', version: 'v1', resource: 'configmaps', columns: [{ name: 'tier', type: 'string' }] });
  });

  it('show the columns of a resource and nothing else of its objects', async () => {
    const { resource, columns, items, metadata } = await rows(`${configMaps}/namespaces/shop-01?${mine}`);

    expect(resource).to.deep.equal({ group: '', version: 'v1', resource: 'configmaps' });
    expect(columns).to.deep.equal([{ name: 'tier', type: 'string' }]);
    expect(items.map(({ metadata: { name, namespace, labels }, values }) => ({ name, namespace, labels, values }))).to.deep.equal(
      [0, 1, 2, 3].map((index) => ({
        name: `m${index}`,
        namespace: 'shop-01',
        labels: { suite: 'lists' },
        values: { tier: `tier-${index % 2}` },
      })),
    );
    expect(JSON.stringify(items)).not.to.contain('not for rows');
    expect(metadata).to.include({ continue: '', remainingItemCount: 0 });
  });

  describe('of a caller with rights in three namespaces (LST-01)', () => {
    it('hold the objects in these namespaces, like total, order and summary', async () => {
      const all = await rows(`${configMaps}?${mine}&sortBy=d,tier`);
      const found = await counts(`${configMaps}?${mine}&summary=tier`);

      expect(new Set(all.items.map(({ metadata }) => metadata.namespace))).to.deep.equal(new Set(ofAlice));
      expect(all.total).to.equal(ofAlice.length * perShop);
      expect(all.items.map(({ values }) => values.tier)).to.deep.equal([...Array(6).fill('tier-1'), ...Array(6).fill('tier-0')]);
      expect(keysOf(all).slice(0, 3)).to.deep.equal(['shop-01/m1', 'shop-01/m3', 'shop-04/m1']);
      expect(found).to.deep.include({
        total: 12,
        values: [
          { value: 'tier-0', count: 6 },
          { value: 'tier-1', count: 6 },
        ],
        other: 0,
      });
    });

    it('are counted again when an object comes, changes and goes', async () => {
      const told = async () => {
        const { total, values } = await counts(`${configMaps}?labelSelector=suite%3Dcounted&summary=tier`);
        return { total, values };
      };
      const one = (tier: string): Manifest => {
        const { metadata, ...rest } = aConfigMap('shop-04', 'counted', tier);
        return { ...rest, metadata: { ...metadata, labels: { suite: 'counted' } } };
      };
      const become = (wanted: Awaited<ReturnType<typeof told>>) => eventually(told, (found) => isDeepStrictEqual(found, wanted));

      await become({ total: 0, values: [] });
      for (const tier of ['tier-8', 'tier-9']) {
        await server.kubernetes.apply(one(tier));
        await become({ total: 1, values: [{ value: tier, count: 1 }] });
      }
      await server.kubernetes.call('DELETE', '/api/v1/namespaces/shop-04/configmaps/counted');
      await become({ total: 0, values: [] });
    });

    it('find nothing by a value, a name or a namespace of others', async () => {
      const queries = ['filterBy=tier,other', 'filterBy=namespace,shop-02', 'search=other', 'fieldSelector=metadata.namespace%3Dshop-02'];
      for (const query of queries) {
        expect((await rows(`${configMaps}?${query}`)).total, query).to.equal(0);
        expect((await counts(`${configMaps}?${query}&summary=namespace`)).values, query).to.deep.equal([]);
        expect((await rows(`${configMaps}?${query}`, 'bob')).total, query).to.be.greaterThan(0);
      }
    });

    it('refuse another namespace before it is known whether it is there', async () => {
      for (const namespace of ['shop-02', 'not-there']) {
        const { code, message } = await refused(`${configMaps}/namespaces/${namespace}`);
        expect(code).to.equal(403);
        expect(message).to.equal(
          `configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "${namespace}"`,
        );
      }
    });

    it('continue with a token of the same caller, and refuse that of another', async () => {
      const first = await rows(`${configMaps}?${mine}&limit=5`);
      const next = `${configMaps}?${mine}&limit=5&continue=${encodeURIComponent(first.metadata.continue)}`;
      const second = await rows(next);
      const ofBob = await rows(`${configMaps}?${mine}&limit=5`, 'bob');
      const { code, details } = await refused(next, 'bob');

      expect(first.metadata.remainingItemCount).to.equal(7);
      expect(keysOf(first).concat(keysOf(second))).to.deep.equal(
        ofAlice.flatMap((shop) => [0, 1, 2, 3].map((index) => `${shop}/m${index}`)).slice(0, 10),
      );
      expect(code).to.equal(400);
      expect(details?.causes?.[0]?.field).to.equal('continue');
      expect((await refused(`${configMaps}?${mine}&continue=${encodeURIComponent(ofBob.metadata.continue)}`)).code).to.equal(400);
      expect((await refused(`${configMaps}?${mine}&sortBy=tier&continue=${encodeURIComponent(first.metadata.continue)}`)).code).to.equal(
        400,
      );
      expect((await refused(`${configMaps}?continue=made-up`)).code).to.equal(400);
    });

    it('follow a permission that is granted and revoked', async () => {
      await server.kubernetes.apply(aBinding('lists-more', { role: 'lists-viewer', to: 'User:alice', namespace: 'shop-09' }));
      const more = await eventually(
        () => rows(`${configMaps}?${mine}`),
        ({ total }) => total !== 12,
      );
      await server.kubernetes.remove(bindingPath('lists-more', 'shop-09'));
      const fewer = await eventually(
        () => rows(`${configMaps}?${mine}`),
        ({ total }) => total !== 16,
      );

      expect(more.total).to.equal(16);
      expect(fewer.total).to.equal(12);
    });
  });

  it('show all to callers who may list in the whole cluster, and no row to callers who may not list at all', async () => {
    expect((await rows(`${configMaps}?${mine}&limit=1`, 'bob')).total).to.equal(shops.length * perShop);
    expect((await refused(configMaps, 'nobody')).message).to.equal(
      'configmaps is forbidden: User "nobody" cannot list resource "configmaps" in API group "" at the cluster scope',
    );
    expect((await server.request(configMaps)).status).to.equal(401);
    expect((await server.request(configMaps, { token: 'made-up' })).status).to.equal(401);
  });

  it('take rights in namespaces for none to objects without', async () => {
    expect((await refused('/api/v2/resources/core/v1/namespaces')).code).to.equal(403);
    expect((await refused('/api/v2/resources/core/v1/namespaces/namespaces/shop-01', 'bob')).code).to.equal(403);
    expect((await rows('/api/v2/resources/core/v1/namespaces?filterBy=name,shop-', 'bob')).total).to.equal(shops.length);
  });

  it('filter events by their whole involved object', async () => {
    const events = '/api/v2/resources/core/v1/events';
    const found = await rows(`${events}?${mine}&filterBy=involvedObject,Pod/web`, 'bob');

    expect(keysOf(found)).to.deep.equal(['shop-01/e0', 'shop-02/e2']);
    expect(found.items[0]?.values).to.include({ reason: 'Seen', message: 'web was seen', type: 'Normal', count: null });
    expect(keysOf(await rows(`${events}?${mine}&filterBy=involvedObject,Pod/web`))).to.deep.equal(['shop-01/e0']);
  });

  it('cases/12 sort texts that are quantities by their value, before other texts', async () => {
    const sizes = ['1Ti', '900Mi', 'unknown', '10Gi', '100m', '1e400', '2'];
    const maps = sizes.map((size, index) => {
      const map = aConfigMap('shop-07', `sized-${index}`, size);
      return { ...map, metadata: { ...map.metadata, labels: { suite: 'order' } } };
    });
    await server.kubernetes.apply(...maps);
    const sorted = async (direction: string) => {
      const found = await eventually(
        () => rows(`${configMaps}?labelSelector=suite%3Dorder&sortBy=${direction},tier`),
        ({ total }) => total === sizes.length,
      );
      return found.items.map(({ values }) => values.tier);
    };

    const paged = async (direction: string) => {
      const found: unknown[] = [];
      let token = '';
      do {
        const more = token && `&continue=${encodeURIComponent(token)}`;
        const page = await rows(`${configMaps}?labelSelector=suite%3Dorder&sortBy=${direction},tier&limit=1${more}`);
        found.push(...page.items.map(({ values }) => values.tier));
        token = page.metadata.continue;
      } while (token !== '');
      return found;
    };

    const ascending = ['100m', '2', '900Mi', '10Gi', '1Ti', '1e400', 'unknown'];
    expect(await sorted('a')).to.deep.equal(ascending);
    expect(await sorted('d')).to.deep.equal(ascending.toReversed());
    expect(await paged('a')).to.deep.equal(ascending);
    expect(await paged('d')).to.deep.equal(ascending.toReversed());
    for (const { metadata } of maps) await server.kubernetes.remove(`/api/v1/namespaces/shop-07/configmaps/${metadata.name}`);
  });

  it('have the printer columns of a custom resource, compared by their types', async () => {
    const widgets = '/api/v2/resources/example.com/v1/widgets';
    const [owner] = (await rows(`${configMaps}/namespaces/shop-01?fieldSelector=metadata.name%3Dm0`)).items;
    const controller = { apiVersion: 'v1', kind: 'ConfigMap', name: 'm0', uid: owner?.metadata.uid, controller: true };
    const owned = aWidget('shop-01', 'w-owned', { size: 9, env: 'no' });
    await server.kubernetes.apply(
      aWidget('shop-01', 'w-10', { size: 10, state: 'Ready' }),
      aWidget('shop-01', 'w-2', { size: 2, state: 'Waiting, long' }),
      { ...owned, metadata: { ...owned.metadata, ownerReferences: [controller] } },
    );
    const found = await eventually(
      () => rows(`${widgets}?sortBy=d,size`),
      ({ total }) => total === 3,
    );

    // A custom resource may have a member `env`: kinds with secrets are on no list.
    expect(found.columns).to.deep.equal([
      { name: 'size', title: 'Size', type: 'number' },
      { name: 'currentState', title: 'Current State', type: 'string' },
      { name: 'hidden', title: 'Hidden', type: 'string' },
    ]);
    expect(found.items.map(({ metadata, values }) => [metadata.name, values.size, values.currentState])).to.deep.equal([
      ['w-10', 10, 'Ready'],
      ['w-owned', 9, null],
      ['w-2', 2, 'Waiting, long'],
    ]);
    expect(keysOf(await rows(`${widgets}?filterBy=owner,ConfigMap/m0`))).to.deep.equal(['shop-01/w-owned']);
    expect(keysOf(await rows(`${widgets}?filterBy=${encodeURIComponent('currentState,waiting\\, l')}`))).to.deep.equal(['shop-01/w-2']);
    expect(keysOf(await rows(`${widgets}?filterBy=size,10`))).to.deep.equal(['shop-01/w-10']);
    expect((await counts(`${widgets}?summary=size`)).values).to.deep.equal([10, 2, 9].map((value) => ({ value, count: 1 })));
  });

  it('are refused where they are not offered, or the API server does not know the resource', async () => {
    const { code, message } = await refused('/api/v2/resources/core/v1/secrets', 'admin');

    expect(code).to.equal(404);
    expect(message).to.contain('lists.resources');
    expect((await refused('/api/v2/resources/core/v2/configmaps', 'bob')).code).to.equal(404);
    expect((await refused('/api/v2/resources/example.com/v1/gadgets', 'bob')).code).to.equal(404);
    expect((await refused('/api/v2/resources/example.com/v1/gadgets', 'nobody')).code).to.equal(403);
  });

  it('refuse parameters that cannot be, and name them', async () => {
    const refusals: [query: string, field: string][] = [
      ['sortBy=a,spec.secret', 'sortBy'],
      ['sortBy=__proto__', 'sortBy'],
      ['filterBy=tier', 'filterBy'],
      ['filterBy=constructor,x', 'filterBy'],
      [`filterBy=${'tier,x,'.repeat(40)}tier,x`, 'filterBy'],
      ['fieldSelector=data.key%3Dx', 'fieldSelector'],
      ['labelSelector=%3D%3D', 'labelSelector'],
      ['summary=labels', 'summary'],
      ['summary=tier&page=2', 'page'],
      ['limit=0', 'limit'],
      ['resourceVersion=x', 'resourceVersion'],
      ['watch=true', 'watch'],
      ['timeoutSeconds=x', 'timeoutSeconds'],
    ];
    for (const [query, field] of refusals) {
      const { code, details } = await refused(`${configMaps}?${query}`);
      expect(code, query).to.equal(400);
      expect(details?.causes?.[0]?.field, query).to.equal(field);
    }
  });

  it('show what was written when its version is asked for', async () => {
    await server.kubernetes.apply(aConfigMap('shop-11', 'fresh', 'new'));
    const { body } = await server.kubernetes.call('GET', '/api/v1/namespaces/shop-11/configmaps/fresh');
    const { resourceVersion } = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) }).parse(body).metadata;
    // While the watch lags behind, the answer is 504, and never a list without the write.
    const answer = await eventually(
      () => get(`${configMaps}?filterBy=tier,new&resourceVersion=${resourceVersion}`, 'bob'),
      ({ status }) => status !== 504,
    );
    const found = list.parse(await answer.json());
    await server.kubernetes.remove('/api/v1/namespaces/shop-11/configmaps/fresh');

    expect(keysOf(found)).to.deep.equal(['shop-11/fresh']);
  });
});
