/** The controller of EndpointSlices: one slice for each Service with a selector, with the pods that it finds. */

import { isDeepStrictEqual } from 'node:util';
import { type Component, ownerReference } from '../component.ts';
import type { StoredObject } from '../objects.ts';
import { collections, isReady, type Pod, type Service } from './shapes.ts';

const serviceLabel = 'kubernetes.io/service-name';

export function reconcileEndpoints(component: Component, key: string): undefined {
  const service = component.get<Service>(collections.services, key);
  if (service === undefined || service.metadata.deletionTimestamp !== undefined || service.spec.selector === undefined) return undefined;
  const { name, namespace } = service.metadata;
  const pods = component.list<Pod>(collections.pods, namespace).filter((pod) => isSelected(service, pod));
  const [old] = component.owned<StoredObject>(collections.endpointSlices, service);
  const wanted = { endpoints: pods.map(endpointOf), ports: portsOf(service, pods[0]) };
  if (old !== undefined) {
    const next = { ...old, ...wanted };
    if (!isDeepStrictEqual(next, old)) component.update(collections.endpointSlices, next);
    return undefined;
  }
  const labels = { [serviceLabel]: name, 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io' };
  const metadata = { generateName: `${name}-`, labels, ownerReferences: [ownerReference(service)] };
  component.create(collections.endpointSlices, { metadata, addressType: 'IPv4', ...wanted }, namespace);
  return undefined;
}

/** A pod without an address, or at its end, serves nobody. */
const isSelected = ({ spec }: Service, { metadata, status }: Pod): boolean =>
  status.podIP !== undefined &&
  status.phase !== 'Succeeded' &&
  status.phase !== 'Failed' &&
  Object.entries(spec.selector ?? {}).every(([key, value]) => metadata.labels?.[key] === value);

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
