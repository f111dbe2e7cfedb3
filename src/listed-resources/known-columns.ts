/** Columns of resources that every cluster has (docs/lists.md). */
import type { KubernetesObject, ResourceType } from '@atrium/kubernetes/resource.ts';
import { nodePressures, nodeWord, wordOf } from '@atrium/objects/object-state.ts';
import { isFinished, podAmounts } from '@atrium/objects/pod-resources.ts';
import { type PodState, podState } from '@atrium/objects/pod-state.ts';
import { quantityOf } from '@atrium/objects/quantity.ts';
import { reader } from '@atrium/objects/reader.ts';
import { qualified } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { type Column, type ColumnType, columnOf, shownText, type Value } from './columns.ts';

const at = (name: string, jsonPath: string, type: ColumnType = 'string'): Column[] => {
  const column = columnOf({ name, jsonPath, type });
  return column === undefined ? [] : [column];
};

/** Returns a column of a number that the API server omits if it is 0. */
const counted = (name: string, jsonPath: string): Column[] =>
  at(name, jsonPath, 'number').map((column) => ({ ...column, read: (object) => column.read(object) ?? 0 }));

const readReference = reader(z.object({ about: z.object({ kind: z.string(), name: z.string() }) }));

const computed = (name: string, type: ColumnType, read: (object: KubernetesObject) => Value): Column[] => [{ name, type, read }];

/**
 * Returns a column with the `Kind/name` of the object that an event is about. A filter compares the whole value, so that the view of an
 * object gets its own events alone.
 */
const reference = (name: string, member: string): Column[] => [
  {
    name,
    type: 'string',
    isWhole: true,
    read(object) {
      const { about } = readReference({ about: object[member] });
      return about ? `${about.kind ?? ''}/${about.name ?? ''}` : null;
    },
  },
];

/** State of an object as the console names it, which may be unknown. */
const state = computed('status', 'string', (object) => wordOf(object) || null);

const podStates = new WeakMap<KubernetesObject, PodState>();

/** Returns the state of a pod, computed once for the columns that show it. */
function stateOf(pod: KubernetesObject): PodState {
  const known = podStates.get(pod);
  if (known !== undefined) return known;
  const state = podState(pod);
  podStates.set(pod, state);
  return state;
}

/** Returns columns with the cores and bytes of a pod that still runs. */
const bounds = (bound: 'requests' | 'limits', suffix: string): Column[] =>
  ['cpu', 'memory'].flatMap((resource) =>
    computed(`${resource}${suffix}`, 'number', (pod) => (isFinished(pod) ? null : (podAmounts(pod, bound)[resource] ?? null))),
  );

const podColumns = [
  ...computed('status', 'string', (pod) => stateOf(pod).word),
  ...at('phase', '.status.phase'),
  ...computed('ready', 'string', (pod) => {
    const { ready, total } = stateOf(pod);
    return `${ready}/${total}`;
  }),
  ...computed('restarts', 'number', (pod) => stateOf(pod).restarts),
  ...at('node', '.spec.nodeName'),
  ...at('ip', '.status.podIP'),
  ...at('images', '.spec.containers[*].image'),
  ...bounds('requests', 'Requests'),
  ...bounds('limits', 'Limits'),
];

const imagesOfTemplate = at('images', '.spec.template.spec.containers[*].image');

const deploymentColumns = [
  ...state,
  ...at('replicas', '.spec.replicas', 'number'),
  ...counted('ready', '.status.readyReplicas'),
  ...counted('updated', '.status.updatedReplicas'),
  ...counted('available', '.status.availableReplicas'),
  ...imagesOfTemplate,
];

const statefulSetColumns = [
  ...state,
  ...at('replicas', '.spec.replicas', 'number'),
  ...counted('ready', '.status.readyReplicas'),
  ...counted('updated', '.status.updatedReplicas'),
  ...imagesOfTemplate,
];

const daemonSetColumns = [
  ...state,
  ...at('desired', '.status.desiredNumberScheduled', 'number'),
  ...at('current', '.status.currentNumberScheduled', 'number'),
  ...at('ready', '.status.numberReady', 'number'),
  ...at('updated', '.status.updatedNumberScheduled', 'number'),
  ...at('available', '.status.numberAvailable', 'number'),
  ...imagesOfTemplate,
];

const roleLabel = 'node-role.kubernetes.io/';
const oldRoleLabel = 'kubernetes.io/role';

const nodeRoles = ({ metadata: { labels = {} } }: KubernetesObject): string | null =>
  [
    ...new Set(
      Object.keys(labels).map((key) => (key === oldRoleLabel ? labels[key] : key.startsWith(roleLabel) ? key.slice(roleLabel.length) : '')),
    ),
  ]
    .filter(Boolean)
    .sort()
    .join() || null;

const readAllocatable = reader(z.object({ status: z.object({ allocatable: z.object({ cpu: z.string(), memory: z.string() }) }) }));

/** Returns a column with the cores or bytes that pods of a node can request. */
const allocatable = (resource: 'cpu' | 'memory'): Column[] =>
  computed(`${resource}Allocatable`, 'number', (node) => quantityOf(readAllocatable(node).status?.allocatable?.[resource] ?? '') ?? null);

const nodeColumns = [
  ...computed('status', 'string', nodeWord),
  ...computed('roles', 'string', nodeRoles),
  ...at('ready', '.status.conditions[?(@.type=="Ready")].status', 'boolean'),
  ...computed('pressure', 'string', (node) => nodePressures(node) || null),
  ...at('unschedulable', '.spec.unschedulable', 'boolean'),
  ...at('version', '.status.nodeInfo.kubeletVersion'),
  ...at('internalIP', '.status.addresses[?(@.type=="InternalIP")].address'),
  ...at('os', '.status.nodeInfo.osImage'),
  ...allocatable('cpu'),
  ...allocatable('memory'),
];

const serviceColumns = [
  ...state,
  ...at('type', '.spec.type'),
  ...at('clusterIP', '.spec.clusterIP'),
  ...at('externalIP', '.status.loadBalancer.ingress[*].ip'),
  ...at('ports', '.spec.ports[*].port'),
];

const readCronJob = reader(z.object({ status: z.object({ active: z.array(z.unknown()) }) }));

const cronJobColumns = [
  ...state,
  ...at('schedule', '.spec.schedule'),
  ...at('timeZone', '.spec.timeZone'),
  ...at('suspend', '.spec.suspend', 'boolean'),
  ...computed('active', 'number', (cronJob) => readCronJob(cronJob).status?.active?.length ?? 0),
  ...at('lastSchedule', '.status.lastScheduleTime', 'date'),
  ...at('images', '.spec.jobTemplate.spec.template.spec.containers[*].image'),
];

const readIngress = reader(z.object({ spec: z.object({ tls: z.array(z.unknown()), rules: z.array(z.object({ host: z.string() })) }) }));

const ingressColumns = [
  ...state,
  ...at('class', '.spec.ingressClassName'),
  ...computed('hosts', 'string', (ingress) =>
    shownText((readIngress(ingress).spec?.rules ?? []).map(({ host }) => host ?? '*').join() || '*'),
  ),
  ...at('address', '.status.loadBalancer.ingress[*].ip'),
  ...at('hostname', '.status.loadBalancer.ingress[*].hostname'),
  ...computed('ports', 'string', (ingress) => ((readIngress(ingress).spec?.tls ?? []).length > 0 ? '80, 443' : '80')),
];

const claimColumns = [
  ...state,
  ...at('volume', '.spec.volumeName'),
  ...at('capacity', '.status.capacity.storage'),
  ...at('accessModes', '.status.accessModes'),
  ...at('storageClass', '.spec.storageClassName'),
];

const jobColumns = [
  ...state,
  ...at('complete', '.status.conditions[?(@.type=="Complete")].status', 'boolean'),
  ...at('failed', '.status.conditions[?(@.type=="Failed")].status', 'boolean'),
  ...at('completions', '.spec.completions', 'number'),
  ...counted('succeeded', '.status.succeeded'),
  ...at('startTime', '.status.startTime', 'date'),
  ...at('completionTime', '.status.completionTime', 'date'),
  ...imagesOfTemplate,
];

const readEventTimes = reader(
  z.object({
    series: z.object({ lastObservedTime: z.string() }),
    ...{ lastTimestamp: z.string(), deprecatedLastTimestamp: z.string(), firstTimestamp: z.string(), eventTime: z.string() },
  }),
);

/** Returns the last time of an event, as kubectl shows it. Source: printEvent of kube-apiserver. */
function lastSeen(event: KubernetesObject): string | null {
  const { series, lastTimestamp, deprecatedLastTimestamp, firstTimestamp, eventTime } = readEventTimes(event);
  const last = series?.lastObservedTime ?? lastTimestamp ?? deprecatedLastTimestamp ?? firstTimestamp ?? eventTime;
  return last ?? event.metadata.creationTimestamp ?? null;
}

const eventColumns = (about: { name: string; message: string }) => [
  ...reference('involvedObject', about.name),
  ...at('type', '.type'),
  ...at('reason', '.reason'),
  ...at('message', about.message),
  ...computed('lastSeen', 'date', lastSeen),
];

const coreEventColumns = [
  ...eventColumns({ name: 'involvedObject', message: '.message' }),
  ...at('count', '.count', 'number'),
  ...at('source', '.source.component'),
  ...at('firstTimestamp', '.firstTimestamp', 'date'),
  ...at('lastTimestamp', '.lastTimestamp', 'date'),
];

const newEventColumns = [
  ...eventColumns({ name: 'regarding', message: '.note' }),
  ...at('count', '.series.count', 'number'),
  ...at('source', '.reportingController'),
  ...at('eventTime', '.eventTime', 'date'),
];

const known: Readonly<Record<string, readonly Column[]>> = {
  pods: podColumns,
  'deployments.apps': deploymentColumns,
  'statefulsets.apps': statefulSetColumns,
  'daemonsets.apps': daemonSetColumns,
  nodes: nodeColumns,
  namespaces: state,
  services: serviceColumns,
  'ingresses.networking.k8s.io': ingressColumns,
  persistentvolumeclaims: claimColumns,
  'jobs.batch': jobColumns,
  'cronjobs.batch': cronJobColumns,
  events: coreEventColumns,
  'events.events.k8s.io': newEventColumns,
};

export const knownColumns = (type: ResourceType): readonly Column[] => known[qualified(type)] ?? [];

/** Groups that the API server itself serves, whose resources have no custom resource definition. The chart has the same list. */
const ownGroups =
  /^([a-z]*|(admissionregistration|apiextensions|apiregistration|authentication|authorization|certificates|coordination|discovery|events|(flowcontrol|internal)\.apiserver|networking|node|rbac\.authorization|resource|scheduling|storage|storagemigration)\.k8s\.io)$/;

export const isDefined = ({ group }: ResourceType): boolean => !ownGroups.test(group);
