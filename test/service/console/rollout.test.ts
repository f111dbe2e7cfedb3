import { rolloutOf } from '@atrium/objects/rollout.ts';
import { expect } from 'chai';
import type { ClusterObject } from '../../../web/src/api/object-types.ts';
import { selectedLabels } from '../../../web/src/pages/cluster/sections/selector.ts';
import { revisionsOf, rollbackPatch } from '../../../web/src/pages/cluster/sections/workload/revisions.ts';

const object = (kind: string, spec: object, status: object, metadata: object = {}): ClusterObject => ({
  ...{ apiVersion: 'apps/v1', kind, spec: { ...spec }, status: { ...status } },
  metadata: { name: 'web', resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z', generation: 2, ...metadata },
});
const all = (count: number) => ({
  ...{ observedGeneration: 2, replicas: count, updatedReplicas: count, readyReplicas: count, availableReplicas: count },
});
const late = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' };
const stuck = { conditions: [{ type: 'Progressing', status: 'False', message: 'timed out' }] };

describe('the rollout of a workload in the console', () => {
  const cases: [state: string, of: ClusterObject][] = [
    ['done', object('Deployment', { replicas: 3 }, all(3))],
    ['unseen', object('Deployment', { replicas: 3 }, { ...all(3), observedGeneration: 1 })],
    ['progressing', object('Deployment', { replicas: 3 }, { ...all(3), updatedReplicas: 1 })],
    ['progressing', object('Deployment', { replicas: 3 }, { ...all(3), replicas: 4 })],
    ['stuck', object('Deployment', { replicas: 3 }, { ...all(3), updatedReplicas: 1, ...stuck })],
    ['paused', object('Deployment', { replicas: 3, paused: true }, { ...all(3), updatedReplicas: 0 })],
    ['stopped', object('Deployment', { replicas: 0 }, { observedGeneration: 2 })],
    ['done', object('ReplicaSet', { replicas: 2 }, { ...all(2), updatedReplicas: undefined })],
    [
      'done',
      object(
        'DaemonSet',
        {},
        {
          observedGeneration: 2,
          ...{ desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 2, numberAvailable: 2 },
        },
      ),
    ],
  ];
  const updated = (count: number, updateStrategy: object) =>
    object('StatefulSet', { replicas: 3, updateStrategy }, { ...all(3), updatedReplicas: count });
  cases.push(
    // A rollout of a part is complete, and pods with OnDelete wait for their deletion.
    ['done', updated(1, { type: 'RollingUpdate', rollingUpdate: { partition: 2 } })],
    ['progressing', updated(0, { type: 'RollingUpdate', rollingUpdate: { partition: 2 } })],
    ['done', updated(0, { type: 'OnDelete' })],
    ['stuck', object('Deployment', { replicas: 3 }, { ...all(3), conditions: [late] })],
  );
  for (const [index, [state, of]] of cases.entries()) it(`is ${state} (${index})`, () => expect(rolloutOf(of).state).to.equal(state));

  it('says what the controller says of one that is stuck', () =>
    expect(rolloutOf(object('Deployment', { replicas: 3 }, { ...all(1), ...stuck })).message).to.equal('timed out'));

  it('has the ReplicaSets of the Deployment as revisions, and a patch that puts one back unless the Deployment has changed', () => {
    const key = 'deployment.kubernetes.io/revision';
    const deployment = object('Deployment', {}, {}, { uid: 'u', annotations: { [key]: '2' } });
    const set = (revision: number, uid: string, image: string) =>
      object(
        'ReplicaSet',
        { template: { metadata: { labels: { app: 'web', 'pod-template-hash': 'x' } }, spec: { containers: [{ image }] } } },
        { replicas: 1 },
        { name: `web-${revision}`, annotations: { [key]: String(revision) }, ownerReferences: [{ uid, controller: true }] },
      );
    const revisions = revisionsOf(deployment, [set(1, 'u', 'web:1'), set(2, 'u', 'web:2'), set(3, 'other', 'web:3')]);

    expect(revisions.map(({ number, isCurrent, images }) => [number, isCurrent, ...images])).to.deep.equal([
      [2, true, 'web:2'],
      [1, false, 'web:1'],
    ]);
    const [, first] = revisions;
    expect(first && rollbackPatch(deployment, first)).to.deep.equal([
      { op: 'test', path: '/metadata/generation', value: 2 },
      {
        op: 'replace',
        path: '/spec/template',
        value: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ image: 'web:1' }] } },
      },
      { op: 'add', path: '/metadata/annotations', value: { [key]: '2' } },
    ]);
  });

  it('puts back the annotations of a revision of a Deployment, except those of kubectl and the controller', () => {
    const own = {
      'kubectl.kubernetes.io/last-applied-configuration': 'new',
      'deployment.kubernetes.io/revision': '2',
      'deployment.kubernetes.io/revision-history': '1',
      'deployment.kubernetes.io/desired-replicas': '3',
      'deployment.kubernetes.io/max-replicas': '4',
      'deprecated.deployment.rollback.to': '1',
    };
    const old = Object.fromEntries(Object.keys(own).map((key) => [key, 'old']));
    const deployment = object(
      'Deployment',
      {},
      {},
      { uid: 'u', annotations: { ...own, 'kubernetes.io/change-cause': 'second', gone: '1' } },
    );
    const annotations = { ...old, 'kubernetes.io/change-cause': 'first', team: 'blue' };
    const set = object(
      'ReplicaSet',
      { template: { spec: {} } },
      {},
      { annotations: { ...annotations, 'deployment.kubernetes.io/revision': '1' }, ownerReferences: [{ uid: 'u', controller: true }] },
    );
    const [revision] = revisionsOf(deployment, [set]);
    expect(revision && rollbackPatch(deployment, revision).at(-1)).to.deep.equal({
      ...{ op: 'add', path: '/metadata/annotations' },
      value: { ...own, 'kubernetes.io/change-cause': 'first', team: 'blue' },
    });
  });

  it('leaves the annotations of a StatefulSet and a DaemonSet as they are, like kubectl', () => {
    for (const kind of ['StatefulSet', 'DaemonSet']) {
      const workload = object(kind, {}, {}, { uid: 'u', annotations: { 'kubernetes.io/change-cause': 'second' } });
      const held = {
        ...object('ControllerRevision', {}, {}, { ownerReferences: [{ uid: 'u', controller: true }], annotations: { team: 'blue' } }),
        ...{ revision: 1, data: { spec: { template: { $patch: 'replace', spec: {} } } } },
      };
      const [revision] = revisionsOf(workload, [held]);
      expect(revision && rollbackPatch(workload, revision).map((step) => (step as { path: string }).path)).to.deep.equal([
        ...['/metadata/generation', '/spec/template'],
      ]);
    }
  });

  it('selects pods by labels and expressions, and by nothing where there is no selector', () => {
    const of = (selector: unknown) => selectedLabels(object('Deployment', { selector }, {}));
    expect(of({ app: 'web' })).to.equal('app=web');
    expect(of({ matchLabels: { app: 'web' }, matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['a', 'b'] }] })).to.equal(
      'app=web,tier notin (a,b)',
    );
    expect(
      of({
        matchExpressions: [
          { key: 'x', operator: 'Exists' },
          { key: 'y', operator: 'DoesNotExist' },
        ],
      }),
    ).to.equal('x,!y');
    for (const none of [undefined, {}, { matchExpressions: [{ key: 'x', operator: 'Gt', values: ['1'] }] }]) expect(of(none)).to.equal('');
  });
});
