/** The controller of EndpointSlices: one slice for each Service with a selector, with the pods that it finds. */

import { type Component, ownerReference } from '../component.ts';
import type { StoredObject } from '../objects.ts';
import { collections, hasLabels, isReady, type Pod, type Service } from './shapes.ts';

export function reconcileEndpoints(component: Component, service: Service): undefined {
  const { metadata, spec } = service;
  if (spec.selector === undefined) return;
  const pods = component.list<Pod>(collections.pods, metadata.namespace).filter((pod) => isServing(pod) && hasLabels(pod, spec.selector));
  const [old] = component.owned<StoredObject>(collections.endpointSlices, service);
  const slice = { endpoints: pods.map(endpointOf), ports: portsOf(service, pods[0]) };
  if (old !== undefined) component.update(collections.endpointSlices, { ...old, ...slice });
  else createSlice(component, service, slice);
}

function createSlice(component: Component, service: Service, slice: object): void {
  const { name, namespace } = service.metadata;
  const labels = { 'kubernetes.io/service-name': name, 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io' };
  const own = { generateName: `${name}-`, labels, ownerReferences: [ownerReference(service)] };
  component.create(collections.endpointSlices, { metadata: own, addressType: 'IPv4', ...slice }, namespace);
}

/** A pod without an address, or at its end, serves nobody. */
const isServing = ({ status }: Pod) => status.podIP !== undefined && status.phase !== 'Succeeded' && status.phase !== 'Failed';

function endpointOf(pod: Pod) {
  const { name, namespace, uid, deletionTimestamp } = pod.metadata;
  const [serving, terminating] = [isReady(pod), deletionTimestamp !== undefined];
  return {
    addresses: [pod.status.podIP],
    conditions: { ready: serving && !terminating, serving, terminating },
    ...(pod.spec.nodeName && { nodeName: pod.spec.nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  };
}

/** Resolves names of ports by the containers of a pod. */
function portsOf({ spec }: Service, pod: Pod | undefined) {
  const named = (pod?.spec.containers ?? []).flatMap(({ ports }) => (ports ?? []) as { name?: string; containerPort: number }[]);
  return (spec.ports ?? []).map(({ name = '', port, targetPort, protocol = 'TCP' }) => ({
    ...{ name, protocol },
    port: typeof targetPort === 'string' ? named.find((one) => one.name === targetPort)?.containerPort : (targetPort ?? port),
  }));
}
