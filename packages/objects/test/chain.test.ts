import { type Chain, chainOf } from '@atrium/objects/chain.ts';
import { backendsOf, certificatesOf, referencesOf, secretsOf } from '@atrium/objects/references.ts';
import { expect } from 'chai';

const labels = { app: 'web' };
const object = (apiVersion: string, kind: string, name: string, more: object = {}) => ({
  apiVersion,
  kind,
  metadata: { name, uid: `uid-${name}` },
  ...more,
});
const owned = (by: { kind: string; metadata: { name: string; uid: string } }, name: string) => ({
  metadata: {
    ...{ name, uid: `uid-${name}`, labels },
    ownerReferences: [{ kind: by.kind, name: by.metadata.name, uid: by.metadata.uid, controller: true }],
  },
});

const podSpec = {
  containers: [
    {
      name: 'web',
      envFrom: [{ configMapRef: { name: 'settings' } }],
      env: [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'a' } } }],
    },
  ],
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
};
const ingress = object('networking.k8s.io/v1', 'Ingress', 'shop', {
  spec: {
    tls: [{ secretName: 'shop-tls' }],
    rules: [{ http: { paths: [{ backend: { service: { name: 'web' } } }, { backend: { service: { name: 'gone' } } }] } }],
  },
});
const service = object('v1', 'Service', 'web', { spec: { selector: labels } });
const other = object('v1', 'Service', 'other', { spec: { selector: { app: 'other' } } });
const deployment = object('apps/v1', 'Deployment', 'web', { spec: { template: { metadata: { labels }, spec: podSpec } } });
const set = (name: string, replicas: number) =>
  object('apps/v1', 'ReplicaSet', name, { ...owned(deployment, name), spec: { replicas }, status: { replicas } });
const [current, old] = [set('web-2', 3), set('web-1', 0)];
const pod = (name: string, isReady = true) =>
  object('v1', 'Pod', name, {
    ...owned(current, name),
    spec: podSpec,
    status: {
      phase: 'Running',
      containerStatuses: [{ name: 'web', ready: isReady, state: isReady ? { running: {} } : { waiting: { reason: 'CrashLoopBackOff' } } }],
    },
  });
const claim = object('v1', 'PersistentVolumeClaim', 'data', { status: { phase: 'Pending' } });

const idsOf = ({ nodes }: Chain) => nodes.map(({ id }) => id);
const paths = ({ edges }: Chain) => edges.map(([from, to]) => `${from} > ${to}`).sort();

describe('the chain of an object', () => {
  const read = [ingress, service, other, deployment, current, old, pod('a'), pod('b', false), claim];
  const whole = ['Ingress/shop', 'Service/web', 'Deployment/web', 'ReplicaSet/web-2', 'Pod/a', 'Pod/b'];
  const used = ['ConfigMap/settings', 'Secret/keys', 'PersistentVolumeClaim/data'];

  it('leads from the Ingress to the pods of a Deployment and to their references', () => {
    const chain = chainOf(deployment, read);

    expect(idsOf(chain)).to.have.members([...whole, ...used]);
    expect(paths(chain)).to.deep.equal([
      'Deployment/web > ReplicaSet/web-2',
      'Ingress/shop > Service/web',
      'ReplicaSet/web-2 > frame/ReplicaSet/web-2',
      'Service/web > Deployment/web',
      'frame/ReplicaSet/web-2 > ConfigMap/settings',
      'frame/ReplicaSet/web-2 > PersistentVolumeClaim/data',
      'frame/ReplicaSet/web-2 > Secret/keys',
    ]);
    const states = Object.fromEntries(chain.nodes.map(({ id, state }) => [id, state?.word]));
    expect(states).to.include({ 'Pod/b': 'CrashLoopBackOff', 'PersistentVolumeClaim/data': 'Pending', 'ConfigMap/settings': undefined });
  });

  it('is the same for the Service, and has all backends of the Ingress', () => {
    expect(idsOf(chainOf(service, read))).to.have.members([...whole, ...used]);
    const chain = chainOf(ingress, read);
    expect(idsOf(chain)).to.have.members([...whole, ...used, 'Service/gone', 'Secret/shop-tls']);
    expect(chain.nodes.find(({ id }) => id === 'Service/gone')?.state).to.equal(undefined);
  });

  it('groups many pods, and shows those that are not ready', () => {
    const pods = Array.from({ length: 47 }, (_, index) => pod(`p${index}`, index > 1));
    const chain = chainOf(deployment, [current, ...pods]);
    const group = chain.nodes.find(({ pods: some }) => some !== undefined);

    expect(group?.pods).to.deep.equal({ count: 47, unready: 2, owner: 'ReplicaSet/web-2' });
    expect(group?.state?.tone).to.equal('bad');
    expect(idsOf(chain).filter((id) => id.startsWith('Pod/'))).to.have.members(['Pod/p0', 'Pod/p1']);
  });

  it('has the references of a template that has no pods', () => {
    expect(paths(chainOf(deployment, []))).to.include('Deployment/web > ConfigMap/settings');
  });

  it('leads from a CronJob by its Jobs to their pods', () => {
    const cron = object('batch/v1', 'CronJob', 'nightly', { spec: { jobTemplate: { spec: { template: { spec: podSpec } } } } });
    const job = object('batch/v1', 'Job', 'nightly-1', owned(cron, 'nightly-1'));
    const run = object('v1', 'Pod', 'nightly-1-x', owned(job, 'nightly-1-x'));

    expect(paths(chainOf(cron, [job, run]))).to.deep.equal(['CronJob/nightly > Job/nightly-1', 'Job/nightly-1 > Pod/nightly-1-x']);
    expect(paths(chainOf(job, [cron, run]))).to.deep.equal(['CronJob/nightly > Job/nightly-1', 'Job/nightly-1 > Pod/nightly-1-x']);
  });

  it('is bounded, and read from objects without members', () => {
    const services = Array.from({ length: 100 }, (_, index) => object('v1', 'Service', `s${index}`, { spec: { selector: labels } }));
    expect(chainOf(deployment, services).nodes.length).to.be.below(20);
    expect(chainOf({}, [undefined, {}, { kind: 'Pod' }]).nodes).to.have.lengthOf(1);
  });

  it('counts the objects of each kind past the bound of a column, and leads to them', () => {
    const names = Array.from({ length: 15 }, (_, index) => `c${index}`);
    const envFrom = names.flatMap((name) => [{ configMapRef: { name } }, { secretRef: { name } }]);
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    const spec = { template: { spec: { containers: [{ name: 'web', envFrom }], volumes } } };
    const chain = chainOf(object('apps/v1', 'Deployment', 'web', { spec }), [claim]);
    const rest = chain.nodes.filter(({ more }) => more !== undefined);

    expect(rest.map(({ kind, more, state }) => [kind, more, state?.word])).to.deep.equal([
      ['ConfigMap', 3, undefined],
      ['Secret', 15, undefined],
      ['PersistentVolumeClaim', 1, 'Pending'],
    ]);
    expect(paths(chain).filter((path) => path.includes('More/'))).to.deep.equal(
      ['ConfigMap', 'PersistentVolumeClaim', 'Secret'].map((kind) => `Deployment/web > More/${kind}`),
    );
    expect(chain.nodes).to.have.lengthOf(1 + 12 + 3);
  });
});

describe('references of an object', () => {
  it('are those of env, envFrom, volumes, projections and pull secrets', () => {
    const spec = {
      ...podSpec,
      initContainers: [{ name: 'init', env: [{ name: 'MODE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'mode' } } }] }],
      imagePullSecrets: [{ name: 'registry' }],
      serviceAccountName: 'robot',
      volumes: [
        { name: 'all', projected: { sources: [{ secret: { name: 'keys' } }, { configMap: { name: 'ca' } }, { serviceAccountToken: {} }] } },
        { name: 'tls', secret: { secretName: 'tls' } },
        { name: 'scratch', ephemeral: { volumeClaimTemplate: {} } },
        { name: 'vault', csi: { nodePublishSecretRef: { name: 'vault' } } },
      ],
    };

    expect(referencesOf(object('v1', 'Pod', 'web-0', { spec }))).to.deep.equal([
      { kind: 'ConfigMap', name: 'ca', by: ['volume all'] },
      { kind: 'ConfigMap', name: 'settings', by: ['env MODE', 'envFrom'] },
      { kind: 'Secret', name: 'keys', by: ['env KEY', 'volume all'] },
      { kind: 'Secret', name: 'registry', by: ['imagePullSecrets'] },
      { kind: 'Secret', name: 'tls', by: ['volume tls'] },
      { kind: 'Secret', name: 'vault', by: ['volume vault'] },
      { kind: 'PersistentVolumeClaim', name: 'web-0-scratch', by: ['volume scratch'] },
      { kind: 'ServiceAccount', name: 'robot', by: ['serviceAccountName'] },
    ]);
  });

  it('name the account default, certificates, backends and secrets of an account', () => {
    expect(referencesOf({ kind: 'Pod', spec: {} })).to.deep.equal([
      { kind: 'ServiceAccount', name: 'default', by: ['serviceAccountName'] },
    ]);
    expect(referencesOf(object('v1', 'Service', 'web'))).to.deep.equal([]);
    expect(certificatesOf(ingress)).to.deep.equal([{ kind: 'Secret', name: 'shop-tls', by: ['tls'] }]);
    expect(backendsOf(ingress)).to.deep.equal(['web', 'gone']);
    expect(secretsOf({ imagePullSecrets: [{ name: 'registry' }] })).to.deep.equal([
      { kind: 'Secret', name: 'registry', by: ['imagePullSecrets'] },
    ]);
  });
});
