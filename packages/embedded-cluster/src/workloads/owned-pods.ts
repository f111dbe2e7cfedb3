/** Pods of a controller: made from its template, bounded, and known by the hash of the template. */
import { StatusError } from '@atrium/objects/status.ts';
import { type Component, ownerReference } from '../component.ts';
import { at, type JsonObject, type StoredObject } from '../objects.ts';
import { collections, isActive, isReady, type Pod, type PodTemplate } from './shapes.ts';

/** Most pods of the cluster. A demo holds no more, whatever number of replicas is asked for. */
const maxPods = 300;

export const activePods = (component: Component, owner: StoredObject): Pod[] =>
  component.owned<Pod>(collections.pods, owner).filter(isActive);

/** Returns how many of the wanted pods the cluster has room for, and notes it where that is fewer. */
export function roomFor(component: Component, owner: StoredObject, wanted: number): number {
  if (wanted <= 0) return 0;
  const room = Math.max(0, maxPods - component.list(collections.pods).length);
  if (room < wanted) component.event(owner, 'Warning', 'FailedCreate', `the demo's cluster runs at most ${maxPods} pods`);
  return Math.min(room, wanted);
}

/**
 * Pods that go first: those that never ran, then the ones that are not ready, then the youngest. Source: ActivePods in
 * kubernetes/pkg/controller.
 */
const order = (pod: Pod) => `${Number(pod.spec.nodeName !== undefined)}${Number(isReady(pod))}`;
const byDeletionOrder = (a: Pod, b: Pod) =>
  order(a).localeCompare(order(b)) || b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp);

/** Creates or removes pods until as many are active as wanted. */
export function adjustPods(component: Component, owner: StoredObject, wanted: number, template: PodTemplate): void {
  const active = activePods(component, owner);
  for (let missing = roomFor(component, owner, wanted - active.length); missing > 0; missing -= 1) createPod(component, owner, template);
  for (const pod of active.sort(byDeletionOrder).slice(0, Math.max(0, active.length - wanted))) removePod(component, owner, pod);
}

interface Names {
  name?: string;
  generateName?: string;
  labels?: Record<string, string>;
  nodeName?: string;
}

/** Creates a pod, or notes why the API server refuses it, such as for a quota. */
export function createPod(component: Component, owner: StoredObject, template: PodTemplate, names: Names = {}): void {
  try {
    const pod = component.create<Pod>(collections.pods, podOf(owner, template, names), owner.metadata.namespace);
    component.event(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    component.event(owner, 'Warning', 'FailedCreate', `Error creating: ${error.message}`);
  }
}

function podOf(owner: StoredObject, template: PodTemplate, { labels = {}, nodeName, ...metadata }: Names): JsonObject {
  return {
    metadata: {
      ...{ ...template.metadata, generateName: `${owner.metadata.name}-`, ...metadata },
      ...{ labels: { ...template.metadata?.labels, ...labels }, ownerReferences: [ownerReference(owner)] },
    },
    spec: structuredClone({ ...template.spec, ...(nodeName && { affinity: pinnedTo(nodeName) }) }),
  };
}

export function removePod(component: Component, owner: StoredObject, pod: Pod): void {
  component.remove(collections.pods, pod);
  component.event(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`);
}

const pinnedPath = 'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.0.matchFields.0.values.0';

/** Returns the affinity by which the controller of DaemonSets pins a pod to a node. */
const pinnedTo = (nodeName: string) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] }],
    },
  },
});

/** Returns the node that a pod is pinned to. */
export const pinnedNode = ({ spec }: Pod) => at(spec, pinnedPath) as string | undefined;
