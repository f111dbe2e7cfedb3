import { nodePressures, objectState, serviceState } from '@atrium/objects/object-state.ts';
import { expect } from 'chai';
import { ended, pod, running, waiting } from './a-pod.ts';

interface Given {
  metadata?: object;
  spec?: object;
  status?: object;
}

const object = (apiVersion: string, kind: string, { metadata, spec = {}, status = {} }: Given = {}) => ({
  ...{ apiVersion, kind, spec, status },
  metadata: { name: 'web', generation: 3, ...metadata },
});

const condition = (type: string, status: string, reason = '', message = '') => ({ type, status, reason, message });

/** Statuses as kube-controller-manager writes them. */
const counts = (replicas: number, available: number, updated = replicas) => ({
  ...{ observedGeneration: 3, replicas, updatedReplicas: updated },
  ...(available > 0 && { readyReplicas: available, availableReplicas: available }),
  ...(available < replicas && { unavailableReplicas: replicas - available }),
});
const minimum = (isThere: boolean) =>
  isThere
    ? condition('Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.')
    : condition('Available', 'False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.');
const rolledOut = condition('Progressing', 'True', 'NewReplicaSetAvailable', 'ReplicaSet "web-5d8" has successfully progressed.');
const rolling = condition('Progressing', 'True', 'ReplicaSetUpdated', 'ReplicaSet "web-5d8" is progressing.');
const late = condition('Progressing', 'False', 'ProgressDeadlineExceeded', 'ReplicaSet "web-5d8" has timed out progressing.');
const quota = condition('ReplicaFailure', 'True', 'FailedCreate', 'pods "web-5d8-" is forbidden: exceeded quota: small');

const deployment = (spec: object, status: object, metadata = {}) => object('apps/v1', 'Deployment', { metadata, spec, status });
const set = (kind: string, spec: object, status: object) => object('apps/v1', kind, { spec, status });
const daemons = (wanted: number, available: number, updated = wanted) => ({
  ...{ observedGeneration: 3, desiredNumberScheduled: wanted, currentNumberScheduled: wanted, updatedNumberScheduled: updated },
  ...{ numberReady: available, ...(available > 0 && { numberAvailable: available }) },
});
const job = (status: object, spec: object = { completions: 1 }) => object('batch/v1', 'Job', { spec, status });
const cronJob = (spec: object, status: object) => object('batch/v1', 'CronJob', { spec, status });
const node = (conditions: object[], spec = {}) => object('v1', 'Node', { spec, status: { conditions } });
const kubelet = condition('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status');
const claim = (phase: string, metadata = {}) => object('v1', 'PersistentVolumeClaim', { metadata, status: { phase } });
const autoscaler = (conditions: object[], current = 3, spec: object = { minReplicas: 2, maxReplicas: 10 }) =>
  object('autoscaling/v2', 'HorizontalPodAutoscaler', { spec, status: { currentReplicas: current, conditions } });
const able = condition('AbleToScale', 'True', 'ReadyForNewScale', 'recommended size matches current size');
const scaling = condition('ScalingActive', 'True', 'ValidMetricFound', 'the HPA was able to successfully calculate a replica count');
const budget = (status: object) => object('policy/v1', 'PodDisruptionBudget', { status: { observedGeneration: 3, ...status } });
const certificate = (...conditions: object[]) => object('cert-manager.io/v1', 'Certificate', { status: { conditions } });
const deleted = { deletionTimestamp: '2026-11-28T10:00:00Z' };

type Case = [word: string, tone: string | undefined, figure: string, given: unknown, reason?: string];

const workloads: Case[] = [
  ['Available', 'ok', '3/3', deployment({ replicas: 3 }, { ...counts(3, 3), conditions: [minimum(true), rolledOut] })],
  ['Available', 'ok', '1/1', deployment({}, { ...counts(1, 1), conditions: [minimum(true), rolledOut] })],
  [
    ...(['ProgressDeadlineExceeded', 'bad', '2/3'] as const),
    deployment({ replicas: 3 }, { ...counts(4, 2, 1), conditions: [minimum(true), late] }),
    'ReplicaSet "web-5d8" has timed out progressing.',
  ],
  ['ProgressDeadlineExceeded', 'bad', '3/3', deployment({ replicas: 3 }, { ...counts(3, 3), conditions: [late] })],
  [
    ...(['FailedCreate', 'bad', '0/3'] as const),
    deployment({ replicas: 3 }, { observedGeneration: 3, unavailableReplicas: 3, conditions: [minimum(false), quota] }),
    'pods "web-5d8-" is forbidden: exceeded quota: small',
  ],
  ['Progressing', 'warn', '2/3', deployment({ replicas: 3 }, { ...counts(4, 2, 2), conditions: [minimum(true), rolling] })],
  ['Progressing', 'warn', '0/3', deployment({ replicas: 3 }, { ...counts(3, 0), conditions: [minimum(false), rolling] })],
  ['Progressing', 'warn', '3/3', deployment({ replicas: 3 }, { ...counts(3, 3), observedGeneration: 2 })],
  ['Progressing', 'warn', '0/1', deployment({}, {})],
  ['Unavailable', 'bad', '0/3', deployment({ replicas: 3 }, { ...counts(3, 0), conditions: [minimum(false), rolledOut] })],
  ['Degraded', 'warn', '2/3', deployment({ replicas: 3 }, { ...counts(3, 2), conditions: [minimum(true), rolledOut] })],
  ['Paused', 'off', '3/3', deployment({ replicas: 3, paused: true }, { ...counts(4, 3, 1), conditions: [minimum(true)] })],
  ['ScaledToZero', 'off', '', deployment({ replicas: 0 }, { observedGeneration: 3, conditions: [rolledOut] })],
  [
    'Terminating',
    'warn',
    '',
    deployment({ replicas: 3 }, counts(3, 3), { ...deleted, finalizers: ['foregroundDeletion'] }),
    'foregroundDeletion',
  ],
  ['Available', 'ok', '2/2', set('StatefulSet', { replicas: 2 }, { ...counts(2, 2), currentRevision: 'a', updateRevision: 'a' })],
  ['Progressing', 'warn', '1/2', set('StatefulSet', { replicas: 2 }, { ...counts(2, 1, 1), currentRevision: 'a', updateRevision: 'b' })],
  ['Progressing', 'warn', '1/3', set('StatefulSet', { replicas: 3 }, { ...counts(1, 1, 3), currentRevision: 'a', updateRevision: 'a' })],
  ['Degraded', 'warn', '1/2', set('StatefulSet', { replicas: 2 }, { ...counts(2, 1), currentRevision: 'a', updateRevision: 'a' })],
  ['Unavailable', 'bad', '0/2', set('StatefulSet', { replicas: 2 }, { ...counts(2, 0), currentRevision: 'a', updateRevision: 'a' })],
  ['Available', 'ok', '4/4', set('DaemonSet', {}, daemons(4, 4))],
  ['Degraded', 'warn', '3/4', set('DaemonSet', {}, daemons(4, 3))],
  ['Progressing', 'warn', '3/4', set('DaemonSet', {}, daemons(4, 3, 2))],
  ['Unavailable', 'bad', '0/4', set('DaemonSet', {}, daemons(4, 0))],
  ['ScaledToZero', 'off', '', set('ReplicaSet', { replicas: 0 }, { observedGeneration: 3, replicas: 0 })],
  [
    'FailedCreate',
    'bad',
    '0/2',
    set('ReplicaSet', { replicas: 2 }, { observedGeneration: 3, replicas: 0, conditions: [quota] }),
    quota.message,
  ],
];

const runs: Case[] = [
  ['Running', 'ok', '2/2', pod({ statuses: [running('a'), running('b')] })],
  ['Running', 'warn', '1/2', pod({ statuses: [running('a'), running('b', { ready: false })] })],
  ['CrashLoopBackOff', 'bad', '1/2', pod({ statuses: [running('a'), waiting('b', 'CrashLoopBackOff')] })],
  [
    ...(['Completed', 'ok', '0/2'] as const),
    pod({ statuses: [ended('a', { exitCode: 0, reason: 'Completed' }), ended('b', { exitCode: 0, reason: 'Completed' })] }),
  ],
  [
    ...(['Evicted', 'bad', '0/2'] as const),
    pod({ status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' } }),
    'The node was low on resource: memory.',
  ],
  [
    ...(['Pending', 'warn', '0/2'] as const),
    pod({
      status: {
        phase: 'Pending',
        conditions: [condition('PodScheduled', 'False', 'Unschedulable', '0/3 nodes are available: 3 Insufficient cpu.')],
      },
    }),
    '0/3 nodes are available: 3 Insufficient cpu.',
  ],
  ['Terminating', 'warn', '2/2', pod({ deleted: true, statuses: [running('a'), running('b')] })],
  ['Complete', 'ok', '1/1', job({ succeeded: 1, conditions: [condition('SuccessCriteriaMet', 'True'), condition('Complete', 'True')] })],
  [
    ...(['Failed', 'bad', '0/1'] as const),
    job({ failed: 7, conditions: [condition('Failed', 'True', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit')] }),
    'BackoffLimitExceeded: Job has reached the specified backoff limit',
  ],
  ['FailureTarget', 'bad', '0/1', job({ conditions: [condition('FailureTarget', 'True', 'DeadlineExceeded')] }), 'DeadlineExceeded'],
  ['Suspended', 'off', '0/1', job({ conditions: [condition('Suspended', 'True', 'JobSuspended', 'Job suspended')] })],
  ['Running', 'ok', '2/5', job({ active: 2, succeeded: 2 }, { completions: 5 })],
  ['Active', 'ok', '', cronJob({}, { lastScheduleTime: '2026-11-28T02:00:00Z', lastSuccessfulTime: '2026-11-28T02:00:31Z' })],
  ['Active', 'ok', '', cronJob({}, {})],
  ['LastRunFailed', 'bad', '', cronJob({}, { lastScheduleTime: '2026-11-28T02:00:00Z', lastSuccessfulTime: '2026-11-27T02:00:31Z' })],
  ['LastRunFailed', 'bad', '', cronJob({}, { lastScheduleTime: '2026-11-28T02:00:00Z' })],
  ['Running', 'ok', '', cronJob({}, { lastScheduleTime: '2026-11-28T02:00:00Z', active: [{ kind: 'Job', name: 'nightly-1' }] })],
  ['Suspended', 'off', '', cronJob({ suspend: true }, { lastScheduleTime: '2026-11-28T02:00:00Z' })],
];

const places: Case[] = [
  ['Ready', 'ok', '', node([condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory'), kubelet])],
  ['Ready,SchedulingDisabled', 'warn', '', node([kubelet], { unschedulable: true })],
  [
    ...(['Ready,MemoryPressure', 'bad', ''] as const),
    node([condition('MemoryPressure', 'True', 'KubeletHasInsufficientMemory', 'kubelet has insufficient memory available'), kubelet]),
    'kubelet has insufficient memory available',
  ],
  [
    ...(['NotReady', 'bad', ''] as const),
    node([condition('Ready', 'Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.')]),
    'Kubelet stopped posting node status.',
  ],
  ['NotReady,SchedulingDisabled', 'bad', '', node([condition('Ready', 'False')], { unschedulable: true })],
  ['Unknown', 'warn', '', node([])],
  ['Active', 'ok', '', object('v1', 'Namespace', { status: { phase: 'Active' } })],
  [
    ...(['Terminating', 'warn', ''] as const),
    object('v1', 'Namespace', {
      metadata: deleted,
      status: {
        phase: 'Terminating',
        conditions: [
          condition('NamespaceDeletionDiscoveryFailure', 'False', 'ResourcesDiscovered', 'All resources successfully discovered'),
          condition(
            'NamespaceFinalizersRemaining',
            'True',
            'SomeFinalizersRemain',
            'Some content has finalizers remaining: example.com/a in 1 resource instances',
          ),
        ],
      },
    }),
    'Some content has finalizers remaining: example.com/a in 1 resource instances',
  ],
  ['Bound', 'ok', '', claim('Bound')],
  ['Pending', 'warn', '', claim('Pending')],
  ['Lost', 'bad', '', claim('Lost')],
  ['Terminating', 'warn', '', claim('Bound', { ...deleted, finalizers: ['kubernetes.io/pvc-protection'] }), 'kubernetes.io/pvc-protection'],
  [
    ...(['Failed', 'bad', ''] as const),
    object('v1', 'PersistentVolume', { status: { phase: 'Failed', message: 'error deleting volume' } }),
    'error deleting volume',
  ],
  ['Released', 'warn', '', object('v1', 'PersistentVolume', { status: { phase: 'Released' } })],
];

const traffic: Case[] = [
  [
    'Pending',
    'warn',
    '',
    object('v1', 'Service', { spec: { type: 'LoadBalancer', selector: { app: 'web' } }, status: { loadBalancer: {} } }),
  ],
  ['ExternalName', 'off', '', object('v1', 'Service', { spec: { type: 'ExternalName', externalName: 'example.com' } })],
  ['', undefined, '', object('v1', 'Service', { spec: { type: 'ClusterIP', selector: { app: 'web' } }, status: { loadBalancer: {} } })],
  ['Pending', 'warn', '', object('networking.k8s.io/v1', 'Ingress', { status: { loadBalancer: {} } })],
  ['Ready', 'ok', '', object('networking.k8s.io/v1', 'Ingress', { status: { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } } })],
  ['Active', 'ok', '3/10', autoscaler([able, scaling, condition('ScalingLimited', 'False', 'DesiredWithinRange')])],
  ['Active', 'ok', '2/10', autoscaler([able, scaling, condition('ScalingLimited', 'True', 'TooFewReplicas')], 2)],
  [
    ...(['AtMaximum', 'warn', '10/10'] as const),
    autoscaler(
      [
        able,
        scaling,
        condition('ScalingLimited', 'True', 'TooManyReplicas', 'the desired replica count is more than the maximum replica count'),
      ],
      10,
    ),
    'the desired replica count is more than the maximum replica count',
  ],
  [
    ...(['FailedGetResourceMetric', 'bad', '3/10'] as const),
    autoscaler([able, condition('ScalingActive', 'False', 'FailedGetResourceMetric', 'unable to get metrics for resource cpu')]),
    'unable to get metrics for resource cpu',
  ],
  ['FailedGetScale', 'bad', '0/10', autoscaler([condition('AbleToScale', 'False', 'FailedGetScale', 'not found')], 0), 'not found'],
  ['ScalingDisabled', 'off', '', autoscaler([able, condition('ScalingActive', 'False', 'ScalingDisabled')], 0)],
  ['Pending', 'warn', '', autoscaler([], 0)],
  [
    ...(['InsufficientPods', 'warn', '2/2'] as const),
    budget({
      expectedPods: 2,
      currentHealthy: 2,
      desiredHealthy: 2,
      disruptionsAllowed: 0,
      conditions: [condition('DisruptionAllowed', 'False', 'InsufficientPods')],
    }),
  ],
  ['SufficientPods', 'ok', '3/2', budget({ expectedPods: 3, currentHealthy: 3, desiredHealthy: 2, disruptionsAllowed: 1 })],
  ['NoPods', 'off', '', budget({ expectedPods: 0, currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0 })],
  [
    ...(['SyncFailed', 'bad', '0/0'] as const),
    budget({ expectedPods: 0, conditions: [condition('DisruptionAllowed', 'False', 'SyncFailed', 'found no controller ref')] }),
    'found no controller ref',
  ],
  ['Ready', 'ok', '', certificate(condition('Ready', 'True', 'Ready'))],
  ['NotReady', 'bad', '', certificate(condition('Ready', 'False', 'DoesNotExist', 'Secret is missing')), 'DoesNotExist: Secret is missing'],
  ['', undefined, '', object('v1', 'ConfigMap')],
];

describe('the state of an object', () => {
  for (const [index, [word, tone, figure, given, reason]] of [...workloads, ...runs, ...places, ...traffic].entries())
    it(`is ${word || 'none'}, ${tone ?? 'without a tone'} (${index})`, () => {
      const found = objectState(given);
      expect(found).to.include({ word, tone, figure });
      if (reason !== undefined) expect(found.reason).to.equal(reason);
    });

  it('is read from an object without any member', () => {
    for (const given of [undefined, {}, { kind: 'Pod', apiVersion: 'v1' }, { kind: 'Node', apiVersion: 'v1', status: { conditions: 7 } }])
      expect(objectState(given)).to.have.keys('word', 'tone', 'reason', 'figure');
  });

  it('follows the endpoints of a Service, once they are known', () => {
    const service = object('v1', 'Service', { spec: { type: 'ClusterIP', selector: { app: 'web' } } });

    expect(serviceState(service, { ready: 2, all: 3 })).to.include({ word: 'Ready', tone: 'ok', figure: '2/3' });
    expect(serviceState(service, { ready: 0, all: 3 })).to.include({ word: 'NoEndpoints', tone: 'bad', figure: '0/3' });
    expect(serviceState(service, { ready: 0, all: 0 })).to.include({ word: 'NoEndpoints', tone: 'bad', figure: '' });
    expect(serviceState(object('v1', 'Service'), { ready: 0, all: 0 })).to.include({ word: 'NoEndpoints', tone: 'off' });
  });

  it('has the pressures of a node beside the word of kubectl', () => {
    expect(nodePressures(node([condition('DiskPressure', 'True'), condition('PIDPressure', 'True'), kubelet]))).to.equal(
      'DiskPressure,PIDPressure',
    );
    expect(nodePressures(node([condition('DiskPressure', 'False'), kubelet]))).to.equal('');
  });
});
