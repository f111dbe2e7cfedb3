/**
 * Usage of nodes and pods, in the form of metrics-server. No usage is measured: values are computed from names, requests and the time, so
 * that each reader gets the same ones.
 *
 * @see https://kubernetes.io/docs/tasks/debug/debug-cluster/resource-metrics-pipeline/
 */

import { hash } from 'node:crypto';
import { quantityOf } from '../../../../src/api/printed-value.ts';
import { column, nameColumn } from '../columns.ts';
import { type KubernetesObject, objectsAt as listAt, type StoredObject, timestamp, valueAt } from '../objects.ts';
import type { Backend, ResourceType } from '../resources.ts';
import { runOf } from './images.ts';
import { any, stored } from './kind-rules.ts';
import { allContainers, type ContainerSpec, collections, controllerOf, type Node, type Pod, statusesOf } from './shapes.ts';

/** The resolution of metrics-server. */
const windowMs = 15_000;

/** Cores and bytes. */
interface Usage {
  cpu: number;
  memory: number;
}
const resources = ['cpu', 'memory'] as const;

const sumOf = (usages: readonly Usage[]): Usage => ({
  cpu: usages.reduce((sum, { cpu }) => sum + cpu, 0),
  memory: usages.reduce((sum, { memory }) => sum + memory, 0),
});

/** Returns a number from 0 to 1, always the same for a text. */
const fraction = (text: string) => Number.parseInt(hash('sha256', text).slice(0, 8), 16) / 0xffffffff;

/** Returns a wave between 0 and 1 with a period of 6 to 16 minutes, and a phase of its own for each name. */
function wave(name: string, now: number): number {
  const periodMs = (6 + 10 * fraction(name)) * 60_000;
  const turn = now / periodMs + fraction(`${name}/phase`);
  return 0.5 + 0.4 * Math.sin(2 * Math.PI * turn) + 0.1 * Math.sin(2 * Math.PI * turn * 5.3);
}

/** Defaults for requests and limits that a container omits. */
const defaults: Readonly<Record<string, Usage>> = {
  requests: { cpu: 0.02, memory: 48 * 1024 ** 2 },
  limits: { cpu: 1, memory: 1024 ** 3 },
};
export const amountOf = (container: ContainerSpec, member: string, resource: 'cpu' | 'memory'): number =>
  quantityOf(String(valueAt(container.resources, [member, resource]))) ?? (defaults[member] as Usage)[resource];

/** Number of replicas whose requests the load of a workload fills at its peak: with more replicas, each has less to do. */
const replicasAtHeight = 2;

interface Moment {
  /** The time of the measurement. */
  now: number;
  /** The time of the answer. */
  clock: number;
  /** Running pods of the controller of a pod. */
  replicas(pod: Pod): number;
}

function usageOf(pod: Pod, container: ContainerSpec, { now, clock, replicas }: Moment): Usage {
  const place = `${pod.metadata.namespace}/${controllerOf(pod)?.name ?? pod.metadata.name}/${container.name}`;
  const own = `${place}/${pod.metadata.name}`;
  const load = (replicasAtHeight / replicas(pod)) * (0.25 + 0.75 * wave(place, now)) * (0.9 + 0.2 * wave(own, now));
  const [cpu, memory] = resources.map((resource) => amountOf(container, 'requests', resource)) as [number, number];
  const started = statusesOf(pod).find(({ name }) => name === container.name)?.state.running?.startedAt;
  const [mostCpu, mostMemory] = resources.map((resource) => amountOf(container, 'limits', resource)) as [number, number];
  const kept = memory * (0.5 + 0.3 * fraction(place) + 0.15 * wave(own, now));
  return {
    cpu: Math.min(cpu * load, mostCpu * 0.95),
    memory: memoryOf(container, { kept, most: mostMemory, runsMs: clock - Date.parse(started ?? '') }),
  };
}

/** Returns the memory of a container. If it runs out of memory, its usage grows from its start up to its limit. */
function memoryOf({ image }: ContainerSpec, { kept, most, runsMs }: { kept: number; most: number; runsMs: number }): number {
  const { reason, endsAfterMs = windowMs } = runOf(image) ?? {};
  if (reason !== 'OOMKilled') return Math.min(kept, most * 0.9);
  return kept + Math.max(0, most - kept) * Math.min(1, Math.max(0, runsMs / endsAfterMs));
}

const runningContainers = (pod: Pod): ContainerSpec[] =>
  allContainers(pod).filter(({ name }) => statusesOf(pod).some((one) => one.name === name && one.state.running !== undefined));

/** Returns the usage of each running container of the pods, at the last measurement. */
export function measure(pods: readonly Pod[], now: Date): { pod: Pod; containers: { name: string; usage: Usage }[] }[] {
  const running = pods.filter(({ status }) => status.phase === 'Running');
  const counts = new Map<string | undefined, number>();
  for (const pod of running) counts.set(controllerOf(pod)?.uid, (counts.get(controllerOf(pod)?.uid) ?? 0) + 1);
  const moment: Moment = {
    now: measuredAt(now).getTime(),
    clock: now.getTime(),
    replicas: (pod) => (controllerOf(pod) === undefined ? 1 : (counts.get(controllerOf(pod)?.uid) ?? 1)),
  };
  return running
    .map((pod) => ({
      pod,
      containers: runningContainers(pod).map((container) => ({ name: container.name, usage: usageOf(pod, container, moment) })),
    }))
    .filter(({ containers }) => containers.length > 0);
}

const measuredAt = (now: Date) => new Date(now.getTime() - (now.getTime() % windowMs));

/** Formats amounts: metrics-server counts CPU in nanocores and memory in KiB. */
const quantities = ({ cpu, memory }: Usage) => ({ cpu: `${Math.round(cpu * 1e9)}n`, memory: `${Math.round(memory / 1024)}Ki` });

/** Returns metrics of an object. Metrics are not written, so they have no uid and no version. */
const metricsOf = (kind: string, { metadata }: StoredObject, now: Date, rest: object) => {
  const { name, namespace, labels } = metadata;
  return {
    ...{ kind, apiVersion: 'metrics.k8s.io/v1beta1' },
    metadata: { name, ...(namespace && { namespace }), creationTimestamp: timestamp(now), ...(labels && { labels }) },
    ...{ timestamp: timestamp(measuredAt(now)), window: `${windowMs / 1000}s` },
    ...rest,
  } as unknown as StoredObject;
};

function podMetrics({ store, now }: Backend, namespace?: string): StoredObject[] {
  const pods = (store.list(collections.pods) ?? []) as Pod[];
  return measure(pods, now())
    .filter(({ pod }) => namespace === undefined || pod.metadata.namespace === namespace)
    .map(({ pod, containers }) =>
      metricsOf('PodMetrics', pod, now(), { containers: containers.map(({ name, usage }) => ({ name, usage: quantities(usage) })) }),
    );
}

/** Returns the usage of the system, in addition to the pods. */
const systemUsage = (node: string, now: number): Usage => ({
  cpu: 0.12 + 0.1 * wave(node, now),
  memory: (700 + 300 * fraction(node) + 60 * wave(node, now)) * 1024 ** 2,
});

function nodeMetrics({ store, now }: Backend): StoredObject[] {
  const measured = measure((store.list(collections.pods) ?? []) as Pod[], now());
  return ((store.list(collections.nodes) ?? []) as Node[]).map((node) => {
    const own = measured.filter(({ pod }) => pod.spec.nodeName === node.metadata.name);
    const usages = own.flatMap(({ containers }) => containers.map(({ usage }) => usage));
    const system = systemUsage(node.metadata.name, measuredAt(now()).getTime());
    return metricsOf('NodeMetrics', node, now(), { usage: quantities(sumOf([system, ...usages])) });
  });
}

/** Adds up amounts of one resource, in the unit that metrics-server prints. */
function amountIn(object: KubernetesObject, resource: 'cpu' | 'memory'): string {
  const usages = object.usage === undefined ? listAt(object, 'containers').map(({ usage }) => usage) : [object.usage];
  const sum = usages.reduce((total: number, usage) => total + (quantityOf(String(valueAt(usage, [resource]))) ?? 0), 0);
  return resource === 'cpu' ? quantities({ cpu: sum, memory: 0 }).cpu : quantities({ cpu: 0, memory: sum }).memory;
}

const columns = [
  nameColumn,
  ...resources.map((resource) => column(resource, (object) => amountIn(object, resource), { format: 'quantity' })),
  column('Window', ({ window }) => window, { format: 'duration' }),
];

const measured = (resource: string, kind: string, description: string, computed: ResourceType['computed'], member: string) =>
  stored(
    `metrics.k8s.io/${resource}`,
    kind,
    description,
    {
      ...{ version: 'v1beta1', singular: '', hasStatus: false, verbs: ['get', 'list'], columns, namespaced: resource === 'pods' },
      ...(computed && { computed }),
    },
    ['timestamp', 'window', member].map(any),
  );

export const metricsTypes = (): ResourceType[] => [
  measured('nodes', 'NodeMetrics', 'Usage of a node.', nodeMetrics, 'usage'),
  measured('pods', 'PodMetrics', 'Usage of the containers of a pod.', podMetrics, 'containers'),
];
