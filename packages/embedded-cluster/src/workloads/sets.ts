/** The controllers of ReplicaSets, StatefulSets, whose pods have numbers, and DaemonSets, which have a pod on each node. */

import type { Component } from '../component.ts';
import { activePods, adjustPods, createPod, pinnedNode, removePod, roomFor } from './owned-pods.ts';
import { currentRevision, isOfRevision, labelOf } from './revisions.ts';
import {
  collections,
  type DaemonSet,
  hasLabels,
  isActive,
  isReady,
  type Node,
  type Pod,
  type PodTemplate,
  type ReplicaSet,
  type StatefulSet,
} from './shapes.ts';

/** Pods that were refused, such as for a quota, are tried again. */
const retryMs = 10_000;

export function reconcileReplicaSet(component: Component, set: ReplicaSet): number | undefined {
  adjustPods(component, set, set.spec.replicas, set.spec.template);
  const pods = activePods(component, set);
  const ready = pods.filter(isReady).length;
  component.setStatus(collections.replicaSets, set, {
    ...{ replicas: pods.length, fullyLabeledReplicas: pods.length, observedGeneration: set.metadata.generation },
    ...(ready > 0 && { readyReplicas: ready, availableReplicas: ready }),
  });
  return pods.length < set.spec.replicas ? retryMs : undefined;
}

const isSettled = (pods: readonly Pod[]) => pods.every((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined);

/** Returns the pod of an old template that goes next: a broken one at any time, one that serves only while all others do. */
function nextOutdated(pods: readonly Pod[], label: Record<string, string>): Pod | undefined {
  const outdated = pods.filter((pod) => isActive(pod) && !isOfRevision(label)(pod));
  return outdated.find((pod) => !isReady(pod)) ?? (isSettled(pods) ? outdated.at(-1) : undefined);
}

const ordinalOf = ({ metadata }: Pod) => Number(/-(\d+)$/.exec(metadata.name)?.[1] ?? -1);

export function reconcileStatefulSet(component: Component, set: StatefulSet): undefined {
  const updateRevision = currentRevision(component, set);
  stepStatefulSet(component, set, labelOf(set, updateRevision));
  const pods = activePods(component, set);
  const countOf = (revision: string) => pods.filter(isOfRevision(labelOf(set, revision))).length;
  const [ready, updatedReplicas] = [pods.filter(isReady).length, countOf(updateRevision)];
  const isComplete = [ready, updatedReplicas, pods.length].every((count) => count === set.spec.replicas);
  const current = isComplete ? updateRevision : (set.status?.currentRevision ?? updateRevision);
  component.setStatus(collections.statefulSets, set, {
    ...{ replicas: pods.length, readyReplicas: ready, availableReplicas: ready, currentReplicas: countOf(current), updatedReplicas },
    ...{ observedGeneration: set.metadata.generation, currentRevision: current, updateRevision, collisionCount: 0 },
  });
}

/** Returns the template with a volume for each claim of the pod, in the place of a volume with the same name. */
function withClaims({ metadata, spec: { template, volumeClaimTemplates = [] } }: StatefulSet, pod: string): PodTemplate {
  if (volumeClaimTemplates.length === 0) return template;
  const names = volumeClaimTemplates.map((claim) => claim.metadata.name);
  const ordinal = pod.slice(metadata.name.length + 1);
  const claims = names.map((name) => ({ name, persistentVolumeClaim: { claimName: `${name}-${metadata.name}-${ordinal}` } }));
  const { volumes = [] } = template.spec;
  return { ...template, spec: { ...template.spec, volumes: [...volumes.filter(({ name }) => !names.includes(name)), ...claims] } };
}

/** Steps by one pod, as OrderedReady demands: the next pod waits until those before it are ready. */
function stepStatefulSet(component: Component, set: StatefulSet, label: Record<string, string>): void {
  const all = component.owned<Pod>(collections.pods, set);
  const pods = all.filter(isActive).sort((a, b) => ordinalOf(a) - ordinalOf(b));
  const extra = pods.filter((pod) => ordinalOf(pod) >= set.spec.replicas).at(-1);
  const wanted = Array.from({ length: Math.min(set.spec.replicas, pods.length + 1) }, (_, index) => index);
  const missing = wanted.find((ordinal) => !all.some((pod) => ordinalOf(pod) === ordinal));
  const outdated = nextOutdated(all, label);
  if (extra !== undefined) removePod(component, set, extra);
  else if (missing !== undefined && isSettled(all) && roomFor(component, set, 1) === 1) {
    const name = `${set.metadata.name}-${missing}`;
    const labels = { ...label, 'statefulset.kubernetes.io/pod-name': name, 'apps.kubernetes.io/pod-index': String(missing) };
    createPod(component, set, withClaims(set, name), { name, labels });
  } else if (outdated !== undefined) removePod(component, set, outdated);
}

export function reconcileDaemonSet(component: Component, set: DaemonSet): undefined {
  const label = labelOf(set, currentRevision(component, set));
  const nodes = component.list<Node>(collections.nodes).filter((node) => hasLabels(node, set.spec.template.spec.nodeSelector));
  const names = nodes.map(({ metadata }) => metadata.name);
  stepDaemonSet(component, set, label, names);
  const pods = activePods(component, set);
  const ready = pods.filter(isReady).length;
  component.setStatus(collections.daemonSets, set, {
    ...{ desiredNumberScheduled: nodes.length, currentNumberScheduled: pods.length, numberMisscheduled: 0, numberReady: ready },
    ...{ updatedNumberScheduled: pods.filter(isOfRevision(label)).length, observedGeneration: set.metadata.generation },
    ...(ready > 0 && { numberAvailable: ready }),
    ...(ready < nodes.length && { numberUnavailable: nodes.length - ready }),
  });
}

/** Cordoned nodes run pods of DaemonSets, too. */
const daemonTolerations = [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' }];

function stepDaemonSet(component: Component, set: DaemonSet, label: Record<string, string>, nodes: readonly string[]): void {
  const { template } = set.spec;
  const nodeOf = (pod: Pod) => pinnedNode(pod) ?? pod.spec.nodeName ?? '';
  const all = component.owned<Pod>(collections.pods, set);
  const bare = nodes.filter((node) => !all.some((pod) => nodeOf(pod) === node));
  const tolerations = [...((template.spec.tolerations as object[] | undefined) ?? []), ...daemonTolerations];
  for (const nodeName of bare.slice(0, roomFor(component, set, bare.length)))
    createPod(component, set, { ...template, spec: { ...template.spec, tolerations } }, { labels: label, nodeName });
  for (const pod of activePods(component, set)) if (!nodes.includes(nodeOf(pod))) removePod(component, set, pod);
  const outdated = nextOutdated(all, label);
  if (outdated !== undefined && bare.length === 0) removePod(component, set, outdated);
}
