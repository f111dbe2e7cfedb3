/** The columns of `kubectl get` for workloads, in the words and the order of kube-apiserver. */

import { ageColumn, column, nameColumn, since } from '../columns.ts';
import { type KubernetesObject, valueAt } from '../objects.ts';
import type { Column } from '../resources.ts';
import { podState } from './pod-state.ts';
import type { ContainerSpec, Pod } from './shapes.ts';

const count = (name: string, path: string, type = 'integer') => column(name, (object) => at(object, path) ?? 0, { type });
const text = (name: string, cell: Column['cell'], rest?: Partial<Column>) => column(name, cell, rest);
const wide = { priority: 1 };

const at = (object: KubernetesObject, path: string) => valueAt(object, path.split('.'));
const orNone = (value: unknown) => (value === undefined || value === '' ? '<none>' : String(value));
const labelText = (labels: unknown) =>
  orNone(
    Object.entries((labels ?? {}) as Record<string, string>)
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(','),
  );

const containers = (object: KubernetesObject) => (at(object, 'spec.template.spec.containers') ?? []) as ContainerSpec[];
const templateColumns = [
  text(
    'Containers',
    (object) =>
      containers(object)
        .map(({ name }) => name)
        .join(','),
    wide,
  ),
  text(
    'Images',
    (object) =>
      containers(object)
        .map(({ image }) => image)
        .join(','),
    wide,
  ),
  text('Selector', (object) => labelText(at(object, 'spec.selector.matchLabels')), wide),
];

const statusOf = (object: KubernetesObject) => podState(object as Pod);

function restarts(object: KubernetesObject, now: Date): string {
  const { restarts: times, lastRestartAt } = statusOf(object);
  return times === 0 || lastRestartAt === undefined ? String(times) : `${times} (${since(lastRestartAt, now)} ago)`;
}

const podColumns = [
  nameColumn,
  text('Ready', (object) => `${statusOf(object).ready}/${(object as Pod).spec.containers.length}`),
  text('Status', (object) => statusOf(object).word),
  text('Restarts', restarts),
  ageColumn,
  text('IP', (object) => orNone(at(object, 'status.podIP')), wide),
  text('Node', (object) => orNone(at(object, 'spec.nodeName')), wide),
  text('Nominated Node', (object) => orNone(at(object, 'status.nominatedNodeName')), wide),
  text('Readiness Gates', () => '<none>', wide),
];

const deploymentColumns = [
  nameColumn,
  text('Ready', (object) => `${at(object, 'status.readyReplicas') ?? 0}/${at(object, 'spec.replicas') ?? 0}`),
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
  text('Status', nodeState),
  text('Roles', roles),
  ageColumn,
  text('Version', (object) => at(object, 'status.nodeInfo.kubeletVersion') ?? ''),
  text('Internal-IP', address('InternalIP'), wide),
  text('External-IP', address('ExternalIP'), wide),
  ...Object.entries({ 'OS-Image': 'osImage', 'Kernel-Version': 'kernelVersion', 'Container-Runtime': 'containerRuntimeVersion' }).map(
    ([name, member]) => text(name, (object) => at(object, `status.nodeInfo.${member}`) ?? '<unknown>', wide),
  ),
];

function ports(object: KubernetesObject): string {
  const list = (at(object, 'spec.ports') ?? []) as { port: number; nodePort?: number; protocol: string }[];
  return orNone(list.map(({ port, nodePort, protocol }) => `${port}${nodePort ? `:${nodePort}` : ''}/${protocol}`).join(','));
}

const serviceColumns = [
  nameColumn,
  text('Type', (object) => at(object, 'spec.type')),
  text('Cluster-IP', (object) => orNone(at(object, 'spec.clusterIP'))),
  text('External-IP', () => '<none>'),
  text('Port(s)', ports),
  ageColumn,
  text('Selector', (object) => labelText(at(object, 'spec.selector')), wide),
];

export const columnsByKind: Readonly<Record<string, readonly Column[]>> = {
  Pod: podColumns,
  Node: nodeColumns,
  Service: serviceColumns,
  Deployment: deploymentColumns,
  ReplicaSet: replicaSetColumns,
};
