/**
 * The controller of Deployments: one ReplicaSet a revision, and a rolling update between them.
 *
 * @see https://kubernetes.io/docs/concepts/workloads/controllers/deployment/
 */

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Component, ownerReference } from '../component.ts';
import { objectKey, timestamp } from '../objects.ts';
import { type Condition, collections, conditionOf, type Deployment, type PodTemplate, type ReplicaSet } from './shapes.ts';

const hashLabel = 'pod-template-hash';
const revisionKey = 'deployment.kubernetes.io/revision';
const causeKey = 'kubernetes.io/change-cause';

interface Counts {
  replicas: number;
  ready: number;
}

const countsOf = ({ status }: ReplicaSet): Counts => {
  const { replicas = 0, readyReplicas = 0 } = status ?? {};
  return { replicas, ready: readyReplicas };
};
const revisionOf = ({ metadata }: ReplicaSet) => Number(metadata.annotations?.[revisionKey] ?? 0);
const wantedOf = ({ spec }: ReplicaSet) => spec.replicas;

/** Returns when to look again, in milliseconds. */
export function reconcileDeployment(component: Component, key: string): number | undefined {
  const deployment = component.get<Deployment>(collections.deployments, key);
  if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return undefined;
  const sets = component.owned<ReplicaSet>(collections.replicaSets, deployment);
  const current = currentSet(component, deployment, sets);
  const old = sets.filter(({ metadata }) => metadata.uid !== current?.metadata.uid);
  if (current !== undefined && deployment.spec.paused !== true) roll(component, deployment, current, old);
  else scaleInPlace(component, deployment, current ?? old.at(-1));
  dropHistory(component, deployment, old);
  return writeStatus(component, key, current);
}

const templateWithoutHash = ({ metadata, spec }: PodTemplate): PodTemplate => {
  const { [hashLabel]: _hash, ...labels } = metadata?.labels ?? {};
  return { metadata: { ...metadata, labels }, spec };
};

/** Returns the ReplicaSet of the template of the Deployment, made if it is missing and the Deployment is not paused. */
function currentSet(component: Component, deployment: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined {
  const { template, paused } = deployment.spec;
  const wanted = templateWithoutHash(template);
  const found = sets.find(({ spec }) => isDeepStrictEqual(templateWithoutHash(spec.template), wanted));
  if (paused === true && found === undefined) return undefined;
  const newest = Math.max(0, ...sets.map(revisionOf));
  if (found === undefined) return record(component, deployment, makeSet(component, deployment, newest + 1));
  if (revisionOf(found) === newest) return record(component, deployment, found);
  return record(component, deployment, component.update(collections.replicaSets, withRevision(deployment, found, newest + 1)));
}

/** Copies the revision to the Deployment. */
function record(component: Component, deployment: Deployment, set: ReplicaSet): ReplicaSet {
  const revision = String(revisionOf(set));
  if (deployment.metadata.annotations?.[revisionKey] === revision) return set;
  const annotations = { ...deployment.metadata.annotations, [revisionKey]: revision };
  component.update(collections.deployments, { ...deployment, metadata: { ...deployment.metadata, annotations } });
  return set;
}

function withRevision(deployment: Deployment, set: ReplicaSet, revision: number): ReplicaSet {
  const { [causeKey]: cause } = deployment.metadata.annotations ?? {};
  const annotations = { ...set.metadata.annotations, [revisionKey]: String(revision), ...(cause && { [causeKey]: cause }) };
  return { ...set, metadata: { ...set.metadata, annotations } };
}

function makeSet(component: Component, deployment: Deployment, revision: number): ReplicaSet {
  const { template, selector } = deployment.spec;
  const { name, namespace, annotations } = deployment.metadata;
  const hash = createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 10);
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  const cause = annotations?.[causeKey];
  const set = component.create<ReplicaSet>(
    collections.replicaSets,
    {
      metadata: {
        ...{ name: `${name}-${hash}`, labels, ownerReferences: [ownerReference(deployment)] },
        annotations: { [revisionKey]: String(revision), ...(cause && { [causeKey]: cause }) },
      },
      spec: {
        replicas: 0,
        selector: { matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
        template: structuredClone({ ...template, metadata: { ...template.metadata, labels } }),
      },
    },
    namespace,
  );
  return set;
}

/** Resolves a number or a percentage of the replicas. */
const amount = (value: number | string, replicas: number, round: (value: number) => number) =>
  typeof value === 'number' ? value : round((Number.parseFloat(value) / 100) * replicas);

function limits({ spec }: Deployment): { most: number; least: number } {
  const { replicas, strategy } = spec;
  if (strategy.type === 'Recreate') return { most: replicas, least: 0 };
  const { maxSurge = '25%', maxUnavailable = '25%' } = strategy.rollingUpdate ?? {};
  const surge = amount(maxSurge, replicas, Math.ceil);
  const unavailable = amount(maxUnavailable, replicas, Math.floor);
  return { most: replicas + surge, least: replicas - (surge === 0 && unavailable === 0 ? 1 : unavailable) };
}

const sum = (sets: readonly ReplicaSet[], of: (set: ReplicaSet) => number) => sets.reduce((total, set) => total + of(set), 0);

function roll(component: Component, deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): void {
  const { most, least } = limits(deployment);
  const { replicas, strategy } = deployment.spec;
  const oldWanted = sum(old, wantedOf);
  const mayHave = strategy.type === 'Recreate' && sum(old, (set) => countsOf(set).replicas) > 0 ? 0 : most - oldWanted;
  resize(
    component,
    deployment,
    current,
    current.spec.replicas > replicas ? replicas : Math.min(replicas, Math.max(mayHave, current.spec.replicas)),
  );
  // Pods that are not ready go first, since they serve nobody.
  let ready = sum([current, ...old], (set) => countsOf(set).ready);
  for (const set of old) {
    const unready = Math.max(0, set.spec.replicas - countsOf(set).ready);
    const spare = Math.max(0, ready - least);
    const removed = Math.min(set.spec.replicas, unready + spare);
    ready -= Math.max(0, removed - unready);
    if (removed > 0) resize(component, deployment, set, set.spec.replicas - removed);
  }
}

/** A paused Deployment is still scaled. */
function scaleInPlace(component: Component, deployment: Deployment, set: ReplicaSet | undefined): void {
  if (set !== undefined) resize(component, deployment, set, deployment.spec.replicas);
}

function resize(component: Component, deployment: Deployment, set: ReplicaSet, replicas: number): void {
  const { namespace, name } = set.metadata;
  const stored = component.get<ReplicaSet>(collections.replicaSets, objectKey(namespace, name));
  if (stored === undefined || stored.spec.replicas === replicas) return;
  const direction = replicas > stored.spec.replicas ? 'up' : 'down';
  component.update(collections.replicaSets, { ...stored, spec: { ...stored.spec, replicas } });
  const message = `Scaled ${direction} replica set ${name} from ${stored.spec.replicas} to ${replicas}`;
  component.event(deployment, 'Normal', 'ScalingReplicaSet', message);
}

function dropHistory(component: Component, { spec }: Deployment, old: readonly ReplicaSet[]): void {
  const empty = old.filter((set) => set.spec.replicas === 0 && countsOf(set).replicas === 0).sort((a, b) => revisionOf(a) - revisionOf(b));
  for (const set of empty.slice(0, Math.max(0, empty.length - spec.revisionHistoryLimit))) component.remove(collections.replicaSets, set);
}

function writeStatus(component: Component, key: string, current: ReplicaSet | undefined): number | undefined {
  const deployment = component.get<Deployment>(collections.deployments, key);
  if (deployment === undefined) return undefined;
  const sets = component.owned<ReplicaSet>(collections.replicaSets, deployment);
  const updated = sets.find(({ metadata }) => metadata.uid === current?.metadata.uid);
  const [replicas, ready] = [sum(sets, (set) => countsOf(set).replicas), sum(sets, (set) => countsOf(set).ready)];
  const counts = {
    replicas,
    ready,
    updated: updated ? countsOf(updated).replicas : 0,
    updatedReady: updated ? countsOf(updated).ready : 0,
  };
  const { conditions, lookAgainMs } = conditionsOf(deployment, counts, { setName: current?.metadata.name ?? '', now: component.now() });
  component.setStatus(collections.deployments, deployment, {
    observedGeneration: deployment.metadata.generation,
    ...(replicas > 0 && { replicas }),
    ...(counts.updated > 0 && { updatedReplicas: counts.updated }),
    ...(ready > 0 && { readyReplicas: ready, availableReplicas: ready }),
    ...(ready < deployment.spec.replicas && { unavailableReplicas: deployment.spec.replicas - ready }),
    conditions,
  });
  return lookAgainMs;
}

interface Progress extends Counts {
  updated: number;
  updatedReady: number;
}

function conditionsOf(deployment: Deployment, counts: Progress, { setName, now }: { setName: string; now: Date }) {
  const { least } = limits(deployment);
  const { replicas } = deployment.spec;
  const old = (deployment.status as { conditions?: Condition[] } | undefined)?.conditions;
  const isAvailable = counts.ready >= least;
  const available = isAvailable
    ? condition(
        old,
        { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' },
        now,
      )
    : condition(
        old,
        {
          type: 'Available',
          status: 'False',
          reason: 'MinimumReplicasUnavailable',
          message: 'Deployment does not have minimum availability.',
        },
        now,
      );
  const isComplete = counts.updatedReady >= replicas && counts.replicas === replicas;
  const before = conditionOf(old, 'Progressing');
  const subject = `ReplicaSet "${setName}"`;
  if (isComplete) {
    const done = {
      type: 'Progressing',
      status: 'True',
      reason: 'NewReplicaSetAvailable',
      message: `${subject} has successfully progressed.`,
    } as const;
    return { conditions: [available, condition(old, done, now)], lookAgainMs: undefined };
  }
  const seen = (deployment.status ?? {}) as { updatedReplicas?: number; readyReplicas?: number; observedGeneration?: number };
  const hasMoved =
    seen.observedGeneration !== deployment.metadata.generation ||
    (seen.updatedReplicas ?? 0) !== counts.updated ||
    (seen.readyReplicas ?? 0) !== counts.ready;
  const sinceMs = now.getTime() - Date.parse(before?.lastUpdateTime ?? timestamp(now));
  const deadlineMs = deployment.spec.progressDeadlineSeconds * 1000;
  const isStuck = !hasMoved && (before?.reason === 'ProgressDeadlineExceeded' || sinceMs >= deadlineMs);
  const next: Condition = isStuck
    ? { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: `${subject} has timed out progressing.` }
    : { type: 'Progressing', status: 'True', reason: 'ReplicaSetUpdated', message: `${subject} is progressing.` };
  const progressing = hasMoved ? { ...condition(old, next, now), lastUpdateTime: timestamp(now) } : condition(old, next, now);
  return { conditions: [available, progressing], lookAgainMs: isStuck ? undefined : Math.max(1_000, deadlineMs - sinceMs) };
}

/** Keeps the times of a condition that says the same as before. */
function condition(old: readonly Condition[] | undefined, next: Condition, now: Date): Condition {
  const before = conditionOf(old, next.type);
  if (before?.status === next.status && before.reason === next.reason && before.message === next.message) return before;
  const time = timestamp(now);
  return { ...next, lastUpdateTime: time, lastTransitionTime: before?.status === next.status ? (before.lastTransitionTime ?? time) : time };
}
