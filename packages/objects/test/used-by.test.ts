import { usersOf } from '@atrium/objects/used-by.ts';
import { expect } from 'chai';

const labels = { app: 'web' };
const spec = { serviceAccountName: 'robot', volumes: [{ name: 'keys', secret: { secretName: 'keys' } }] };
const workload = { kind: 'Deployment', metadata: { name: 'web' }, spec: { template: { metadata: { labels }, spec } } };
const pod = { kind: 'Pod', metadata: { name: 'web-1', labels, ownerReferences: [{ kind: 'ReplicaSet', name: 'web' }] }, spec };
const bare = { kind: 'Pod', metadata: { name: 'bare', labels }, spec };
const ingress = { kind: 'Ingress', metadata: { name: 'shop' }, spec: { tls: [{ secretName: 'keys' }] } };
const account = { kind: 'ServiceAccount', metadata: { name: 'robot' }, imagePullSecrets: [{ name: 'keys' }] };
const other = { kind: 'Pod', metadata: { name: 'other' }, spec: {} };

describe('users of an object', () => {
  const read = [workload, pod, bare, ingress, account, other];

  it('are workloads with their pods counted, bare pods, Ingresses and accounts', () => {
    expect(usersOf({ kind: 'Secret', name: 'keys' }, read)).to.deep.equal([
      { object: workload, by: ['volume keys'], pods: 1 },
      { object: ingress, by: ['tls'], pods: 0 },
      { object: account, by: ['imagePullSecrets'], pods: 0 },
      { object: bare, by: ['volume keys'], pods: 0 },
    ]);
  });

  it('have the account of their pods, which is default if none is named', () => {
    expect(usersOf({ kind: 'ServiceAccount', name: 'robot' }, read).map(({ object }) => object)).to.deep.equal([workload, bare]);
    expect(usersOf({ kind: 'ServiceAccount', name: 'default' }, read).map(({ object }) => object)).to.deep.equal([other]);
    expect(usersOf({ kind: 'ConfigMap', name: 'keys' }, read)).to.deep.equal([]);
  });
});
