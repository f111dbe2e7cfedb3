/** The columns of `kubectl get` for workloads, in the words and the order of kube-apiserver. */

import { podState } from '../../../../src/api/pod-state.ts';
import { ageColumn, column, nameColumn, since } from '../columns.ts';
import type { KubernetesObject } from '../objects.ts';
import type { Column } from '../resources.ts';
import { at, count, labelText, orNone, templateColumns, textsAt, wide } from './cells.ts';
import { controllerColumns } from './controller-columns.ts';
import { balancerAddresses, infrastructureColumns } from './infrastructure-columns.ts';

function restarts(object: KubernetesObject, now: Date): string {
  const { restarts: times, lastRestartAt } = podState(object);
  return times === 0 || lastRestartAt === undefined ? String(times) : `${times} (${since(lastRestartAt, now)} ago)`;
}

const podColumns = [
  nameColumn,
  column('Ready', (object) => `${podState(object).ready}/${podState(object).total}`),
  column('Status', (object) => podState(object).word),
  column('Restarts', restarts),
  ageColumn,
  column('IP', (object) => orNone(at(object, 'status.podIP')), wide),
  column('Node', (object) => orNone(at(object, 'spec.nodeName')), wide),
  column('Nominated Node', (object) => orNone(at(object, 'status.nominatedNodeName')), wide),
  column('Readiness Gates', () => '<none>', wide),
];

const deploymentColumns = [
  nameColumn,
  column('Ready', (object) => `${at(object, 'status.readyReplicas') ?? 0}/${at(object, 'spec.replicas') ?? 0}`),
  count('Up-to-date', 'status.updatedReplicas', 'string'),
  count('Available', 'status.availableReplicas', 'string'),
  ageColumn,
  ...templateColumns,
];

const replicaSetColumns = [
  nameColumn,
  count('Desired', 'spec.replicas'),
  count('Current', 'status.replicas'),
  count('Ready', 'status.readyReplicas'),
  ageColumn,
  ...templateColumns,
];

function nodeState(object: KubernetesObject): string {
  const conditions = (at(object, 'status.conditions') ?? []) as { type: string; status: string }[];
  const ready = conditions.find(({ type }) => type === 'Ready');
  const state = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return at(object, 'spec.unschedulable') === true ? `${state},SchedulingDisabled` : state;
}

const rolePrefix = 'node-role.kubernetes.io/';
const roles = (object: KubernetesObject) =>
  orNone(
    Object.keys(object.metadata.labels ?? {})
      .filter((label) => label.startsWith(rolePrefix))
      .map((label) => label.slice(rolePrefix.length))
      .sort()
      .join(','),
  );
const address = (type: string) => (object: KubernetesObject) => {
  const addresses = (at(object, 'status.addresses') ?? []) as { type: string; address: string }[];
  return orNone(addresses.find((one) => one.type === type)?.address);
};

const nodeColumns = [
  nameColumn,
  column('Status', nodeState),
  column('Roles', roles),
  ageColumn,
  column('Version', (object) => at(object, 'status.nodeInfo.kubeletVersion') ?? ''),
  column('Internal-IP', address('InternalIP'), wide),
  column('External-IP', address('ExternalIP'), wide),
  ...Object.entries({ 'OS-Image': 'osImage', 'Kernel-Version': 'kernelVersion', 'Container-Runtime': 'containerRuntimeVersion' }).map(
    ([name, member]) => column(name, (object) => at(object, `status.nodeInfo.${member}`) ?? '<unknown>', wide),
  ),
];

function ports(object: KubernetesObject): string {
  const list = (at(object, 'spec.ports') ?? []) as { port: number; nodePort?: number; protocol: string }[];
  return orNone(list.map(({ port, nodePort, protocol }) => `${port}${nodePort ? `:${nodePort}` : ''}/${protocol}`).join(','));
}

/** A load balancer without an address waits for one. */
function externalIP(object: KubernetesObject): string {
  const type = at(object, 'spec.type');
  if (type === 'ExternalName') return String(at(object, 'spec.externalName') ?? '');
  const addresses = [...(type === 'LoadBalancer' ? balancerAddresses(object) : []), ...textsAt(object, 'spec.externalIPs')];
  return addresses.join(',') || (type === 'LoadBalancer' ? '<pending>' : '<none>');
}

const serviceColumns = [
  nameColumn,
  column('Type', (object) => at(object, 'spec.type')),
  column('Cluster-IP', (object) => orNone(at(object, 'spec.clusterIP'))),
  column('External-IP', externalIP),
  column('Port(s)', ports),
  ageColumn,
  column('Selector', (object) => labelText(at(object, 'spec.selector')), wide),
];

export const columnsByKind: Readonly<Record<string, readonly Column[]>> = {
  Pod: podColumns,
  Node: nodeColumns,
  Service: serviceColumns,
  Deployment: deploymentColumns,
  ReplicaSet: replicaSetColumns,
  ...controllerColumns,
  ...infrastructureColumns,
};
