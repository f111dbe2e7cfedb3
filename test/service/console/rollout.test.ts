import { expect } from 'chai';
import type { ClusterObject } from '../../../web/src/api/object-types.ts';
import { revisionsOf, rollbackPatch } from '../../../web/src/pages/cluster/sections/revisions.ts';
import { rolloutOf } from '../../../web/src/pages/cluster/sections/rollout.ts';
import { selectedLabels } from '../../../web/src/pages/cluster/sections/selector.ts';

const object = (kind: string, spec: object, status: object, metadata: object = {}): ClusterObject => ({
  ...{ apiVersion: 'apps/v1', kind, spec: { ...spec }, status: { ...status } },
  metadata: { name: 'web', resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z', generation: 2, ...metadata },
});
const all = (count: number) => ({
  ...{ observedGeneration: 2, replicas: count, updatedReplicas: count, readyReplicas: count, availableReplicas: count },
});
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
    ]);
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
