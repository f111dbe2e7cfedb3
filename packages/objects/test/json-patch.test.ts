import { checkTests, describedPatch, jsonPatchType, mergePatchOf, patchTypes } from '@atrium/objects/json-patch.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { z } from 'zod';

const kind = { group: 'example.org', kind: 'Thing' };
const served = {
  metadata: { name: 'a', labels: { 'example.org/team': 'shop', 'a~b': 'tilde', '': 'empty', '-': 'dash' } },
  spec: { size: 1, title: null, tags: ['a', { name: 'b' }], 0: 'member' },
};

const patchOf = (...operations: object[]) => mergePatchOf(operations, kind).patch;
const refusalOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
  return undefined;
};
const set = (path: string, value: unknown = 'x', op = 'add') => ({ op, path, value });
const holds = (...tests: [path: string, value: unknown][]) =>
  refusalOf(() =>
    checkTests(
      served,
      mergePatchOf(
        tests.map(([path, value]) => set(path, value, 'test')),
        kind,
      ).tests,
      { ...kind, name: 'a' },
    ),
  );

describe('a JSON Patch (RFC 6902)', () => {
  it('becomes a merge patch by add and replace, in their order', () => {
    expect(patchOf(set('/spec/size', 2), set('/spec/title', 'new', 'replace'), set('/metadata/labels', { a: 'b' }))).to.deep.equal({
      spec: { size: 2, title: 'new' },
      metadata: { labels: { a: 'b' } },
    });
    expect(patchOf(set('/spec/size', 2), set('/spec/size', 3))).to.deep.equal({ spec: { size: 3 } });
    expect(patchOf(set('/spec', { size: 2 }), set('/spec/title', 'new'))).to.deep.equal({ spec: { size: 2, title: 'new' } });
    expect(patchOf(set('/spec/title', 'new'), set('/spec', { size: 2 }))).to.deep.equal({ spec: { size: 2 } });
    expect(patchOf()).to.deep.equal({});
  });

  it('unescapes the segments of a path once (RFC 6901, section 4)', () => {
    for (const [path, name] of [
      ['/example.org~1team', 'example.org/team'],
      ['/a~0b', 'a~b'],
      ['/a~01', 'a~1'],
      ['/~00', '~0'],
      ['/', ''],
      ['/%2F', '%2F'],
    ] as const)
      expect(patchOf(set(path)), path).to.deep.equal({ [name]: 'x' });
    expect(patchOf(set('/a//b'))).to.deep.equal({ a: { '': { b: 'x' } } });
  });

  it('has members like any other for names that JavaScript knows', () => {
    const { patch } = mergePatchOf(
      JSON.parse('[{"op":"add","path":"/__proto__/polluted","value":true},{"op":"add","path":"/constructor","value":1}]'),
      kind,
    );
    expect(Object.keys(patch)).to.deep.equal(['__proto__', 'constructor']);
    expect({}).not.to.have.property('polluted');
    expect(holds(['/spec/toString/name', 'toString'])?.code).to.equal(422);
  });

  it('names members of lists, which a merge patch cannot change, as members of an object that the schema refuses', () => {
    expect(patchOf(set('/spec/tags/0'), set('/spec/tags/-'))).to.deep.equal({ spec: { tags: { 0: 'x', '-': 'x' } } });
    expect(patchOf(set('/spec/tags', ['x']))).to.deep.equal({ spec: { tags: ['x'] } });
  });

  it('is refused with 400 where its form is wrong, by the operation', () => {
    for (const [body, message] of [
      [{}, 'must be an array'],
      [null, 'must be an array'],
      ['[]', 'must be an array'],
      [[set('/a'), 'add'], 'operation 1 of the JSON Patch must have op and path'],
      [[{ op: 'add', value: 1 }], 'operation 0 of the JSON Patch must have op and path'],
      [[{ path: '/a', value: 1 }], 'operation 0 of the JSON Patch must have op and path'],
      [[{ op: 'add', path: ['a'], value: 1 }], 'operation 0 of the JSON Patch must have op and path'],
      [[{ op: 'add', path: '/a' }], 'operation 0 of the JSON Patch must have a value'],
      [[{ op: 'test', path: '/a' }], 'operation 0 of the JSON Patch must have a value'],
      [[set('')], 'the path of operation 0 must be a JSON Pointer to a member'],
      [[set('spec/size')], 'the path of operation 0 must be a JSON Pointer to a member'],
      [[set('#/spec')], 'the path of operation 0 must be a JSON Pointer to a member'],
      [[set(`/${'a'.repeat(4096)}`)], 'the path of operation 0 is longer than 4096 characters'],
      [[set('/a'.repeat(101))], 'the path of operation 0 is deeper than 100 levels'],
    ] as const) {
      const refusal = refusalOf(() => mergePatchOf(body, kind));
      expect(refusal, message).to.include({ code: 400, reason: 'BadRequest' });
      expect(refusal?.message).to.include(message);
    }
    expect(refusalOf(() => mergePatchOf([set('/a'.repeat(100))], kind))).to.equal(undefined);
  });

  it('is refused with 422 for operations that a merge patch cannot express, with the supported ones', () => {
    for (const op of ['remove', 'move', 'copy', 'merge', '', 'ADD']) {
      const refusal = refusalOf(() => mergePatchOf([set('/a'), { op, path: '/a', from: '/b', value: 1 }], kind));
      expect(refusal, op).to.include({ code: 422, reason: 'Invalid' });
      expect(refusal?.details?.causes).to.have.lengthOf(1);
      expect(refusal?.details?.causes?.[0]).to.include({ reason: 'FieldValueNotSupported', field: '[1].op' });
      expect(refusal?.details?.causes?.[0]?.message).to.include('"add", "replace", "test"');
    }
  });
});

describe('the tests of a JSON Patch', () => {
  it('change nothing, and know their operation', () => {
    const { patch, tests } = mergePatchOf([set('/spec/size', 2), set('/spec/title', null, 'test')], kind);
    expect(patch).to.deep.equal({ spec: { size: 2 } });
    expect(tests).to.deep.equal([{ path: ['spec', 'title'], value: null, index: 1 }]);
  });

  it('hold for equal values of each type (RFC 6902, section 4.6)', () => {
    expect(
      holds(
        ['/spec/size', 1],
        ['/spec/title', null],
        ['/spec/tags', ['a', { name: 'b' }]],
        ['/metadata/labels', { '-': 'dash', '': 'empty', 'a~b': 'tilde', 'example.org/team': 'shop' }],
        ['/metadata/labels/example.org~1team', 'shop'],
        ['/metadata/labels/a~0b', 'tilde'],
        ['/metadata/labels/', 'empty'],
        ['/metadata/labels/-', 'dash'],
        ['/spec/0', 'member'],
      ),
    ).to.equal(undefined);
  });

  it('reach into lists by an index (RFC 6901, section 4)', () => {
    expect(holds(['/spec/tags/0', 'a'], ['/spec/tags/1/name', 'b'])).to.equal(undefined);
    for (const segment of ['2', '-', '00', '01', '-1', '1.0', '1e0', '+1', ' 1', 'length'])
      expect(holds([`/spec/tags/${segment}`, 'a'])?.code, segment).to.equal(422);
  });

  it('hold for null where an object lacks the member, as on the API server', () => {
    expect(holds(['/spec/absent', null], ['/absent', null], ['/spec/tags/1/title', null])).to.equal(undefined);
    for (const path of ['/absent/deep', '/spec/size/deep', '/spec/tags/2', '/spec/tags/-', '/spec/size'])
      expect(holds([path, null])?.code, path).to.equal(422);
  });

  it('fail for another value, type or member, all in one answer', () => {
    const refusal = holds(
      ['/spec/size', 2],
      ['/spec/size', 1],
      ['/spec/size', '1'],
      ['/spec/size/deep', 1],
      ['/absent', 'x'],
      ['/spec/tags', ['a']],
    );
    expect(refusal).to.include({ code: 422, reason: 'Invalid' });
    expect(refusal?.details).to.include({ name: 'a', group: 'example.org', kind: 'Thing' });
    expect(refusal?.details?.causes?.map(({ field, reason }) => `${field} ${reason}`)).to.deep.equal(
      [0, 2, 3, 4, 5].map((index) => `[${index}] FieldValueInvalid`),
    );
  });
});

describe('the description of a patch', () => {
  it('has an example of each media type with the same meaning', () => {
    const example = [{ op: 'replace' as const, path: '/spec/size', value: 2 }];
    const described = describedPatch(z.object({}), example);
    expect(Object.keys(described)).to.deep.equal([...patchTypes]);
    for (const type of patchTypes)
      expect(described[type]?.meta()?.examples, type).to.deep.equal([type === jsonPatchType ? example : { spec: { size: 2 } }]);
  });
});
