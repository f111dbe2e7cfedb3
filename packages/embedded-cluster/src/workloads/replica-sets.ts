/** The controller of ReplicaSets: makes and removes pods until as many are there as wanted. */

import { type Component, ownerReference } from './component.ts';
import { collections, isActive, isReady, type Pod, type ReplicaSet } from './shapes.ts';

/** Pods that go first: those that never ran, then the ones that are not ready, then the youngest. Source: ActivePods in kubernetes/pkg/controller. */
const order = (pod: Pod) => `${Number(pod.spec.nodeName !== undefined)}${Number(isReady(pod))}`;
const byDeletionOrder = (a: Pod, b: Pod) =>
  order(a).localeCompare(order(b)) || b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp);

export function reconcileReplicaSet(component: Component, key: string): undefined {
  const set = component.get<ReplicaSet>(collections.replicaSets, key);
  if (set === undefined) return undefined;
  const pods = component.owned<Pod>(collections.pods, set).filter(isActive);
  if (set.metadata.deletionTimestamp === undefined) adjust(component, set, pods);
  writeStatus(component, set);
  return undefined;
}

function adjust(component: Component, set: ReplicaSet, pods: Pod[]): void {
  const missing = set.spec.replicas - pods.length;
  for (let made = 0; made < missing; made += 1) {
    const pod = component.create<Pod>(collections.pods, podOf(set), set.metadata.namespace);
    component.event(set, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
  }
  for (const pod of pods.toSorted(byDeletionOrder).slice(0, Math.max(0, -missing))) {
    component.remove(collections.pods, pod);
    component.event(set, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`);
  }
}

const podOf = (set: ReplicaSet) => ({
  metadata: { ...set.spec.template.metadata, generateName: `${set.metadata.name}-`, ownerReferences: [ownerReference(set)] },
  spec: structuredClone(set.spec.template.spec),
});

function writeStatus(component: Component, set: ReplicaSet): void {
  const pods = component.owned<Pod>(collections.pods, set).filter(isActive);
  const ready = pods.filter(isReady).length;
  component.setStatus(collections.replicaSets, set, {
    ...{ replicas: pods.length, fullyLabeledReplicas: pods.length, observedGeneration: set.metadata.generation },
    ...(ready > 0 && { readyReplicas: ready, availableReplicas: ready }),
  });
}
