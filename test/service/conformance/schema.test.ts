import { expect } from 'chai';
import { aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

describe('the schema of a custom resource', () => {
  const { workspace, admin, widgets } = suiteWorkspace();

  let serial = 0;
  const post = (spec: Record<string, unknown>, query: Record<string, string> = {}) => {
    serial += 1;
    return admin.post(widgets, aWidget(`w${serial}`, spec), query);
  };

  describe('with 422 Invalid and a cause', () => {
    const cases: [string, Record<string, unknown>, { field: string; reason: string; message?: RegExp }][] = [
      [
        'another type',
        { size: 'big' },
        { field: 'spec.size', reason: 'FieldValueTypeInvalid', message: /must be of type integer: "string"/ },
      ],
      ['a fraction for an integer', { size: 1.5 }, { field: 'spec.size', reason: 'FieldValueTypeInvalid' }],
      [
        'a number below the minimum',
        { size: -1 },
        { field: 'spec.size', reason: 'FieldValueInvalid', message: /greater than or equal to 0/ },
      ],
      [
        'a number above the maximum',
        { size: 1001 },
        { field: 'spec.size', reason: 'FieldValueInvalid', message: /less than or equal to 1000/ },
      ],
      [
        'a value outside the enum',
        { color: 'pink' },
        { field: 'spec.color', reason: 'FieldValueNotSupported', message: /"pink".*"red", "green", "blue"/ },
      ],
      [
        'a string against the pattern',
        { code: 'abc' },
        { field: 'spec.code', reason: 'FieldValueInvalid', message: /should match '\^\[A-Z\]\{3\}\$'/ },
      ],
      ['a string that is too short', { title: 'x' }, { field: 'spec.title', reason: 'FieldValueInvalid' }],
      ['a string that is too long', { title: 'a title too long' }, { field: 'spec.title', reason: 'FieldValueTooLong' }],
      [
        'a date that is none',
        { seen: 'yesterday' },
        { field: 'spec.seen', reason: 'FieldValueTypeInvalid', message: /must be of type date-time/ },
      ],
      ['a list that is too long', { tags: ['a', 'b', 'c', 'd'] }, { field: 'spec.tags', reason: 'FieldValueTooMany' }],
      ['a duplicate in a set', { tags: ['a', 'a'] }, { field: 'spec.tags[1]', reason: 'FieldValueDuplicate' }],
      [
        'a duplicate key in a map list',
        { ports: [{ name: 'a' }, { name: 'a' }] },
        { field: 'spec.ports[1]', reason: 'FieldValueDuplicate' },
      ],
      ['a missing field in a list item', { ports: [{ port: 1 }] }, { field: 'spec.ports[0].name', reason: 'FieldValueRequired' }],
      ['a value of a free-form map', { options: { a: 'x' } }, { field: 'spec.options.a', reason: 'FieldValueTypeInvalid' }],
      ['what a rule forbids', { size: 5, limit: 4 }, { field: 'spec', reason: 'FieldValueInvalid', message: /size is above limit/ }],
    ];
    for (const [what, spec, { field, reason, message }] of cases) {
      it(`refuses ${what}`, async () => {
        const answer = await post(spec);

        expect(answer.status, answer.text).to.equal(422);
        expect(answer.body).to.include({ kind: 'Status', status: 'Failure', reason: 'Invalid', code: 422 });
        expect(answer.body).to.have.nested.property('details.group', 'conformance.example.com');
        expect(answer.body).to.have.nested.property('details.kind', 'Widget');
        expect(answer.body).to.have.nested.property('details.causes[0].field', field);
        expect(answer.body).to.have.nested.property('details.causes[0].reason', reason);
        if (message) expect(answer.body).to.have.nested.property('details.causes[0].message').that.matches(message);
        expect(answer.body)
          .to.have.property('message')
          .that.matches(/^Widget\.conformance\.example\.com "w\d+" is invalid: /);
      });
    }

    it('refuses a missing required field', async () => {
      const { spec, ...without } = aWidget('without');
      const empty = await admin.post(widgets, { ...without, spec: {} });
      const absent = await admin.post(widgets, without);

      expect(spec).to.have.property('size');
      expect(empty.status).to.equal(422);
      expect(empty.body).to.have.nested.property('details.causes[0].field', 'spec.size');
      expect(empty.body).to.have.nested.property('details.causes[0].reason', 'FieldValueRequired');
      expect(empty.body).to.have.nested.property('details.causes[0].message').that.includes('Required value');
      expect(absent.body).to.have.nested.property('details.causes[0].field', 'spec');
    });

    it('reports every problem at once', async () => {
      const answer = await post({ size: -1, color: 'pink', code: 'abc' });

      expect(answer.body).to.have.nested.property('details.causes').that.has.length.at.least(3);
    });

    it('enforces a rule on the name', async () => {
      const answer = await admin.post(widgets, aWidget('reserved'));

      expect(answer.status).to.equal(422);
      expect(answer.body).to.have.nested.property('details.causes[0].message').that.includes('the name is taken');
    });

    it('refuses a transition that a rule forbids, while the first value is free', async () => {
      await admin.create(widgets, aWidget('moving'));
      expect((await admin.patch(`${widgets}/moving`, { spec: { origin: 'here' } })).status).to.equal(200);
      expect((await admin.patch(`${widgets}/moving`, { spec: { origin: 'here', size: 2 } })).status).to.equal(200);
      const answer = await admin.patch(`${widgets}/moving`, { spec: { origin: 'there' } });

      expect(answer.status).to.equal(422);
      expect(answer.body).to.have.nested.property('details.causes[0].field', 'spec.origin');
      expect(answer.body).to.have.nested.property('details.causes[0].message').that.includes('origin is immutable');
    });

    it('refuses null where it is not nullable and required', async () => {
      const answer = await post({ size: null });

      expect(answer.status).to.equal(422);
      expect(answer.body).to.have.nested.property('details.causes[0].field', 'spec.size');
    });
  });

  describe('with valid values', () => {
    const cases: [string, Record<string, unknown>][] = [
      ['a number at the limits', { size: 1000, limit: 1000, ratio: 0.5 }],
      ['an integer written as a float', { size: 2.0 }],
      ['a date-time with zone and fraction', { seen: '2026-01-02T03:04:05.678+02:00' }],
      ['lists within their bounds', { tags: ['a', 'b', 'c'], ports: [{ name: 'a' }, { name: 'b', port: 1 }] }],
      ['null where it is nullable', { note: null }],
      ['anything below a field that keeps unknown fields', { extra: { any: [{ thing: 1 }] } }],
      ['a string counted by its characters', { title: 'äöüßéèñç' }],
    ];
    for (const [what, spec] of cases) {
      it(`accepts ${what}`, async () => {
        const answer = await post(spec);

        expect(answer.status, answer.text).to.equal(201);
        for (const [field, value] of Object.entries(spec))
          if (field !== 'ports') expect(answer.body).to.have.deep.nested.property(`spec.${field}`, value);
      });
    }
  });

  describe('defaults', () => {
    it('fill in absent fields, also inside list items and objects that are there', async () => {
      const answer = await post({ ports: [{ name: 'web' }], nested: {} });

      expect(answer.body)
        .to.have.property('spec')
        .that.deep.includes({
          color: 'red',
          enabled: true,
          ports: [{ name: 'web', port: 80 }],
          nested: { flag: false },
        });
    });

    it('make no object that is not there', async () => {
      expect((await post({})).body).not.to.have.nested.property('spec.nested');
    });

    it('stand in for null', async () => {
      expect((await post({ color: null })).body).to.have.nested.property('spec.color', 'red');
    });

    it('leave a given value alone', async () => {
      expect((await post({ enabled: false })).body).to.have.nested.property('spec.enabled', false);
    });
  });

  describe('unknown fields', () => {
    it('are dropped', async () => {
      const answer = await post({ misspelt: 1, nested: { inner: 1 } });

      expect(answer.status).to.equal(201);
      expect(answer.body)
        .to.have.property('spec')
        .that.deep.equals({ size: 1, color: 'red', enabled: true, nested: { flag: false } });
    });

    it('are named in a Warning header with fieldValidation=Warn, and without it', async () => {
      for (const query of [{ fieldValidation: 'Warn' }, {}] as Record<string, string>[]) {
        const answer = await post({ misspelt: 1 }, query);

        expect(answer.status).to.equal(201);
        expect(answer.headers.warning).to.equal('299 - "unknown field \\"spec.misspelt\\""');
      }
    });

    it('are dropped, whatever they are called', async () => {
      for (const name of ['größe', '㏮', 'a\nb', 'a\u0085b']) expect((await post({ [name]: 1 })).status, name).to.equal(201);
    });

    it('are dropped in silence with fieldValidation=Ignore', async () => {
      const answer = await post({ misspelt: 1 }, { fieldValidation: 'Ignore' });

      expect(answer.status).to.equal(201);
      expect(answer.headers).not.to.have.property('warning');
    });

    it('are refused with fieldValidation=Strict', async () => {
      const answer = await post({ misspelt: 1, nested: { inner: 1 } }, { fieldValidation: 'Strict' });

      expect(answer.status).to.equal(400);
      expect(answer.body).to.include({ kind: 'Status', reason: 'BadRequest' });
      expect(answer.body)
        .to.have.property('message')
        .that.includes('strict decoding error: unknown field "spec.misspelt", unknown field "spec.nested.inner"');
    });

    it('are refused in a patch with fieldValidation=Strict', async () => {
      await admin.create(widgets, aWidget('strict'));
      const answer = await admin.send('PATCH', `${widgets}/strict`, {
        query: { fieldValidation: 'Strict' },
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { spec: { misspelt: 1 } },
      });

      expect(answer.status).to.equal(422);
      expect(answer.text).to.include('unknown field \\"spec.misspelt\\"');
    });

    it('are refused in a built-in object with fieldValidation=Strict', async () => {
      const answer = await admin.post(workspace.configMaps, { metadata: { name: 'odd' }, dada: {} }, { fieldValidation: 'Strict' });

      expect(answer.status).to.equal(400);
      expect(answer.body).to.have.property('message').that.includes('strict decoding error: unknown field "dada"');
    });

    it('make a bad fieldValidation 422', async () => {
      expect((await post({}, { fieldValidation: 'Maybe' })).status).to.equal(422);
    });
  });
});
