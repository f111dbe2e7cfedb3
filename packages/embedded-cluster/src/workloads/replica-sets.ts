/** The controller of ReplicaSets: makes and removes pods until as many are there as wanted. */

import type { Component } from '../component.ts';
import { activePods, createPod, removePod, roomFor } from './owned-pods.ts';
import { collections, isReady, type Pod, type ReplicaSet } from './shapes.ts';

/** Pods that go first: those that never ran, then the ones that are not ready, then the youngest. Source: ActivePods in kubernetes/pkg/controller. */
const order = (pod: Pod) => `${Number(pod.spec.nodeName !== undefined)}${Number(isReady(pod))}`;
const byDeletionOrder = (a: Pod, b: Pod) =>
  order(a).localeCompare(order(b)) || b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp);

/** Pods that were refused, such as for a quota, are tried again. */
const retryMs = 10_000;

export function reconcileReplicaSet(component: Component, key: string): number | undefined {
  const set = component.get<ReplicaSet>(collections.replicaSets, key);
  if (set === undefined) return undefined;
  const pods = activePods(component, set);
  if (set.metadata.deletionTimestamp === undefined) adjust(component, set, pods);
  writeStatus(component, set);
  return activePods(component, set).length < set.spec.replicas ? retryMs : undefined;
}

function adjust(component: Component, set: ReplicaSet, pods: Pod[]): void {
  const missing = set.spec.replicas - pods.length;
  for (let made = roomFor(component, set, missing); made > 0; made -= 1) createPod(component, set, set.spec.template);
  for (const pod of pods.toSorted(byDeletionOrder).slice(0, Math.max(0, -missing))) removePod(component, set, pod);
}

function writeStatus(component: Component, set: ReplicaSet): void {
  const pods = activePods(component, set);
  const ready = pods.filter(isReady).length;
  component.setStatus(collections.replicaSets, set, {
    ...{ replicas: pods.length, fullyLabeledReplicas: pods.length, observedGeneration: set.metadata.generation },
    ...(ready > 0 && { readyReplicas: ready, availableReplicas: ready }),
  });
}
