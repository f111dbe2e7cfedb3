import { expect } from 'chai';
import { parseDocument } from 'yaml';
import type { Schema } from '../../../web/src/api/schema-fields.ts';
import { findingsIn, pathIn, placeOf } from '../../../web/src/editors/schema-check.ts';

const root: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['size', 'level'],
      properties: {
        level: { type: 'string', default: 'low' },
        size: { type: 'integer' },
        share: { type: 'number' },
        name: { type: 'string' },
        isOn: { type: 'boolean' },
        colour: { type: 'string', enum: ['red', 'blue'] },
        either: { 'x-kubernetes-int-or-string': true },
        amount: { oneOf: [{ type: 'string' }, { type: 'number' }] },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: { type: 'string' } } },
        free: { type: 'object' },
        items: { type: 'array', items: { allOf: [{ $ref: '#/components/schemas/Item' }] } },
      },
    },
    status: { type: 'object', required: ['phase'] },
  },
};
const item: Schema = { type: 'object', required: ['port'], properties: { port: { type: 'integer' } } };
const resolve = (name: string) => (name === 'Item' ? item : undefined);

describe('a manifest beside the schema of its kind', () => {
  const found = (text: string) =>
    findingsIn(parseDocument(text), { root, resolve }).map(
      ({ what, path, from, to }) => `${what} ${path.join('.')} ${text.slice(from, to)}`,
    );
  const spec = (text: string) => found(`spec:\n  size: 1\n${text.replace(/^/gm, '  ')}\n`);

  it('has no mistake where the schema allows it', () => {
    expect(
      spec(
        'share: 1.5\nname: "1"\nisOn: false\ncolour: red\neither: 1\namount: 1.5\nlabels: { a: b }\nopen: { b: 1 }\nfree: { a: [1] }\nitems:\n- port: 80',
      ),
    ).to.deep.equal([]);
    expect(spec('either: 25%\namount: 1Gi\nname:\nlabels: {}\nitems: []')).to.deep.equal([]);
    expect(found('spec: { size: 1 }\nstatus: { ready: 1 }\n')).to.deep.equal([]);
  });

  it('has a mistake at a value of another type', () => {
    expect(found('spec:\n  size: two\n')).to.deep.equal(['type spec.size two']);
    expect(found('spec:\n  size: 1.5\n')).to.deep.equal(['type spec.size 1.5']);
    expect(spec('name: true')).to.deep.equal(['quote spec.name true']);
    expect(spec('labels: { a: 1 }')).to.deep.equal(['quote spec.labels.a 1']);
    expect(spec('isOn: "yes"')).to.deep.equal(['type spec.isOn "yes"']);
    expect(spec('either: true')).to.deep.equal(['type spec.either true']);
    expect(spec('items: 80')).to.deep.equal(['type spec.items 80']);
    expect(spec('name: [a]')).to.deep.equal(['type spec.name [a]']);
    expect(spec('items: { port: 80 }')).to.deep.equal(['type spec.items { port: 80 }']);
    expect(spec('colour: green')).to.deep.equal(['value spec.colour green']);
  });

  it('has a mistake at an unknown field and at the object that lacks a required one', () => {
    expect(spec('sise: 1')).to.deep.equal(['unknown spec.sise sise']);
    expect(spec('items:\n- prot: 80')).to.deep.equal(['unknown spec.items.0.prot prot', 'missing spec.items.0.port prot']);
    expect(found('spec:\n  name: a\n')).to.deep.equal(['missing spec.size name']);
  });

  it('names at most 100 mistakes', () => {
    expect(spec(Array.from({ length: 300 }, (_, index) => `u${index}: 1`).join('\n'))).to.have.length(100);
  });

  it('has the places of fields that the API server names', () => {
    const text = 'metadata:\n  name: a\nspec:\n  labels: { a/b: c }\n  items:\n  - port: 80\n  - port: 81\n';
    const placed = (field: string) => text.slice(...placeOf(parseDocument(text).contents, pathIn(field)));
    expect(placed('spec.items[1].port')).to.equal('port');
    expect(placeOf(parseDocument(text).contents, pathIn('spec.items[1].port'))[0]).to.equal(text.lastIndexOf('port'));
    expect(placed('spec.labels[a/b]')).to.equal('a/b');
    expect(placed('spec.items[0].host.name')).to.equal('port');
    expect(placed('metadata.labels')).to.equal('metadata');
    expect(placed('kind')).to.equal('metadata');
    expect(placed('spec.ItemList.items.port')).to.equal('port');
  });
});
