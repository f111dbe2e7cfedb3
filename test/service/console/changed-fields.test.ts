import { expect } from 'chai';
import { changedFieldsOf } from '../../../web/src/pages/activity/changed-fields.ts';

const type = (name: string) => `application/${name}-patch+json`;
const fieldsOf = (body: unknown, patchType?: string, changes?: { field: string; from?: number; to: number }[]) =>
  changedFieldsOf({ requestObject: JSON.stringify(body), ...(patchType && { patchType }), ...(changes && { changes }) });

describe('changed fields of an audit event', () => {
  it('are those of a merge patch, with null for removed fields and whole lists', () => {
    const metadata = { name: 'cart', labels: { tier: null, 'example.com/team': 'shop' } };
    expect(fieldsOf({ metadata, spec: { ports: [1, 2], paused: true } }, type('merge'))).to.deep.equal([
      { field: 'metadata.labels.tier' },
      { field: 'metadata.labels["example.com/team"]', after: 'shop' },
      { field: 'spec.ports', after: '[1,2]' },
      { field: 'spec.paused', after: 'true' },
    ]);
  });

  it('have a value before the write where the event knows it', () => {
    const changes = [{ field: 'spec.replicas', from: 2, to: 5 }];
    expect(fieldsOf({ spec: { replicas: 5 } }, type('merge'), changes)).to.deep.equal([
      { field: 'spec.replicas', before: '2', after: '5' },
    ]);
    expect(fieldsOf({ spec: { replicas: 5 } }, type('merge'))).to.deep.equal([{ field: 'spec.replicas', after: '5' }]);
    const replace = { op: 'replace', path: '/rules/0/verbs/-', value: 'get' };
    const test = { op: 'test', path: '/rules/0/verbs/-', value: 'list' };
    expect(fieldsOf([test, replace, replace], type('json'))).to.deep.equal([
      { field: 'rules[0].verbs[-]', before: 'list', after: 'get' },
      { field: 'rules[0].verbs[-]', after: 'get' },
    ]);
  });

  it('name the elements that a strategic merge patch merges by name', () => {
    const containers = [
      { name: 'cart', image: 'cart:2' },
      { name: 'old', $patch: 'delete' },
    ];
    const patch = { spec: { '$setElementOrder/containers': [{ name: 'cart' }], containers } };
    expect(fieldsOf(patch, type('strategic-merge'))).to.deep.equal([
      { field: 'spec.containers[cart].image', after: 'cart:2' },
      { field: 'spec.containers[old]' },
    ]);
    expect(fieldsOf(patch, type('merge'))?.at(-1)?.after).to.equal(JSON.stringify(containers));
  });

  it('leave out the copy of the object that kubectl apply keeps', () => {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', a: 'b' };
    expect(fieldsOf({ metadata: { annotations } }, type('merge'))).to.deep.equal([{ field: 'metadata.annotations.a', after: 'b' }]);
  });

  it('read each operation of a JSON Patch', () => {
    const ops = [
      { op: 'remove', path: '/metadata/labels/example.com~1team' },
      { op: 'move', from: '/a', path: '/b' },
      null,
      { op: 'add', path: '/c', value: '' },
    ];
    expect(fieldsOf(ops)).to.deep.equal([
      { field: 'metadata.labels["example.com/team"]' },
      { field: 'b', after: 'move a' },
      { field: 'c', after: '""' },
    ]);
  });

  it('are not known for a whole object', () => {
    expect(fieldsOf({ kind: 'ClusterRole' })).to.equal(undefined);
    expect(changedFieldsOf({ requestObject: 'not JSON' })).to.equal(undefined);
  });
});
