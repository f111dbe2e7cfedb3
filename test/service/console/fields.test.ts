import { expect } from 'chai';
import type { ClusterObject } from '../../../web/src/api/object-types.ts';
import { SchemaDocument } from '../../../web/src/api/schema-document.ts';
import { fieldAt, item } from '../../../web/src/api/schema-fields.ts';
import { fieldsOf, itemName, openedPaths, shownFields, valueText } from '../../../web/src/pages/cluster/sections/any-kind/field-tree.ts';
import { summaryConditions } from '../../../web/src/pages/cluster/sections/conditions/conditions.ts';
import { definitionOf, instanceCount, missingVersions } from '../../../web/src/pages/cluster/sections/definition/definitions.ts';

const nested = (depth: number): unknown => {
  let value: unknown = 'end';
  for (let level = 0; level < depth; level += 1) value = { next: value };
  return value;
};

describe('the fields of any object in the console', () => {
  it('are listed up to a bound, and the rest is counted', () => {
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`key-${index}`, index]));
    for (const value of [wide, Object.values(wide)]) {
      const fields = fieldsOf(value);
      expect(fields?.shown.length).to.equal(shownFields);
      expect(fields?.hidden).to.equal(100_000 - shownFields);
    }
    expect(fieldsOf([])).to.equal(undefined);
    expect(fieldsOf('text')).to.equal(undefined);
  });

  it('open level by level, within a bound for wide and deep objects', () => {
    const wide = Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`key-${index}`, { a: 1, b: 2 }]));
    expect([...openedPaths({ spec: { a: { b: 1 } }, status: {} })]).to.deep.equal(['', '/spec', '/spec/a']);
    expect(openedPaths(wide).size).to.be.within(2, 31);
    expect(openedPaths(nested(5000)).size).to.be.at.most(150);
  });

  it('distinguish texts from other values, and cut long ones', () => {
    expect(['true', '1.20', 'plain', '', ' padded'].map(valueText)).to.deep.equal(['"true"', '"1.20"', 'plain', '""', '" padded"']);
    expect([true, null, 1.2, 9_007_199_254_740_993n, [], {}].map(valueText)).to.deep.equal([
      ...['true', 'null', '1.2', '9007199254740993', '[]', '{}'],
    ]);
    expect(valueText('x'.repeat(1_000_000)).length).to.be.below(3000);
  });

  it('have the name of an item beside its index', () => {
    expect(itemName({ name: 'web', type: 'x' })).to.equal('web');
    expect(itemName({ name: { hostile: true }, type: 'Ready' })).to.equal('Ready');
    expect(itemName(null)).to.equal('');
  });
});

describe('descriptions of fields out of OpenAPI', () => {
  const schemas = {
    'com.example.v1.Shop': {
      'x-kubernetes-group-version-kind': [{ group: 'example.com', version: 'v1', kind: 'Shop' }],
      properties: {
        spec: { description: 'The wish.', allOf: [{ $ref: '#/components/schemas/com.example.v1.ShopSpec' }] },
        loop: { $ref: '#/components/schemas/loop' },
        labels: { additionalProperties: { description: 'A label.' } },
      },
    },
    'com.example.v1.ShopSpec': {
      description: 'Behind the reference.',
      properties: { doors: { items: { description: 'A door.', properties: { name: { description: 'On the sign.' } } } } },
    },
    loop: { $ref: '#/components/schemas/loop' },
  };
  const read = (document: unknown) => SchemaDocument.read(JSON.stringify(document) ?? '');
  const follow = async (...path: (string | number)[]) => {
    const document = await read({ components: { schemas } });
    const steps = path.map((name) => (typeof name === 'number' ? item : name));
    const root = document.rootOf({ group: 'example.com', version: 'v1', kind: 'Shop' });
    return root && (fieldAt(root, steps, document.resolve)?.description ?? '');
  };

  it('are found through references, lists and maps', async () => {
    expect(await follow('spec')).to.equal('The wish.');
    expect(await follow('spec', 'doors', 0)).to.equal('A door.');
    expect(await follow('spec', 'doors', 3, 'name')).to.equal('On the sign.');
    expect(await follow('labels', 'app')).to.equal('A label.');
  });

  it('are empty for unknown members, references to themselves and hostile documents', async () => {
    expect(await follow('other', 'deep')).to.equal('');
    expect(await follow('loop', 'loop')).to.equal('');
    expect(await follow('__proto__', 'constructor')).to.equal('');
    for (const document of [undefined, null, 'text', { components: [] }, { components: { schemas: { a: null, b: 'x' } } }])
      expect((await read(document)).rootOf({ group: '', version: 'v1', kind: 'Pod' })).to.equal(undefined);
  });
});

const object = (members: object, generation = 1): ClusterObject => ({
  ...{ apiVersion: 'example.com/v1', kind: 'Shop', ...members },
  metadata: { name: 'shop', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', generation },
});

describe('conditions of any object in the console', () => {
  const words = (conditions: unknown, generation = 1) =>
    summaryConditions(object({ status: { conditions } }, generation)).map(
      ({ type, tone, isUnseen }) => `${type} ${isUnseen ? 'unseen' : tone}`,
    );

  it('are good or bad by the conventions of Kubernetes', () => {
    expect(
      words([
        { type: 'Ready', status: 'True' },
        { type: 'Degraded', status: 'True' },
        { type: 'Available', status: 'False' },
        { type: 'Failed', status: 'False' },
        { type: 'Synced', status: 'Unknown' },
        { type: 'Painted', status: 'False' },
      ]),
    ).to.deep.equal(['Ready ok', 'Available bad', 'Synced warn', 'Degraded bad', 'Failed ok']);
  });

  it('are not green before the controller has seen the object', () => {
    expect(words([{ type: 'Ready', status: 'True', observedGeneration: 1 }], 2)).to.deep.equal(['Ready unseen']);
  });

  it('are empty for shapes that are not conditions', () => {
    expect(words('text')).to.deep.equal([]);
    expect(words([null, 7, { type: {} }, { type: 'Ready', status: {}, lastTransitionTime: 'soon' }])).to.deep.equal(['Ready warn']);
  });
});

describe('a CustomResourceDefinition in the console', () => {
  const version = (name: string, served = true) => ({ name, served, storage: name === 'v1' });
  const definition = (names: string[], status: object = {}) =>
    definitionOf(
      object({ spec: { group: 'example.com', scope: 'Cluster', names: {}, versions: names.map((name) => version(name)) }, status }),
    );

  it('has its versions in the order of Kubernetes', () => {
    const names = ['foo1', 'v1alpha2', 'v11beta2', 'v10', 'v2', 'v10beta3', 'v1', 'v11alpha2', 'foo10', 'v3beta1', 'v12alpha1'];
    expect(definition(names).versions.map(({ name }) => name)).to.deep.equal([
      ...['v10', 'v2', 'v1', 'v11beta2', 'v10beta3', 'v3beta1', 'v12alpha1', 'v11alpha2', 'v1alpha2', 'foo1', 'foo10'],
    ]);
  });

  it('is served once it is established', () => {
    const established = { conditions: [{ type: 'Established', status: 'True' }] };
    expect([definition(['v1']).isServed, definition(['v1'], established).isServed]).to.deep.equal([false, true]);
  });

  it('names versions in which objects are stored and that it has lost', () => {
    expect(missingVersions(definition(['v1'], { storedVersions: ['v1', 'v1beta1'] }))).to.deep.equal(['v1beta1']);
  });

  it('distinguishes an unknown number of instances from none', () => {
    expect(instanceCount({ items: [], metadata: {} })).to.equal(0);
    expect(instanceCount({ items: [{}], metadata: { continue: 'x', remainingItemCount: 41 } })).to.equal(42);
    expect(instanceCount({ items: [{}], metadata: { continue: 'x' } })).to.equal(undefined);
  });
});
