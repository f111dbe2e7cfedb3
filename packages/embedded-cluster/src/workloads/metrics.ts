/**
 * Usage of nodes and pods, in the form of metrics-server. No usage is measured: values are computed from names, requests and the time, so
 * that each reader gets the same ones.
 *
 * @see https://kubernetes.io/docs/tasks/debug/debug-cluster/resource-metrics-pipeline/
 */

import { hash } from 'node:crypto';
import { quantityOf } from '@atrium/objects/quantity.ts';
import { builtin } from '../builtins.ts';
import { column, nameColumn } from '../columns.ts';
import { at, controllerOf, type KubernetesObject, objectsAt, type StoredObject, timestamp } from '../objects.ts';
import type { Backend, ResourceType } from '../resources.ts';
import { runIn } from './images.ts';
import { allContainers, type ContainerSpec, collections, type Node, type Pod, statusesOf } from './shapes.ts';

/** The resolution of metrics-server. */
const windowMs = 15_000;
const measuredAt = (now: Date) => new Date(now.getTime() - (now.getTime() % windowMs));

const resources = ['cpu', 'memory'] as const;
type Resource = (typeof resources)[number];
/** Cores and bytes. */
type Usage = Record<Resource, number>;

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
export const amountOf = (container: ContainerSpec, member: string, resource: Resource): number =>
  quantityOf(String(at(container.resources, `${member}.${resource}`))) ?? (defaults[member] as Usage)[resource];

/** Number of replicas whose requests the load of a workload fills at its peak: with more replicas, each has less to do. */
const replicasAtHeight = 2;

interface Moment {
  now: Date;
  /** Start of the container. */
  startedAt: string;
  /** Running pods of the controller of the pod. */
  replicas: number;
}

function usageOf(pod: Pod, container: ContainerSpec, { now, startedAt, replicas }: Moment): Usage {
  const time = measuredAt(now).getTime();
  const place = `${pod.metadata.namespace}/${controllerOf(pod)?.name ?? pod.metadata.name}/${container.name}`;
  const own = wave(`${place}/${pod.metadata.name}`, time);
  const load = (replicasAtHeight / replicas) * (0.25 + 0.75 * wave(place, time)) * (0.9 + 0.2 * own);
  const kept = amountOf(container, 'requests', 'memory') * (0.5 + 0.3 * fraction(place) + 0.15 * own);
  return {
    cpu: Math.min(amountOf(container, 'requests', 'cpu') * load, amountOf(container, 'limits', 'cpu') * 0.95),
    memory: memoryOf(container, kept, now.getTime() - Date.parse(startedAt)),
  };
}

/** Returns the memory of a container. If it runs out of memory, its usage grows from its start up to its limit. */
function memoryOf(container: ContainerSpec, kept: number, runsMs: number): number {
  const most = amountOf(container, 'limits', 'memory');
  const { reason, endsAfterMs = windowMs } = runIn(container) ?? {};
  if (reason !== 'OOMKilled') return Math.min(kept, most * 0.9);
  return kept + Math.max(0, most - kept) * Math.min(1, Math.max(0, runsMs / endsAfterMs));
}

/** Returns the usage of each running container of the pods, at the last measurement. */
export function measure(pods: readonly Pod[], now: Date): { pod: Pod; containers: { name: string; usage: Usage }[] }[] {
  const workloadOf = (pod: Pod) => (controllerOf(pod) ?? pod.metadata).uid;
  const running = pods.filter(({ status }) => status.phase === 'Running');
  const siblings = Map.groupBy(running, workloadOf);
  return running.flatMap((pod) => {
    const replicas = siblings.get(workloadOf(pod))?.length ?? 1;
    const containers = allContainers(pod).flatMap((container) => {
      const startedAt = statusesOf(pod).find(({ name }) => name === container.name)?.state.running?.startedAt;
      return startedAt ? [{ name: container.name, usage: usageOf(pod, container, { now, startedAt, replicas }) }] : [];
    });
    return containers.length > 0 ? [{ pod, containers }] : [];
  });
}

/** Formats an amount: metrics-server counts CPU in nanocores and memory in KiB. */
const quantity = { cpu: (cores: number) => `${Math.round(cores * 1e9)}n`, memory: (bytes: number) => `${Math.round(bytes / 1024)}Ki` };
const quantities = ({ cpu, memory }: Usage) => ({ cpu: quantity.cpu(cpu), memory: quantity.memory(memory) });

/** Returns metrics of an object. Metrics are not written, so they have no uid and no version. */
const metricsOf = (kind: string, { metadata: { name, namespace, labels } }: StoredObject, now: Date, rest: object) =>
  ({
    ...{ kind, apiVersion: 'metrics.k8s.io/v1beta1' },
    metadata: { name, ...(namespace && { namespace }), creationTimestamp: timestamp(now), ...(labels && { labels }) },
    ...{ timestamp: timestamp(measuredAt(now)), window: `${windowMs / 1000}s`, ...rest },
  }) as unknown as StoredObject;

const measuredPods = ({ store, now }: Backend) => measure((store.list(collections.pods) ?? []) as Pod[], now());

const podMetrics = (backend: Backend, namespace?: string): StoredObject[] =>
  measuredPods(backend)
    .filter(({ pod }) => namespace === undefined || pod.metadata.namespace === namespace)
    .map(({ pod, containers }) => {
      const usages = containers.map(({ name, usage }) => ({ name, usage: quantities(usage) }));
      return metricsOf('PodMetrics', pod, backend.now(), { containers: usages });
    });

/** Returns the usage of the system, in addition to the pods. */
const systemUsage = (node: string, now: number): Usage => ({
  cpu: 0.12 + 0.1 * wave(node, now),
  memory: (700 + 300 * fraction(node) + 60 * wave(node, now)) * 1024 ** 2,
});

function nodeMetrics(backend: Backend): StoredObject[] {
  const [measured, now] = [measuredPods(backend), backend.now()];
  return ((backend.store.list(collections.nodes) ?? []) as Node[]).map((node) => {
    const usage = systemUsage(node.metadata.name, measuredAt(now).getTime());
    const own = measured.filter(({ pod }) => pod.spec.nodeName === node.metadata.name).flatMap(({ containers }) => containers);
    for (const container of own) for (const resource of resources) usage[resource] += container.usage[resource];
    return metricsOf('NodeMetrics', node, now, { usage: quantities(usage) });
  });
}

/** Adds up amounts of one resource, in the unit that metrics-server prints. */
function amountIn(object: KubernetesObject, resource: Resource): string {
  const parts = object.usage === undefined ? objectsAt(object, 'containers') : [object];
  return quantity[resource](parts.reduce((sum, part) => sum + (quantityOf(String(at(part, `usage.${resource}`))) ?? 0), 0));
}

const columns = [
  nameColumn,
  ...resources.map((resource) => column(resource, (object) => amountIn(object, resource), { format: 'quantity' })),
  column('Window', ({ window }) => window, { format: 'duration' }),
];

const text = { type: 'string' };

const metricsType = (resource: string, kind: string, member: string, computed: NonNullable<ResourceType['computed']>) =>
  builtin(`metrics.k8s.io/${resource}`, kind, {
    openAPISchema: { type: 'object', description: `Usage of ${resource}.`, properties: { timestamp: text, window: text, [member]: {} } },
    ...{ version: 'v1beta1', singular: '', verbs: ['get', 'list'], columns, namespaced: resource === 'pods', computed },
  });

/** Returns the metrics of all pods or nodes at another time, as if they had run then. */
export const metricsAt = (backend: Backend, resource: 'pods' | 'nodes', at: Date): StoredObject[] =>
  (resource === 'pods' ? podMetrics : nodeMetrics)({ ...backend, now: () => at });

export const metricsTypes = (): ResourceType[] => [
  metricsType('nodes', 'NodeMetrics', 'usage', nodeMetrics),
  metricsType('pods', 'PodMetrics', 'containers', podMetrics),
];
