import { expect } from 'chai';
import { controlsPods, isPodOf, type Owned } from '../../../web/src/pages/cluster/sections/pod/pod-owner.ts';

const owned = (name: string, [kind = '', owner = ''], labels: Record<string, string> = {}, controller = true): Owned => ({
  metadata: { name, uid: `u-${name}`, labels, ownerReferences: [{ apiVersion: 'v1', kind, name: owner, uid: `u-${owner}`, controller }] },
});
const deployments = { group: 'apps', resource: 'deployments' };
const web = owned('web', []);

describe('the pods of a workload in the console', () => {
  const sets = [owned('web-1', ['Deployment', 'web']), owned('web-canary-1', ['Deployment', 'web-canary'])];
  const own = owned('web-1-a', ['ReplicaSet', 'web-1'], { 'pod-template-hash': '1' });
  const canary = owned('web-canary-1-a', ['ReplicaSet', 'web-canary-1'], { 'pod-template-hash': '1' });

  it('are those of the ReplicaSets of a Deployment', () => {
    const isOwn = isPodOf(deployments, web, sets);
    expect([own, canary, owned('web-1-b', []), owned('web-1-c', ['Deployment', 'web'])].map(isOwn)).to.deep.equal([
      true,
      false,
      false,
      false,
    ]);
  });

  it('are found by the names of ReplicaSets that the caller may not list', () => {
    const isOwn = isPodOf(deployments, web);
    expect([own, canary, owned('web-1-b', [])].map(isOwn)).to.deep.equal([true, false, false]);
  });

  it('belong to the workload alone that their controller reference names', () => {
    const isOwn = isPodOf({ group: 'apps', resource: 'statefulsets' }, web);
    expect([owned('a', ['StatefulSet', 'web']), owned('b', ['StatefulSet', 'web'], {}, false)].map(isOwn)).to.deep.equal([true, false]);
  });

  it('are selected by labels for kinds that control none', () => {
    expect(controlsPods({ group: '', resource: 'services' })).to.equal(false);
    expect(controlsPods(deployments)).to.equal(true);
  });
});
