/** State of an object in a word, and the reason for it: for lists, pages, the chain and the search alike. */

import { jobState } from './job-state.ts';
import { conditionOf, groupOf, isMembers, listOf, type Members, membersOf, numberOf, textOf } from './members.ts';
import { podState } from './pod-state.ts';
import { type Rollout, rolloutOf } from './rollout.ts';
import { type Tone, toneOfWord } from './state-tone.ts';

export interface ObjectState {
  /** In the words of kubectl or of a condition, such as `Running` or `ProgressDeadlineExceeded`; empty for an object without a state. */
  word: string;
  /** Undefined for a word that is neither good nor bad. */
  tone: Tone | undefined;
  /** The words of a controller; empty if it has none. */
  reason: string;
  /** Parts that are there, such as the ready pods of a workload; empty without parts. */
  figure: string;
}

const state = (word: string, more: Partial<ObjectState> = {}): ObjectState => ({
  ...{ word, tone: toneOfWord(word), reason: '', figure: '' },
  ...more,
});

type Read = (object: Members) => ObjectState;

/** Kinds whose state is read in a way of its own, with their groups. */
const readers: Readonly<Record<string, Read>> = {
  Pod: ofPod,
  'Deployment.apps': ofWorkload,
  'ReplicaSet.apps': ofWorkload,
  'StatefulSet.apps': ofWorkload,
  'DaemonSet.apps': ofWorkload,
  ReplicationController: ofWorkload,
  'Job.batch': ofJob,
  'CronJob.batch': ofCronJob,
  Node: ofNode,
  Namespace: (object) => state(phaseOf(object), { reason: namespaceReason(object) }),
  Service: (object) => serviceState(object, undefined),
  'Ingress.networking.k8s.io': (object) => state(hasAddress(object) ? 'Ready' : 'Pending'),
  'HorizontalPodAutoscaler.autoscaling': ofAutoscaler,
  'PodDisruptionBudget.policy': ofBudget,
};

/** Kinds that say their own word for their deletion. The API server keeps the others `Terminating` in the same way. */
const deletedInOwnWords = new Set(['Pod', 'Job.batch', 'Node']);

/** @param object any object of a cluster, in which every member may be missing or malformed */
export function objectState(object: unknown): ObjectState {
  const given = membersOf(object);
  const group = groupOf(given.apiVersion);
  const kind = group === '' ? textOf(given.kind) : `${textOf(given.kind)}.${group}`;
  const metadata = membersOf(given.metadata);
  if (metadata.deletionTimestamp && !deletedInOwnWords.has(kind)) return state('Terminating', { reason: deletionReason(given, kind) });
  const read = Object.hasOwn(readers, kind) ? readers[kind] : undefined;
  return read === undefined ? ofConditions(given) : read(given);
}

/** Returns the state of an object in one word. */
export const wordOf = (object: unknown): string => objectState(object).word;

const phaseOf = (object: Members): string => textOf(membersOf(object.status).phase);

function deletionReason(object: Members, kind: string): string {
  if (kind === 'Namespace') return namespaceReason(object);
  const { finalizers } = membersOf(object.metadata);
  return Array.isArray(finalizers) ? finalizers.filter((one) => typeof one === 'string').join(', ') : '';
}

/** Returns why a namespace stays: the conditions of its deletion that hold. */
const namespaceReason = (object: Members): string =>
  listOf(membersOf(object.status).conditions)
    .filter(({ status }) => status === 'True')
    .map(({ message }) => textOf(message))
    .filter(Boolean)
    .join(' ');

function ofPod(object: Members): ObjectState {
  const { word, ready, total } = podState(object);
  const { status } = object;
  const failed = membersOf(status).phase === 'Failed';
  const scheduled = conditionOf(object, 'PodScheduled');
  return state(word, {
    ...(failed && { tone: 'bad' }),
    // A pod that runs and is not ready receives no requests.
    ...(word === 'Running' && ready < total && { tone: 'warn' }),
    reason: podReason(membersOf(status)) || (scheduled?.status === 'False' ? textOf(scheduled.message) : ''),
    figure: `${ready}/${total}`,
  });
}

const podReason = (status: Members): string =>
  textOf(status.message) ||
  [...listOf(status.initContainerStatuses), ...listOf(status.containerStatuses)]
    .flatMap(({ state: now }) => [membersOf(membersOf(now).waiting), membersOf(membersOf(now).terminated)])
    .map(({ message }) => textOf(message))
    .filter(Boolean)
    .join(' ');

function ofWorkload(object: Members): ObjectState {
  const rollout = rolloutOf(object);
  const { wanted, message } = rollout;
  const ready = object.kind === 'Deployment' || object.kind === 'DaemonSet' ? rollout.available : rollout.ready;
  return state(workloadWord(object, rollout), { reason: message, figure: wanted === 0 && ready === 0 ? '' : `${ready}/${wanted}` });
}

function workloadWord(object: Members, rollout: Rollout): string {
  const { state: progress, wanted, updated, ready, available, reason } = rollout;
  if (progress === 'stuck') return reason || 'ReplicaFailure';
  if (progress === 'stopped') return 'ScaledToZero';
  if (progress === 'done') return 'Available';
  if (progress === 'paused') return 'Paused';
  if (progress === 'unseen' || updated < wanted || !isComplete(object)) return 'Progressing';
  return (object.kind === 'StatefulSet' ? ready : available) === 0 ? 'Unavailable' : 'Degraded';
}

/** Reports whether the last rollout ended: pods that are missing now were lost since. */
function isComplete(object: Members): boolean {
  if (object.kind === 'Deployment') return conditionOf(object, 'Progressing')?.reason === 'NewReplicaSetAvailable';
  const { spec, status } = object;
  return object.kind === 'DaemonSet' || numberOf(membersOf(status).replicas) >= numberOf(membersOf(spec).replicas ?? 1);
}

function ofJob(object: Members): ObjectState {
  // Only the duration depends on the time.
  const { word, reason, message, succeeded, wanted } = jobState(object, new Date(0));
  return state(word, { reason: [reason, message].filter(Boolean).join(': '), figure: `${succeeded}/${wanted}` });
}

function ofCronJob({ spec, status }: Members): ObjectState {
  if (membersOf(spec).suspend === true) return state('Suspended');
  const { active, lastScheduleTime, lastSuccessfulTime } = membersOf(status);
  if (listOf(active).length > 0) return state('Running');
  const [last, success] = [Date.parse(textOf(lastScheduleTime)), Date.parse(textOf(lastSuccessfulTime))];
  // A success is recorded at the end of a run, later than its schedule.
  return state(last > (Number.isNaN(success) ? 0 : success) ? 'LastRunFailed' : 'Active');
}

/** Conditions of a node that are a trouble while they hold. */
const nodeTroubles = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable'];

function ofNode(object: Members): ObjectState {
  const troubles = nodeTroubles.map((type) => conditionOf(object, type)).filter((condition) => condition?.status === 'True');
  const ready = conditionOf(object, 'Ready');
  return state([nodeWord(object), ...troubles.map((condition) => textOf(condition?.type))].join(','), {
    reason: [...(ready?.status === 'True' ? [] : [ready]), ...troubles]
      .map((condition) => textOf(condition?.message))
      .filter(Boolean)
      .join(' '),
  });
}

/** Returns the status of a node as kubectl prints it: `Ready,SchedulingDisabled`. Source: printNode of kube-apiserver. */
export function nodeWord(object: unknown): string {
  const readiness = conditionOf(object, 'Ready')?.status;
  const word = readiness === undefined ? 'Unknown' : readiness === 'True' ? 'Ready' : 'NotReady';
  return membersOf(membersOf(object).spec).unschedulable === true ? `${word},SchedulingDisabled` : word;
}

/** Returns the troubles of a node: `MemoryPressure,DiskPressure`. */
export const nodePressures = (object: unknown): string =>
  nodeTroubles.filter((type) => conditionOf(object, type)?.status === 'True').join(',');

const hasAddress = ({ status }: Members): boolean => listOf(membersOf(membersOf(status).loadBalancer).ingress).length > 0;

/**
 * Returns the state of a Service.
 *
 * @param endpoints numbers of its endpoints; undefined if they are not known
 */
export function serviceState(object: unknown, endpoints: { ready: number; all: number } | undefined): ObjectState {
  const { spec, status } = membersOf(object);
  const { type, selector } = membersOf(spec);
  if (type === 'ExternalName') return state('ExternalName');
  const figure = endpoints && endpoints.all > 0 ? `${endpoints.ready}/${endpoints.all}` : '';
  if (type === 'LoadBalancer' && !hasAddress({ status })) return state('Pending', { figure });
  // Endpoints of a Service without a selector are written by others.
  if (endpoints === undefined) return state('');
  if (endpoints.ready > 0) return state('Ready', { figure });
  return state('NoEndpoints', { figure, ...(!isMembers(selector) && { tone: 'off' }) });
}

function ofAutoscaler(object: Members): ObjectState {
  const { spec, status } = object;
  const { maxReplicas, minReplicas = 1 } = membersOf(spec);
  const current = numberOf(membersOf(status).currentReplicas);
  const figure = `${current}/${numberOf(maxReplicas)}`;
  const [able, active, limited] = ['AbleToScale', 'ScalingActive', 'ScalingLimited'].map((type) => conditionOf(object, type));
  if (active?.reason === 'ScalingDisabled') return state('ScalingDisabled', { reason: textOf(active.message) });
  const refused = [able, active].find((condition) => condition?.status === 'False');
  if (refused !== undefined)
    return state(textOf(refused.reason) || 'ScalingFailed', { tone: 'bad', reason: textOf(refused.message), figure });
  const isAtMaximum = limited ? limited.reason === 'TooManyReplicas' : current >= numberOf(maxReplicas);
  if (isAtMaximum && numberOf(maxReplicas) > numberOf(minReplicas)) return state('AtMaximum', { reason: textOf(limited?.message), figure });
  return able === undefined && current === 0 ? state('Pending') : state('Active', { figure });
}

function ofBudget(object: Members): ObjectState {
  const { expectedPods, disruptionsAllowed, currentHealthy, desiredHealthy } = membersOf(object.status);
  const allowed = conditionOf(object, 'DisruptionAllowed');
  const figure = `${numberOf(currentHealthy)}/${numberOf(desiredHealthy)}`;
  if (allowed?.reason === 'SyncFailed') return state('SyncFailed', { reason: textOf(allowed.message), figure });
  if (numberOf(expectedPods) === 0) return state('NoPods');
  return state(numberOf(disruptionsAllowed) > 0 ? 'SufficientPods' : 'InsufficientPods', { figure });
}

/** Conditions that state the state of other kinds. */
const summaries = ['Ready', 'Available', 'Established'];

/** Returns the phase of an object of another kind, or else its condition. */
function ofConditions(object: Members): ObjectState {
  const phase = phaseOf(object);
  if (phase !== '') return state(phase, { reason: textOf(membersOf(object.status).message) });
  const condition = summaries.map((type) => conditionOf(object, type)).find((one) => one !== undefined);
  if (condition === undefined) return state('');
  const type = textOf(condition.type);
  if (condition.status === 'True') return state(type);
  return state(condition.status === 'False' ? `Not${type}` : 'Unknown', {
    reason: [textOf(condition.reason), textOf(condition.message)].filter(Boolean).join(': '),
  });
}
