import { compileSchema } from '@atrium/embedded-cluster/schema.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { gaugeSamples, gaugeSchema } from './schema-samples.ts';

const schemaWith = (properties: Record<string, unknown>, more: object = {}) => ({
  type: 'object',
  properties: { spec: { type: 'object', properties, ...more } },
});

const check = (schema: unknown, spec: unknown, old?: unknown) =>
  compileSchema(schema)
    .validate({ metadata: { name: 'x' }, spec }, old === undefined ? undefined : { metadata: { name: 'x' }, spec: old })
    .map(({ field, message }) => `${field}: ${message}`);

/** Returns the reason for the refusal of a schema, as one line. */
function refusal(schema: unknown): string {
  try {
    compileSchema(schema);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    expect(error.status).to.include({ code: 422, reason: 'Invalid' });
    return error.status.message;
  }
  throw new Error('it was not refused');
}

describe('custom resources against their schema', () => {
  const gauge = compileSchema(gaugeSchema);
  const stored = (spec: Record<string, unknown>) => {
    const object = { apiVersion: 'test.example.com/v1', kind: 'Gauge', metadata: { name: 'gauge' }, spec: structuredClone(spec) };
    gauge.prune(object);
    gauge.applyDefaults(object);
    return object;
  };

  for (const sample of gaugeSamples) {
    it(sample.it, () => {
      const errors = gauge.validate(stored(sample.spec), sample.old && stored(sample.old));

      expect(errors.map(({ field, message }) => `${field}: ${message}`)).to.have.members(sample.causes);
    });
  }

  describe('pruning', () => {
    it('drops unknown fields at every depth and says which', () => {
      const object = {
        apiVersion: 'v1',
        kind: 'Gauge',
        metadata: { name: 'x', color: 'red' },
        more: 1,
        spec: { extra: {}, plain: [{ n: 1, m: 2 }, { m: 3 }], open: { free: { deep: 1 } }, counts: { any: 1 } },
      };

      expect(gauge.prune(object)).to.deep.equal(['more', 'spec.extra', 'spec.plain[0].m', 'spec.plain[1].m']);
      expect(object).to.deep.equal({
        apiVersion: 'v1',
        kind: 'Gauge',
        metadata: { name: 'x', color: 'red' },
        spec: { plain: [{ n: 1 }, {}], open: { free: { deep: 1 } }, counts: { any: 1 } },
      });
    });

    it('leaves open places alone, lists in them too', () => {
      const schema = compileSchema(schemaWith({ any: { 'x-kubernetes-preserve-unknown-fields': true } }));
      const object = { spec: { any: [{ a: [{ b: null }] }] } };
      schema.applyDefaults(object);

      expect(schema.prune(object)).to.deep.equal([]);
      expect(object).to.deep.equal({ spec: { any: [{ a: [{ b: null }] }] } });
    });

    it('is not misled by names that every object has', () => {
      const object: Record<string, unknown> = JSON.parse('{"spec":{"constructor":{"x":1},"__proto__":{"flag":false},"toString":1}}');

      expect(gauge.prune(object)).to.deep.equal(['spec.__proto__', 'spec.constructor', 'spec.toString']);
      expect(Object.keys(Object(object.spec))).to.deep.equal([]);
    });
  });

  describe('defaults', () => {
    it('are filled in at every depth, for null too', () => {
      const object = { spec: { plain: [{}, { n: 5 }, { n: null }], flag: null } };
      gauge.applyDefaults(object);

      expect(object).to.deep.equal({ spec: { plain: [{ n: 1 }, { n: 5 }, { n: 1 }], flag: true } });
    });

    it('are kept apart for each object', () => {
      const schema = compileSchema(schemaWith({ list: { type: 'array', items: { type: 'string' }, default: ['a'] } }));
      const [first, second] = [{ spec: { list: undefined as unknown } }, { spec: {} }];
      delete first.spec.list;
      schema.applyDefaults(first);
      Object(first.spec.list).push('b');
      schema.applyDefaults(second);

      expect(second).to.deep.equal({ spec: { list: ['a'] } });
    });

    it('do not make the objects around them', () => {
      const object = { metadata: {} };
      gauge.applyDefaults(object);

      expect(object).to.deep.equal({ metadata: {} });
    });
  });

  describe('a value that was invalid before', () => {
    const bad = {
      type: 'string',
      maxLength: 10,
      pattern: '^b',
      'x-kubernetes-validations': [{ rule: "self != 'bad'", message: 'is bad' }],
    };
    const list = (items: object, more: object = {}) => ({ type: 'array', maxItems: 5, items, ...more });
    const byName = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] };
    const schema = schemaWith(
      {
        other: { type: 'string' },
        text: bad,
        atoms: list(bad),
        set: list(bad, { 'x-kubernetes-list-type': 'set' }),
        map: list({ type: 'object', required: ['k'], properties: { k: { type: 'string' }, v: bad } }, byName),
      },
      { required: ['needed'] },
    );
    const old = {
      text: 'bad',
      atoms: ['x', 'bad'],
      set: ['bad', 'bad'],
      map: [
        { k: '1', v: 'x' },
        { k: '2', v: 'bad' },
      ],
    };

    it('is accepted while it does not change', () => {
      expect(check(schema, old, old)).to.deep.equal([]);
      expect(check(schema, { ...old, other: 'new', needed: 1 }, old)).to.deep.equal([]);
    });

    it('is reported when it changes', () => {
      expect(check(schema, { ...old, text: 'x' }, old)).to.include(`spec.text: Invalid value: "x": spec.text in body should match '^b'`);
    });

    it('is reported for a list that changes, unless an item is known by its key', () => {
      const needed = 1;

      expect(check(schema, { ...old, needed, atoms: ['bad', 'x'] }, old)).to.deep.equal([
        `spec.atoms[1]: Invalid value: "x": spec.atoms[1] in body should match '^b'`,
        'spec.atoms[0]: Invalid value: "bad": is bad',
      ]);
      expect(
        check(
          schema,
          {
            ...old,
            needed,
            map: [
              { k: '2', v: 'bad' },
              { k: '1', v: 'y' },
            ],
          },
          old,
        ),
      ).to.deep.equal([`spec.map[1].v: Invalid value: "y": spec.map[1].v in body should match '^b'`]);
    });

    it('is not reported again as a duplicate', () => {
      expect(check(schema, { ...old, needed: 1, set: ['bad', 'bad', 'b'] }, old)).to.deep.equal([
        'spec.set[0]: Invalid value: "bad": is bad',
        'spec.set[1]: Invalid value: "bad": is bad',
      ]);
    });
  });

  describe('a schema', () => {
    const rule = (expression: string, more: object = {}) => ({ 'x-kubernetes-validations': [{ rule: expression, ...more }] });

    it('is refused for a keyword that is not enforced', () => {
      for (const keyword of [
        'allOf',
        'anyOf',
        'oneOf',
        'not',
        'multipleOf',
        'uniqueItems',
        '$ref',
        'x-kubernetes-embedded-resource',
        'patern',
        'exclusiveMinimum',
        'minProperties',
        'x-kubernetes-int-or-string',
      ]) {
        expect(refusal(schemaWith({ a: { type: 'string', [keyword]: [] } })), keyword).to.contain(`"${keyword}"`);
      }
    });

    it('is refused with the place of the mistake', () => {
      expect(refusal(schemaWith({ a: { type: 'string', allOf: [] } }))).to.contain('openAPIV3Schema.properties.spec.properties.a');
    });

    it('is refused for a place without a type', () => {
      expect(refusal(schemaWith({ a: {} }))).to.contain('must have a type');
      expect(refusal(schemaWith({ a: { type: 'text' } }))).to.contain('properties.a.type');
      for (const nothing of [undefined, null, 'x', []]) expect(refusal(nothing)).to.contain('openAPIV3Schema');
    });

    it('is refused for a format that is not checked', () => {
      for (const format of ['email', 'uri', 'of-our-own']) {
        expect(refusal(schemaWith({ a: { type: 'string', format } }))).to.contain('properties.a.format');
      }
    });

    it('is refused for an invalid pattern', () => {
      for (const pattern of ['(', '[b-a]']) {
        expect(refusal(schemaWith({ a: { type: 'string', pattern } })), pattern).to.contain('properties.a.pattern');
      }
    });

    it('is refused for a rule that does not parse', () => {
      expect(refusal(schemaWith({ a: { type: 'string', ...rule('self ==') } }))).to.contain('x-kubernetes-validations[0].rule');
    });

    it('is refused for a rule with unknown names', () => {
      expect(refusal(schemaWith({ a: { type: 'string', ...rule('other') } }))).to.contain('other');
    });

    it('is refused for the optional members of a rule', () => {
      for (const more of [{ reason: 'FieldValueForbidden' }, { messageExpression: "'no'" }, { optionalOldSelf: true }]) {
        expect(refusal(schemaWith({}, rule('true', more)))).to.contain('Unrecognized key');
      }
    });

    it('is refused for a transition rule on items without an identity', () => {
      const items = { type: 'string', ...rule('self == oldSelf') };

      expect(refusal(schemaWith({ a: { type: 'array', items } }))).to.contain('oldSelf has no meaning inside this list');
    });
  });
});
