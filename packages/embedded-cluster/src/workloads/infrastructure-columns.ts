/** The columns of storage, networking, autoscaling and limits. */

import { ageColumn, column, nameColumn } from '../columns.ts';
import type { JsonObject, KubernetesObject } from '../objects.ts';
import type { Column } from '../resources.ts';
import { at, count, field, joined, listAt, orNone, selectorText, textsAt, wide } from './cells.ts';

const modes: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
const accessModes = (path: string) =>
  column('Access Modes', (object) => {
    const given = textsAt(object, path);
    return Object.entries(modes)
      .flatMap(([mode, short]) => (given.includes(mode) ? [short] : []))
      .join(',');
  });
const attributesClass = column('VolumeAttributesClass', (object) => at(object, 'spec.volumeAttributesClassName') ?? '<unset>');
const volumeMode = column('VolumeMode', (object) => at(object, 'spec.volumeMode') ?? '<unset>', wide);
const phase = (object: KubernetesObject) =>
  object.metadata.deletionTimestamp === undefined ? (at(object, 'status.phase') ?? '') : 'Terminating';
const whenBound = (path: string) => (object: KubernetesObject) => (at(object, 'spec.volumeName') ? (at(object, path) ?? '') : '');

const claimColumns = [
  nameColumn,
  column('Status', phase),
  field('Volume', 'spec.volumeName'),
  column('Capacity', whenBound('status.capacity.storage')),
  accessModes('status.accessModes'),
  field('StorageClass', 'spec.storageClassName'),
  attributesClass,
  ageColumn,
  volumeMode,
];

function claimOf(object: KubernetesObject): string {
  const claim = at(object, 'spec.claimRef') as { namespace?: string; name?: string } | undefined;
  return claim === undefined ? '' : `${claim.namespace ?? ''}/${claim.name ?? ''}`;
}

const volumeColumns = [
  nameColumn,
  field('Capacity', 'spec.capacity.storage'),
  accessModes('spec.accessModes'),
  field('Reclaim Policy', 'spec.persistentVolumeReclaimPolicy'),
  column('Status', phase),
  column('Claim', claimOf),
  field('StorageClass', 'spec.storageClassName'),
  attributesClass,
  field('Reason', 'status.reason'),
  ageColumn,
  volumeMode,
];

const defaultClass = 'storageclass.kubernetes.io/is-default-class';
const storageClassColumns = [
  {
    ...nameColumn,
    cell: ({ metadata }: KubernetesObject) => `${metadata.name}${metadata.annotations?.[defaultClass] === 'true' ? ' (default)' : ''}`,
  },
  field('Provisioner', 'provisioner'),
  field('ReclaimPolicy', 'reclaimPolicy'),
  field('VolumeBindingMode', 'volumeBindingMode'),
  column('AllowVolumeExpansion', (object) => at(object, 'allowVolumeExpansion') === true),
  ageColumn,
];

/** Returns the addresses of a load balancer. */
export const balancerAddresses = (object: KubernetesObject) =>
  listAt(object, 'status.loadBalancer.ingress').map(({ ip, hostname }) => String(ip || hostname));

const hosts = (object: KubernetesObject) => listAt(object, 'spec.rules').flatMap(({ host }) => (host ? [String(host)] : []));
const ingressColumns = [
  nameColumn,
  column('Class', (object) => orNone(at(object, 'spec.ingressClassName'))),
  column('Hosts', (object) => joined(hosts(object), '*')),
  column('Address', (object) => balancerAddresses(object).join(',')),
  column('Ports', (object) => (listAt(object, 'spec.tls').length > 0 ? '80, 443' : '80')),
  ageColumn,
];

function parameters(object: KubernetesObject): string {
  const reference = at(object, 'spec.parameters') as { apiGroup?: string; kind: string; name: string } | undefined;
  return reference === undefined ? '<none>' : `${reference.kind}${reference.apiGroup ? `.${reference.apiGroup}` : ''}/${reference.name}`;
}

const ingressClassColumns = [nameColumn, field('Controller', 'spec.controller'), column('Parameters', parameters), ageColumn];
const policyColumns = [nameColumn, column('Pod-Selector', (object) => selectorText(at(object, 'spec.podSelector'))), ageColumn];

const endpoints = (object: KubernetesObject) =>
  listAt(object, 'subsets').flatMap((subset) => {
    const ports = listAt(subset, 'ports').map(({ port }) => port);
    const addresses = listAt(subset, 'addresses').map(({ ip }) => String(ip));
    return ports.length === 0 ? addresses : ports.flatMap((port) => addresses.map((ip) => `${ip}:${port}`));
  });
const endpointsColumns = [nameColumn, column('Endpoints', (object) => joined(endpoints(object), '<none>')), ageColumn];

const sliceColumns = [
  nameColumn,
  field('AddressType', 'addressType'),
  column('Ports', (object) =>
    joined(
      listAt(object, 'ports').map(({ port }) => String(port ?? '*')),
      '<unset>',
    ),
  ),
  column('Endpoints', (object) =>
    joined(
      listAt(object, 'endpoints').flatMap((endpoint) => textsAt(endpoint, 'addresses')),
      '<unset>',
    ),
  ),
  ageColumn,
];

/** Returns the current and the wanted figure of a metric of a HorizontalPodAutoscaler. */
function metricText(metric: JsonObject, current: JsonObject | undefined): string {
  const member = Object.keys(metric).find((key) => key !== 'type') ?? '';
  const name = at(metric, `${member}.name`) ?? at(metric, `${member}.metric.name`);
  const wanted = at(metric, `${member}.target.averageUtilization`);
  const [figure, unit] = wanted === undefined ? ['averageValue', ''] : ['averageUtilization', '%'];
  const now = at(current, `${member}.current.${figure}`);
  const target = wanted ?? at(metric, `${member}.target.averageValue`) ?? at(metric, `${member}.target.value`);
  const label = member === 'resource' ? `${name}: ` : '';
  return `${label}${now === undefined ? '<unknown>' : `${now}${unit}`}/${target}${unit}`;
}

function targets(object: KubernetesObject): string {
  const current = listAt(object, 'status.currentMetrics');
  const texts = listAt(object, 'spec.metrics').map((metric, index) => metricText(metric, current[index]));
  const more = texts.length > 2 ? ` + ${texts.length - 2} more...` : '';
  return texts.length === 0 ? '<none>' : `${texts.slice(0, 2).join(', ')}${more}`;
}

const scalerColumns = [
  nameColumn,
  column('Reference', (object) => `${at(object, 'spec.scaleTargetRef.kind')}/${at(object, 'spec.scaleTargetRef.name')}`),
  column('Targets', targets),
  column('MinPods', (object) => String(at(object, 'spec.minReplicas') ?? '<unset>')),
  count('MaxPods', 'spec.maxReplicas', 'string'),
  count('Replicas', 'status.currentReplicas', 'string'),
  ageColumn,
];

const amountOr = (path: string) => (object: KubernetesObject) => String(at(object, path) ?? 'N/A');
const budgetColumns = [
  nameColumn,
  column('Min Available', amountOr('spec.minAvailable')),
  column('Max Unavailable', amountOr('spec.maxUnavailable')),
  count('Allowed Disruptions', 'status.disruptionsAllowed'),
  ageColumn,
];

const priorityColumns = [
  nameColumn,
  count('Value', 'value'),
  column('Global-Default', (object) => at(object, 'globalDefault') === true, { type: 'boolean' }),
  ageColumn,
  field('PreemptionPolicy', 'preemptionPolicy'),
];

const amounts = (isLimit: boolean) => (object: KubernetesObject) => {
  const [hard, used] = ['hard', 'used'].map((member) => (at(object, `status.${member}`) ?? {}) as Record<string, string>);
  return Object.keys(hard ?? {})
    .filter((name) => name.startsWith('limits.') === isLimit)
    .sort()
    .map((name) => `${name}: ${used?.[name] ?? 0}/${hard?.[name]}`)
    .join(', ');
};
const quotaColumns = [nameColumn, column('Request', amounts(false)), column('Limit', amounts(true)), ageColumn];

export const infrastructureColumns: Readonly<Record<string, readonly Column[]>> = {
  PersistentVolumeClaim: claimColumns,
  PersistentVolume: volumeColumns,
  StorageClass: storageClassColumns,
  Ingress: ingressColumns,
  IngressClass: ingressClassColumns,
  NetworkPolicy: policyColumns,
  Endpoints: endpointsColumns,
  EndpointSlice: sliceColumns,
  HorizontalPodAutoscaler: scalerColumns,
  PodDisruptionBudget: budgetColumns,
  PriorityClass: priorityColumns,
  ResourceQuota: quotaColumns,
  LimitRange: [nameColumn, column('Created At', ({ metadata }) => metadata.creationTimestamp, { type: 'date' })],
};
