import { expect } from 'chai';
import { fieldAt, fieldsAt, item, type Schema } from '../../../web/src/api/schema-fields.ts';
import { schemaPositions } from '../../../web/src/api/schema-positions.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const schemas: Record<string, Schema> = {
  'io.example.v1.Spec': {
    type: 'object',
    description: 'The desired state.',
    required: ['containers'],
    properties: {
      containers: { type: 'array', items: { default: {}, allOf: [ref('io.example.v1.Container')] } },
      labels: { type: 'object', additionalProperties: { type: 'string', description: 'A label.' } },
      anything: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      mode: { type: 'string', enum: ['Fast', 'Safe'] },
      paused: { type: 'boolean' },
    },
  },
  'io.example.v1.Container': {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string' },
      port: { allOf: [ref('io.k8s.IntOrString')], description: 'Number or name of the port.' },
      weight: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
      inner: ref('io.example.v1.Loop'),
    },
  },
  'io.k8s.IntOrString': { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }], description: 'Either.' },
  'io.example.v1.Loop': { allOf: [ref('io.example.v1.Loop')] },
};
const root: Schema = { type: 'object', properties: { spec: { allOf: [ref('io.example.v1.Spec')], default: {} } } };
const resolve = (name: string) => schemas[name];
const field = (...path: (string | typeof item)[]) => fieldAt(root, ['spec', ...path], resolve);

describe('fields of a schema in the editor', () => {
  it('are found through references, allOf, lists and maps', () => {
    expect(field()).to.include({ type: 'Spec', description: 'The desired state.', shape: 'object' });
    expect(field('containers')).to.include({ type: '[]Container', isRequired: true, shape: 'list' });
    expect(field('containers', item, 'name')).to.include({ type: 'string', isRequired: true });
    expect(field('labels')).to.include({ type: 'map[string]string', shape: 'object' });
    expect(field('labels', 'app')).to.include({ type: 'string', description: 'A label.', isRequired: false });
  });

  it('say of a number or text that it is either, and keep their own description', () => {
    expect(field('containers', item, 'port')).to.include({
      ...{ type: 'integer or string', description: 'Number or name of the port.', shape: 'scalar' },
    });
    expect(field('containers', item, 'weight')?.type).to.equal('integer or string');
  });

  it('have the values that are allowed', () => {
    expect(field('mode')?.values).to.deep.equal(['Fast', 'Safe']);
    expect(field('paused')?.values).to.deep.equal([true, false]);
    expect(field('labels', 'app')?.values).to.deep.equal([]);
  });

  it('are unknown where the schema allows any, and end where a schema refers to itself', () => {
    expect(field('anything')?.shape).to.equal('object');
    expect(field('anything', 'x')).to.equal(undefined);
    expect(field('toString')).to.equal(undefined);
    expect(field('containers', item, 'inner')?.description).to.equal('');
  });

  it('come with the required ones first', () => {
    const names = fieldsAt(root, ['spec'], resolve).map(({ name }) => name);
    expect(names).to.deep.equal(['containers', 'anything', 'labels', 'mode', 'paused']);
    expect(fieldsAt(root, ['spec', 'mode'], resolve)).to.deep.equal([]);
  });
});

describe('schemas in the text of an OpenAPI document', () => {
  const document = {
    openapi: '3.0.0',
    paths: { '/x': { get: { description: 'says "components": {"schemas": {"Wrong": {}}}', components: { schemas: { Wrong: {} } } } } },
    components: {
      schemas: { A: { description: 'a brace } and a quote \\"', properties: { B: { items: [{}] } } }, B: { type: 'string' } },
      other: { C: {} },
    },
  };
  const walk = (text: string) => {
    const steps = schemaPositions(text);
    let count = 0;
    for (;;) {
      const { done, value } = steps.next();
      if (done) return { positions: value, count };
      count += 1;
    }
  };

  for (const space of [0, 2])
    it(`are found where they stand, indented by ${space}`, () => {
      const text = JSON.stringify(document, undefined, space);
      const { positions } = walk(text);
      expect([...positions.keys()]).to.deep.equal(['A', 'B']);
      for (const [name, position] of positions)
        expect(JSON.parse(text.slice(...position))).to.deep.equal((document.components.schemas as Record<string, object>)[name]);
    });

  it('are searched in steps, so that a page can do other work meanwhile', () => {
    const many = Object.fromEntries(
      Array.from({ length: 2000 }, (_, index) => [`S${index}`, { description: 'x'.repeat(500), type: 'object' }]),
    );
    const text = JSON.stringify({ components: { schemas: many } });
    const { positions, count } = walk(text);
    expect(positions.size).to.equal(2000);
    expect(count).to.be.at.least(Math.floor(text.length / 70_000));
  });

  it('are empty in a text that is not such a document', () => {
    for (const text of ['', '[]', '"components"', '{"components":{"schemas":{"A":{', '<html>'])
      expect(walk(text).positions.size, text).to.equal(0);
  });
});
