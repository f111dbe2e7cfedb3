import { expect } from 'chai';
import { objectOf } from './api-client.ts';
import { aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

describe('patch', () => {
  const { admin, widgets, configMaps } = suiteWorkspace();

  it('merges objects, replaces lists and takes null for removal (RFC 7396)', async () => {
    await admin.create(widgets, aWidget('merged', { tags: ['a', 'b'], options: { x: 1, y: 2 }, title: 'old' }));
    const answer = await admin.patch(`${widgets}/merged`, { spec: { tags: ['c'], options: { x: null, z: 3 }, title: null } });

    expect(answer.status).to.equal(200);
    expect(answer.body).to.deep.include({
      spec: { size: 1, color: 'red', enabled: true, tags: ['c'], options: { y: 2, z: 3 } },
    });
  });

  it('applies a list of operations (RFC 6902)', async () => {
    await admin.create(configMaps, { metadata: { name: 'operated' }, data: { a: '1', b: '2' } });
    await admin.patch(`${configMaps}/operated`, { metadata: { annotations: { 'example.com/x': '1' } } });
    const answer = await admin.patch(
      `${configMaps}/operated`,
      [
        { op: 'test', path: '/data/a', value: '1' },
        { op: 'replace', path: '/data/a', value: '3' },
        { op: 'remove', path: '/data/b' },
        { op: 'replace', path: '/metadata/annotations/example.com~1x', value: '2' },
        { op: 'add', path: '/metadata/labels', value: { added: 'yes' } },
        { op: 'copy', from: '/data/a', path: '/data/copy' },
      ],
      'json',
    );

    expect(answer.status).to.equal(200);
    expect(answer.body).to.have.property('data').that.deep.equals({ a: '3', copy: '3' });
    expect(objectOf(answer).metadata).to.deep.include({ labels: { added: 'yes' }, annotations: { 'example.com/x': '2' } });
  });

  it('answers 422 to an operation that fails, and changes nothing', async () => {
    const created = await admin.create(configMaps, { metadata: { name: 'tested' }, data: { a: '1' } });
    const operations = [
      { op: 'replace', path: '/data/a', value: '2' },
      { op: 'test', path: '/data/a', value: 'other' },
    ];
    const answer = await admin.patch(`${configMaps}/tested`, operations, 'json');

    expect(answer.status).to.equal(422);
    expect(answer.body).to.include({ kind: 'Status', reason: 'Invalid' });
    expect(await admin.read(`${configMaps}/tested`)).to.deep.equal(created);
    const missing = await admin.patch(`${configMaps}/tested`, [{ op: 'remove', path: '/data/zzz' }], 'json');
    expect(missing.status).to.equal(422);
  });

  it('answers 422 to the uid of another object, and changes nothing', async () => {
    const created = await admin.create(configMaps, { metadata: { name: 'recreated' }, data: { a: '1' } });
    const answer = await admin.patch(`${configMaps}/recreated`, { metadata: { uid: 'of-the-former' }, data: { a: '2' } });

    expect(answer.status).to.equal(422);
    expect(answer.body)
      .to.have.nested.property('details.causes')
      .that.deep.include({
        ...{ reason: 'FieldValueInvalid', field: 'metadata.uid' },
        message: 'Invalid value: "of-the-former": field is immutable',
      });
    expect(await admin.read(`${configMaps}/recreated`)).to.deep.equal(created);
    const same = { metadata: { uid: created.metadata.uid }, data: { a: '2' } };
    expect((await admin.patch(`${configMaps}/recreated`, same)).status).to.equal(200);
  });

  const tags = ['a', 'b'];
  for (const [what, operations, wanted] of [
    ['adds before an index', [{ op: 'add', path: '/spec/tags/1', value: 'x' }], ['a', 'x', 'b']],
    ['adds at the end by -', [{ op: 'add', path: '/spec/tags/-', value: 'x' }], ['a', 'b', 'x']],
    ['adds at the index after the last', [{ op: 'add', path: '/spec/tags/2', value: 'x' }], ['a', 'b', 'x']],
    [
      'replaces and removes by index',
      [
        { op: 'replace', path: '/spec/tags/0', value: 'x' },
        { op: 'remove', path: '/spec/tags/1' },
      ],
      ['x'],
    ],
    [
      'tests an item and a whole list',
      [
        { op: 'test', path: '/spec/tags/1', value: 'b' },
        { op: 'test', path: '/spec/tags', value: tags },
      ],
      tags,
    ],
    [
      'tests what an operation before has changed',
      [
        { op: 'replace', path: '/spec/tags/0', value: 'x' },
        { op: 'test', path: '/spec/tags/0', value: 'x' },
      ],
      ['x', 'b'],
    ],
    ['tests null for a member that does not exist', [{ op: 'test', path: '/spec/title', value: null }], tags],
    ['moves an item', [{ op: 'move', from: '/spec/tags/0', path: '/spec/tags/1' }], ['b', 'a']],
  ] as const)
    it(`${what}, in a JSON Patch`, async () => {
      const name = `list-${what.replaceAll(/[^a-z]+/g, '-')}x`;
      await admin.create(widgets, aWidget(name, { tags }));
      const answer = await admin.patch(`${widgets}/${name}`, [...operations], 'json');

      expect(answer.status, answer.text).to.equal(200);
      expect(answer.body).to.have.nested.property('spec.tags').that.deep.equals(wanted);
    });

  for (const [what, operation] of [
    ['an index beyond the end', { op: 'add', path: '/spec/tags/3', value: 'x' }],
    ['a test of an index beyond the end', { op: 'test', path: '/spec/tags/2', value: 'x' }],
    ['a test of -', { op: 'test', path: '/spec/tags/-', value: 'b' }],
    ['a test for null below a member that does not exist', { op: 'test', path: '/spec/title/deep', value: null }],
    ['a test for null of an index beyond the end', { op: 'test', path: '/spec/tags/2', value: null }],
    ['a test of another item', { op: 'test', path: '/spec/tags/0', value: 'b' }],
    ['a list index that is a word', { op: 'add', path: '/spec/tags/first', value: 'x' }],
    ['a parent that does not exist', { op: 'add', path: '/spec/options/deep/er', value: 'x' }],
    ['a test of a member that does not exist', { op: 'test', path: '/spec/title', value: 'x' }],
    ['an unknown operation', { op: 'merge', path: '/spec/title', value: 'x' }],
  ] as const)
    it(`answers 422 to ${what}`, async () => {
      const name = `refused-${what.replaceAll(/[^a-z]+/g, '-')}x`;
      const created = await admin.create(widgets, aWidget(name, { tags }));
      const answer = await admin.patch(`${widgets}/${name}`, [operation], 'json');

      expect(answer.status, answer.text).to.equal(422);
      expect(answer.body).to.include({ kind: 'Status', reason: 'Invalid' });
      expect(await admin.read(`${widgets}/${name}`)).to.deep.equal(created);
    });

  it('answers 409 for a stale resourceVersion in the patch', async () => {
    const created = await admin.create(configMaps, { metadata: { name: 'stale' }, data: { a: '1' } });
    await admin.patch(`${configMaps}/stale`, { data: { a: '2' } });
    const { resourceVersion } = created.metadata;
    const answer = await admin.patch(`${configMaps}/stale`, { metadata: { resourceVersion }, data: { a: '3' } });

    expect(answer.status).to.equal(409);
    expect(answer.body).to.have.property('reason', 'Conflict');
  });

  it('answers 404 for an object that does not exist', async () => {
    expect((await admin.patch(`${configMaps}/missing`, {})).status).to.equal(404);
  });

  it('validates the result', async () => {
    await admin.create(widgets, aWidget('checked'));
    const answer = await admin.patch(`${widgets}/checked`, { spec: { size: 'large' } });

    expect(answer.status).to.equal(422);
    expect(answer.body).to.have.nested.property('details.causes[0].field', 'spec.size');
  });

  it('cannot rename or move an object', async () => {
    await admin.create(configMaps, { metadata: { name: 'fixed' } });

    expect((await admin.patch(`${configMaps}/fixed`, { metadata: { name: 'other' } })).status).to.be.oneOf([400, 422]);
    expect((await admin.patch(`${configMaps}/fixed`, { metadata: { namespace: 'default' } })).status).to.equal(400);
  });

  it('answers 400 to a patch that is not JSON', async () => {
    await admin.create(configMaps, { metadata: { name: 'broken' } });
    for (const type of ['merge', 'json'] as const) {
      const answer = await admin.patch(`${configMaps}/broken`, '{"data":', type);

      expect(answer.status).to.equal(400);
      expect(answer.body).to.include({ kind: 'Status', reason: 'BadRequest' });
    }
  });

  it('answers 415 to a strategic merge patch of a custom resource, naming the accepted types', async () => {
    await admin.create(widgets, aWidget('strategic'));
    const answer = await admin.patch(`${widgets}/strategic`, { spec: { size: 2 } }, 'strategic');

    expect(answer.status).to.equal(415);
    expect(answer.body).to.include({ kind: 'Status', reason: 'UnsupportedMediaType', code: 415 });
    expect(answer.body)
      .to.have.property('message')
      .that.matches(
        /^the body of the request was in an unknown format - accepted media types include: application\/json-patch\+json, application\/merge-patch\+json/,
      );
  });

  it('takes a strategic merge patch of a built-in object', async () => {
    await admin.create(configMaps, { metadata: { name: 'woven' }, data: { a: '1', b: '2' } });
    const answer = await admin.patch(`${configMaps}/woven`, { data: { a: null, c: '3' } }, 'strategic');

    expect(answer.status).to.equal(200);
    expect(answer.body).to.deep.include({ data: { b: '2', c: '3' } });
  });

  it('merges lists of a strategic merge patch item by item, as their kind says', async () => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    const named = (names: string) => names.split(' ').map((name) => ({ name }));
    await admin.create(accounts, { metadata: { name: 'strategic', finalizers: ['example.com/a'] }, secrets: named('a b c') });
    const steps: [patch: object, secrets: object[]][] = [
      [{ secrets: named('d') }, named('d a b c')],
      [{ secrets: [{ $patch: 'delete', name: 'b' }] }, named('d a c')],
      [{ '$setElementOrder/secrets': named('c a d') }, named('c a d')],
      [{ secrets: [{ $patch: 'replace' }, ...named('e f')] }, named('e f')],
    ];
    for (const [patch, secrets] of steps) {
      const answer = await admin.patch(`${accounts}/strategic`, patch, 'strategic');
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.body).to.have.property('secrets').that.has.deep.members(secrets);
    }
    const more = await admin.patch(`${accounts}/strategic`, { metadata: { finalizers: ['example.com/b'] } }, 'strategic');
    expect(more.body).to.have.nested.property('metadata.finalizers').that.has.members(['example.com/a', 'example.com/b']);
    const fewer = { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a', 'example.com/b'] } };
    expect((await admin.patch(`${accounts}/strategic`, fewer, 'strategic')).body).to.not.have.nested.property('metadata.finalizers');
    expect((await admin.patch(`${accounts}/strategic`, { secrets: [{ key: 'g' }] }, 'strategic')).status).to.be.at.least(400);
  });

  it('answers 415 to a patch without a patch type', async () => {
    await admin.create(configMaps, { metadata: { name: 'typeless' } });
    const answer = await admin.send('PATCH', `${configMaps}/typeless`, { body: {} });

    expect(answer.status).to.equal(415);
    expect(answer.body).to.include({ reason: 'UnsupportedMediaType' });
  });
});
