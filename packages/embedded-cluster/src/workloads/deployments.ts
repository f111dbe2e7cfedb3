/**
 * The controller of Deployments: one ReplicaSet a revision, and a rolling update between them.
 *
 * @see https://kubernetes.io/docs/concepts/workloads/controllers/deployment/
 */

import { isDeepStrictEqual } from 'node:util';
import { type Component, ownerReference } from '../component.ts';
import { keyOf, timestamp } from '../objects.ts';
import { type Condition, collections, conditionOf, conditionSince, type Deployment, type PodTemplate, type ReplicaSet } from './shapes.ts';
import { templateHash } from './template-hash.ts';

const hashLabel = 'pod-template-hash';
const revisionKey = 'deployment.kubernetes.io/revision';

const replicasOf = ({ status }: ReplicaSet) => status?.replicas ?? 0;
const readyOf = ({ status }: ReplicaSet) => status?.readyReplicas ?? 0;
const revisionOf = ({ metadata }: ReplicaSet) => Number(metadata.annotations?.[revisionKey] ?? 0);
const sum = (sets: readonly ReplicaSet[], of: (set: ReplicaSet) => number) => sets.reduce((total, set) => total + of(set), 0);

export function reconcileDeployment(component: Component, deployment: Deployment): number | undefined {
  const sets = component.owned<ReplicaSet>(collections.replicaSets, deployment);
  const current = currentSet(component, deployment, sets);
  const old = sets.filter(({ metadata }) => metadata.uid !== current?.metadata.uid);
  if (current !== undefined && deployment.spec.paused !== true) roll(component, deployment, current, old);
  else resize(component, deployment, current ?? old.at(-1), deployment.spec.replicas);
  dropHistory(component, deployment, old);
  return writeStatus(component, deployment, current);
}

const templateWithoutHash = ({ metadata, spec }: PodTemplate): PodTemplate => {
  const { [hashLabel]: _hash, ...labels } = metadata?.labels ?? {};
  return { metadata: { ...metadata, labels }, spec };
};

/** Returns the ReplicaSet of the template of the Deployment, made if it is missing and the Deployment is not paused. */
function currentSet(component: Component, deployment: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined {
  const wanted = templateWithoutHash(deployment.spec.template);
  const found = sets.find(({ spec }) => isDeepStrictEqual(templateWithoutHash(spec.template), wanted));
  if (deployment.spec.paused === true && found === undefined) return undefined;
  const newest = Math.max(0, ...sets.map(revisionOf));
  const current =
    found && revisionOf(found) === newest
      ? annotated(component, deployment, found)
      : withRevision(component, deployment, found, newest + 1);
  recordRevision(component, deployment, String(revisionOf(current)));
  return current;
}

/** Copies the revision to the Deployment. */
function recordRevision(component: Component, deployment: Deployment, revision: string): void {
  const { annotations } = deployment.metadata;
  if (annotations?.[revisionKey] === revision) return;
  const metadata = { ...deployment.metadata, annotations: { ...annotations, [revisionKey]: revision } };
  component.update(collections.deployments, { ...deployment, metadata });
}

/** Annotations of a Deployment that its ReplicaSets do not get. Source: `annotationsToSkip` of the Deployment controller. */
const ownAnnotations = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionKey,
  ...['revision-history', 'desired-replicas', 'max-replicas'].map((name) => `deployment.kubernetes.io/${name}`),
  'deprecated.deployment.rollback.to',
]);

const copiedAnnotations = ({ metadata: { annotations = {} } }: Deployment) =>
  Object.fromEntries(Object.entries(annotations).filter(([key]) => !ownAnnotations.has(key)));

/** Copies changed annotations of a Deployment to the ReplicaSet of its template. */
function annotated(component: Component, deployment: Deployment, set: ReplicaSet): ReplicaSet {
  const annotations = { ...set.metadata.annotations, ...copiedAnnotations(deployment) };
  if (isDeepStrictEqual(annotations, set.metadata.annotations ?? {})) return set;
  return component.update(collections.replicaSets, { ...set, metadata: { ...set.metadata, annotations } });
}

/** Makes the ReplicaSet of a revision, or the one of an older revision the newest. */
function withRevision(component: Component, deployment: Deployment, old: ReplicaSet | undefined, revision: number): ReplicaSet {
  const { template, selector } = deployment.spec;
  const { name, namespace } = deployment.metadata;
  const annotations = { ...old?.metadata.annotations, [revisionKey]: String(revision), ...copiedAnnotations(deployment) };
  if (old !== undefined) return component.update(collections.replicaSets, { ...old, metadata: { ...old.metadata, annotations } });
  const id = templateHash(template);
  const labels = { ...template.metadata?.labels, [hashLabel]: id };
  const set = {
    metadata: { name: `${name}-${id}`, labels, annotations, ownerReferences: [ownerReference(deployment)] },
    spec: {
      replicas: 0,
      selector: { matchLabels: { ...selector.matchLabels, [hashLabel]: id } },
      template: structuredClone({ ...template, metadata: { ...template.metadata, labels } }),
    },
  };
  return component.create<ReplicaSet>(collections.replicaSets, set, namespace);
}

/** Resolves a number or a percentage of the replicas. */
const amount = (value: number | string, replicas: number, round: (value: number) => number) =>
  typeof value === 'number' ? value : round((Number.parseFloat(value) / 100) * replicas);

function limits({ spec: { replicas, strategy } }: Deployment): { most: number; least: number } {
  if (strategy.type === 'Recreate') return { most: replicas, least: 0 };
  const { maxSurge = '25%', maxUnavailable = '25%' } = strategy.rollingUpdate ?? {};
  const surge = amount(maxSurge, replicas, Math.ceil);
  const unavailable = amount(maxUnavailable, replicas, Math.floor);
  return { most: replicas + surge, least: replicas - (surge === 0 && unavailable === 0 ? 1 : unavailable) };
}

function roll(component: Component, deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): void {
  const { most, least } = limits(deployment);
  const { replicas, strategy } = deployment.spec;
  const mayHave = strategy.type === 'Recreate' && sum(old, replicasOf) > 0 ? 0 : most - sum(old, ({ spec }) => spec.replicas);
  resize(component, deployment, current, Math.min(replicas, Math.max(mayHave, current.spec.replicas)));
  // Pods that are not ready go first, since they serve nobody.
  let ready = sum([current, ...old], readyOf);
  for (const set of old) {
    const unready = Math.max(0, set.spec.replicas - readyOf(set));
    const removed = Math.min(set.spec.replicas, unready + Math.max(0, ready - least));
    ready -= Math.max(0, removed - unready);
    if (removed > 0) resize(component, deployment, set, set.spec.replicas - removed);
  }
}

function resize(component: Component, deployment: Deployment, set: ReplicaSet | undefined, replicas: number): void {
  const stored = set && component.get<ReplicaSet>(collections.replicaSets, keyOf(set));
  if (stored === undefined || stored.spec.replicas === replicas) return;
  component.update(collections.replicaSets, { ...stored, spec: { ...stored.spec, replicas } });
  const direction = replicas > stored.spec.replicas ? 'up' : 'down';
  const message = `Scaled ${direction} replica set ${stored.metadata.name} from ${stored.spec.replicas} to ${replicas}`;
  component.event(deployment, 'Normal', 'ScalingReplicaSet', message);
}

function dropHistory(component: Component, { spec }: Deployment, old: readonly ReplicaSet[]): void {
  const empty = old.filter((set) => set.spec.replicas === 0 && replicasOf(set) === 0).sort((a, b) => revisionOf(a) - revisionOf(b));
  for (const set of empty.slice(0, Math.max(0, empty.length - spec.revisionHistoryLimit))) component.remove(collections.replicaSets, set);
}

function writeStatus(component: Component, reconciled: Deployment, current: ReplicaSet | undefined): number | undefined {
  const deployment = component.get<Deployment>(collections.deployments, keyOf(reconciled));
  if (deployment === undefined) return undefined;
  const sets = component.owned<ReplicaSet>(collections.replicaSets, deployment);
  const newest = sets.filter(({ metadata }) => metadata.uid === current?.metadata.uid);
  const [replicas, readyReplicas, updatedReplicas] = [sum(sets, replicasOf), sum(sets, readyOf), sum(newest, replicasOf)];
  const unavailableReplicas = deployment.spec.replicas - readyReplicas;
  const isComplete = sum(newest, readyOf) >= deployment.spec.replicas && replicas === deployment.spec.replicas;
  const counts = { updatedReplicas, readyReplicas, isComplete };
  const { progressing, lookAgainMs } = progress(component, deployment, current?.metadata.name ?? '', counts);
  component.setStatus(collections.deployments, deployment, {
    observedGeneration: deployment.metadata.generation,
    ...(replicas > 0 && { replicas }),
    ...(updatedReplicas > 0 && { updatedReplicas }),
    ...(readyReplicas > 0 && { readyReplicas, availableReplicas: readyReplicas }),
    ...(unavailableReplicas > 0 && { unavailableReplicas }),
    conditions: [condition(component, deployment, availability(readyReplicas >= limits(deployment).least)), progressing],
  });
  return lookAgainMs;
}

const availability = (isAvailable: boolean): Condition => ({
  type: 'Available',
  status: isAvailable ? 'True' : 'False',
  reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
  message: `Deployment ${isAvailable ? 'has' : 'does not have'} minimum availability.`,
});

type Counts = Record<'updatedReplicas' | 'readyReplicas', number>;

function progress(component: Component, deployment: Deployment, setName: string, counts: Counts & { isComplete: boolean }) {
  const [subject, type] = [`ReplicaSet "${setName}"`, 'Progressing'];
  const { status = {}, metadata, spec } = deployment;
  if (counts.isComplete) {
    const message = `${subject} has successfully progressed.`;
    const done: Condition = { type, status: 'True', reason: 'NewReplicaSetAvailable', message };
    return { progressing: condition(component, deployment, done), lookAgainMs: undefined };
  }
  const hasMoved =
    status.observedGeneration !== metadata.generation ||
    (['updatedReplicas', 'readyReplicas'] as const).some((name) => (status[name] ?? 0) !== counts[name]);
  const now = component.now();
  const before = conditionOf(status.conditions, type);
  const leftMs = spec.progressDeadlineSeconds * 1000 - (now.getTime() - Date.parse(before?.lastUpdateTime ?? timestamp(now)));
  const isStuck = !hasMoved && (before?.reason === 'ProgressDeadlineExceeded' || leftMs <= 0);
  const next: Condition = isStuck
    ? { type, status: 'False', reason: 'ProgressDeadlineExceeded', message: `${subject} has timed out progressing.` }
    : { type, status: 'True', reason: 'ReplicaSetUpdated', message: `${subject} is progressing.` };
  const progressing = { ...condition(component, deployment, next), ...(hasMoved && { lastUpdateTime: timestamp(now) }) };
  return { progressing, lookAgainMs: isStuck ? undefined : Math.max(1_000, leftMs) };
}

/** Adds the times of a condition, which stay while it says the same. */
function condition(component: Component, { status }: Deployment, next: Condition): Condition {
  const before = conditionOf(status?.conditions, next.type);
  const isSame = before?.status === next.status && before.reason === next.reason && before.message === next.message;
  return isSame ? before : { ...conditionSince(status?.conditions, next, component.now()), lastUpdateTime: timestamp(component.now()) };
}
