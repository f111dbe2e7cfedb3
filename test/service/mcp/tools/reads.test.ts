import { expect } from 'chai';
import { eventually, type Manifest, serviceNamespace } from '../../../support/cluster-admin.ts';
import { forSuite } from '../../../support/for-suite.ts';
import { aBinding, aNamespace, aRole, podRule } from '../../access/objects.ts';
import { startDoor } from '../support.ts';

const hidden = 'hunter2-of-the-shop';
const applied = 'kubectl.kubernetes.io/last-applied-configuration';

const inShop = (kind: string, name: string, rest: object): Manifest => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'shop' },
  ...rest,
});

const secret: Manifest = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'db', namespace: 'shop', annotations: { [applied]: JSON.stringify({ stringData: { password: hidden } }) } },
  data: { password: Buffer.from(hidden).toString('base64'), user: Buffer.from('ada').toString('base64') },
};

const pod = inShop('Pod', 'cart', {
  spec: {
    containers: [
      {
        name: 'cart',
        image: 'registry.example.com/cart:1',
        env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'db', key: 'password' } } }],
      },
    ],
  },
});

const configMaps = Array.from({ length: 5 }, (_, index) =>
  inShop('ConfigMap', `settings-${index}`, { data: { text: 'x'.repeat(60_000) } }),
);

const objects: readonly Manifest[] = [
  aNamespace('shop'),
  secret,
  pod,
  ...configMaps,
  aRole('lists-of-configmaps', [podRule(['list', 'watch'], { resources: ['configmaps'] })]),
  aBinding('lists-of-configmaps', { role: 'lists-of-configmaps', to: `ServiceAccount:${serviceNamespace}/atrium` }),
  aRole('shop-reader', [podRule(['get', 'list'], { resources: ['pods', 'configmaps', 'secrets', 'events'] })], 'shop'),
  aBinding('shop-reader', { role: 'shop-reader', roleKind: 'Role', to: 'User:alice', namespace: 'shop' }),
];

describe('tools that read the cluster', () => {
  const lists = { resources: [{ version: 'v1', resource: 'configmaps' }] };
  const door = forSuite(() => startDoor({ alice: {}, bob: {} }, { config: { lists }, objects, hasWorkloads: true }));
  before(() =>
    eventually(
      () => door.call('alice', 'list', { resource: 'configmaps', namespace: 'shop' }),
      ({ data }) => Array.isArray(data.items) && data.items.length === 5,
    ),
  );

  it('are listed with their schemas, and marked as reads', async () => {
    const { tools } = await (await door.connect('alice')).listTools();
    const list = tools.find(({ name }) => name === 'list');
    expect(list?.annotations).to.include({ readOnlyHint: true, destructiveHint: false });
    expect(list?.inputSchema).to.have.nested.property('properties.resource.description');
    expect(list?.inputSchema.required).to.deep.equal(['resource']);
  });

  it('list rows of the service page by page', async () => {
    const first = await door.call('alice', 'list', { resource: 'configmaps', namespace: 'shop', limit: 3 });
    expect(first.note).to.equal('3 objects, and there are more: call list again with cursor for them.');
    expect(first.data).to.include({ resource: 'configmaps', total: 5 });
    const second = await door.call('alice', 'list', { resource: 'configmaps', namespace: 'shop', limit: 3, cursor: first.data.cursor });
    expect(second.note).to.equal('2 objects; there are no more.');
    expect(second.data).not.to.have.property('cursor');
    const names = [first, second].flatMap(({ data }) => (data.items as { name: string }[]).map(({ name }) => name));
    expect(names).to.deep.equal(configMaps.map(({ metadata: { name } }) => name));
  });

  it('list other kinds as kubectl shows them, by their short names', async () => {
    const { note, data } = await door.call('alice', 'list', { resource: 'po', namespace: 'shop' });
    expect(note).to.equal('1 objects; there are no more.');
    expect(data.items).to.have.nested.property('[0].name', 'cart');
    expect(data.items).to.have.nested.property('[0].Status');
  });

  it('get an object without its copies, and a part of it', async () => {
    const { data } = await door.call('alice', 'get', { resource: 'pod', namespace: 'shop', name: 'cart' });
    expect(data).to.have.nested.property('object.spec.containers[0].env[0].valueFrom.secretKeyRef.name', 'db');
    expect(data).not.to.have.nested.property('object.metadata.managedFields');
    const part = await door.call('alice', 'get', { resource: 'pod', namespace: 'shop', name: 'cart', path: 'spec.containers[0].image' });
    expect(part.data).to.deep.equal({ path: 'spec.containers[0].image', part: 'registry.example.com/cart:1' });
  });

  it('show keys and sizes of a Secret, and no value by any way', async () => {
    for (const input of [{}, { path: 'data' }, { path: 'metadata.annotations' }, { path: 'metadata' }]) {
      const { text } = await door.call('alice', 'get', { resource: 'secret', namespace: 'shop', name: 'db', ...input });
      expect(text).not.to.include(hidden);
      expect(text).not.to.include(Buffer.from(hidden).toString('base64'));
    }
    const { data } = await door.call('alice', 'get', { resource: 'secret', namespace: 'shop', name: 'db' });
    expect(data).to.have.deep.nested.property('object.data', [
      { key: 'password', bytes: hidden.length },
      { key: 'user', bytes: 3 },
    ]);
    expect((await door.call('alice', 'list', { resource: 'secrets', namespace: 'shop' })).text).not.to.include(hidden);
  });

  it('name the parts that are left out of a long answer', async () => {
    const { note, data, text } = await door.call('alice', 'get', { resource: 'configmap', namespace: 'shop', name: 'settings-0' });
    expect(note).to.include('`cut` names the parts that are left out');
    expect(data).to.have.nested.property('cut[0].path', 'object.data.text');
    expect(text.length).to.be.lessThan(150_000);
  });

  it('answer refusals of the API server as errors that tell what to do', async () => {
    const refused = await door.call('bob', 'get', { resource: 'pods', namespace: 'shop', name: 'cart' });
    expect(refused.isError).to.equal(true);
    expect(refused.note).to.include('why_not');
    expect(refused.data).to.have.nested.property(
      'error.message',
      'pods "cart" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "shop"',
    );
    expect((await door.call('alice', 'get', { resource: 'pods', namespace: 'shop', name: 'gone' })).data).to.have.nested.property(
      'error.code',
      404,
    );
    expect((await door.call('alice', 'list', { resource: 'unicorns' })).data).to.have.nested.property('error.code', 404);
  });

  it('name the wrong arguments', async () => {
    const { isError, data } = await door.call('alice', 'get', { resource: 'pods/exec', name: 'a/b', nmaespace: 'shop' });
    expect(isError).to.equal(true);
    const fields = (data.error as { causes: { field: string }[] }).causes.map(({ field }) => field);
    expect(fields).to.have.members(['resource', 'name', 'nmaespace']);
  });

  it('show no object of the service that holds credentials', async () => {
    const { data } = await door.call('alice', 'get', { resource: 'accesstokens', name: 'a-token' });
    expect(data).to.have.nested.property('error.causes[0].reason', 'HoldsCredentials');
  });
});
