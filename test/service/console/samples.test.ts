import { expect } from 'chai';
import type { Schema } from '../../../web/src/api/schema-fields.ts';
import { requiredOf, sampleOf } from '../../../web/src/pages/cluster/yaml/samples.ts';
import { isUnchanged } from '../../../web/src/pages/cluster/yaml/unchanged.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const place = { group: '', version: 'v1', kind: 'ConfigMap', isNamespaced: true, namespace: 'shop' };

describe('samples of the console', () => {
  it('name the version, the kind and the chosen namespace', () => {
    expect(sampleOf(place)).to.deep.equal({
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'example', namespace: 'shop' }, data: { key: 'value' } },
    });
    expect(sampleOf({ ...place, group: 'example.com', kind: 'Deployment', isNamespaced: false }, { spec: {} })).to.deep.equal({
      ...{ apiVersion: 'example.com/v1', kind: 'Deployment', metadata: { name: '' }, spec: {} },
    });
  });

  it('have the required members of a schema, also of one that refers to itself', () => {
    const schemas = {
      Spec: {
        type: 'object',
        required: ['size', 'mode', 'rules', 'nested'],
        properties: { size: { type: 'integer' }, mode: { enum: ['a', 'b'] }, rules: { type: 'array' }, nested: { allOf: [ref('Nested')] } },
      },
      Nested: { required: ['name'], properties: { name: { type: 'string', default: 'x' }, other: { type: 'string' } } },
      Loop: { required: ['next'], properties: { next: ref('Loop') } },
    };
    const resolve = (name: string) => (schemas as Record<string, Schema>)[name];
    const root = { required: ['apiVersion', 'metadata', 'spec', 'status'], properties: { spec: ref('Spec') } };

    expect(requiredOf(root, resolve)).to.deep.equal({ spec: { size: 0, mode: 'a', rules: [], nested: { name: 'x' } } });
    expect(JSON.stringify(requiredOf(schemas.Loop, resolve)).length).to.be.below(300);
  });
});

describe('an object after a write', () => {
  it('is unchanged whatever the order of its members and its version', () => {
    const before = { metadata: { name: 'x', resourceVersion: '1' }, data: { a: '1', b: '2' } };

    expect(isUnchanged(before, { data: { b: '2', a: '1' }, metadata: { resourceVersion: '2', name: 'x' } } as never)).to.equal(true);
    expect(isUnchanged(before, { ...before, data: { a: '1' } } as never)).to.equal(false);
  });
});
