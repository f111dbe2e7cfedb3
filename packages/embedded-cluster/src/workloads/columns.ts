/** Formats of the columns of `kubectl get` for workloads. Source: kubernetes/pkg/printers/internalversion. */

import { podState } from '@atrium/objects/pod-state.ts';
import { since } from '../age.ts';
import { columnsOf, type Formats, kindsWithColumns, orNone } from '../columns.ts';
import { at, controllerOf, type JsonObject, type KubernetesObject, objectsAt } from '../objects.ts';
import type { Column } from '../resources.ts';

/** Joins the first members of a list, and counts the rest. */
function joined(texts: readonly unknown[], none = '<none>', most = 3, separator = ','): string {
  const more = texts.length > most ? ` + ${texts.length - most} more...` : '';
  return texts.length === 0 ? none : `${texts.slice(0, most).join(separator)}${more}`;
}

function restarts(object: KubernetesObject, now: Date): string {
  const { restarts: times, lastRestartAt } = podState(object);
  return times === 0 || lastRestartAt === undefined ? String(times) : `${times} (${since(lastRestartAt, now)} ago)`;
}

function readinessGates(gates: readonly JsonObject[], pod: KubernetesObject): string {
  const conditions = objectsAt(pod, 'status.conditions');
  const held = gates.filter(({ conditionType }) => conditions.find(({ type }) => type === conditionType)?.status === 'True');
  return gates.length === 0 ? '<none>' : `${held.length}/${gates.length}`;
}

function nodeState(ready: unknown, node: KubernetesObject): string {
  const state = ready === undefined ? 'Unknown' : ready === 'True' ? 'Ready' : 'NotReady';
  return at(node, 'spec.unschedulable') === true ? `${state},SchedulingDisabled` : state;
}

const rolePrefix = 'node-role.kubernetes.io/';
const nodeRoles = (labels: unknown) =>
  Object.entries((labels ?? {}) as Record<string, string>)
    .map(([label, value]) => (label === 'kubernetes.io/role' ? value : label.startsWith(rolePrefix) ? label.slice(rolePrefix.length) : ''))
    .filter(Boolean);

const servicePort = ({ port, nodePort, protocol }: JsonObject) => `${port}${nodePort ? `:${nodePort}` : ''}/${protocol}`;

const balancerAddresses = (ingress: readonly JsonObject[]) => ingress.map(({ ip, hostname }) => String(ip || hostname)).join(',');

/** A load balancer without an address waits for one. */
function serviceIP(type: unknown, object: KubernetesObject): string {
  if (type === 'ExternalName') return String(at(object, 'spec.externalName') ?? '');
  const balancer = type === 'LoadBalancer' ? balancerAddresses(objectsAt(object, 'status.loadBalancer.ingress')) : '';
  const external = (at(object, 'spec.externalIPs') ?? []) as string[];
  return [balancer, ...external].filter(Boolean).join(',') || (type === 'LoadBalancer' ? '<pending>' : '<none>');
}

function controllerName(object: KubernetesObject): string {
  const { apiVersion, kind, name } = controllerOf(object) ?? {};
  if (apiVersion === undefined || kind === undefined) return '<none>';
  const [group] = apiVersion.includes('/') ? apiVersion.split('/') : [''];
  return `${kind.toLowerCase()}${group ? `.${group}` : ''}/${name}`;
}

/** Conditions that decide the state of a Job, in their order; `Terminating` stands for the deletion. */
const jobConditions = ['Complete', 'Failed', 'Terminating', 'Suspended', 'FailureTarget', 'SuccessCriteriaMet'];

function jobState(held: readonly unknown[], { metadata }: KubernetesObject): string {
  const isHeld = (type: string) => held.includes(type) || (type === 'Terminating' && metadata.deletionTimestamp !== undefined);
  return jobConditions.find(isHeld) ?? 'Running';
}

function completions(done: unknown, job: KubernetesObject): string {
  const [wanted, parallelism] = [at(job, 'spec.completions'), at(job, 'spec.parallelism')];
  if (typeof wanted === 'number') return `${done ?? 0}/${wanted}`;
  return `${done ?? 0}/1${Number(parallelism) > 1 ? ` of ${parallelism}` : ''}`;
}

function duration(start: unknown, job: KubernetesObject, now: Date): string {
  const end = at(job, 'status.completionTime');
  return start === undefined ? '' : since(start, typeof end === 'string' ? new Date(end) : now);
}

const accessModes = { ReadWriteOnce: 'RWO', ReadOnlyMany: 'ROX', ReadWriteMany: 'RWX', ReadWriteOncePod: 'RWOP' };

function classParameters(reference: unknown): string {
  const { apiGroup, kind, name } = (reference ?? {}) as JsonObject;
  return reference === undefined ? '<none>' : `${kind}${apiGroup ? `.${apiGroup}` : ''}/${name}`;
}

function subsetAddresses(subset: JsonObject): string[] {
  const [ports, ips] = [objectsAt(subset, 'ports'), objectsAt(subset, 'addresses').map(({ ip }) => String(ip))];
  return ports.length === 0 ? ips : ports.flatMap(({ port }) => ips.map((ip) => `${ip}:${port}`));
}

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

function scalerTargets(metrics: readonly JsonObject[], scaler: KubernetesObject): string {
  const current = objectsAt(scaler, 'status.currentMetrics');
  const texts = metrics.map((metric, index) => metricText(metric, current[index]));
  return joined(texts, '<none>', 2, ', ');
}

function quotaAmounts(status: unknown, isLimit: boolean): string {
  const { hard = {}, used = {} } = (status ?? {}) as Record<string, Record<string, string>>;
  const names = Object.keys(hard).filter((name) => name.startsWith('limits.') === isLimit);
  const texts = names.sort().map((name) => `${name}: ${used[name] ?? 0}/${hard[name]}`);
  return texts.join(', ');
}

function className({ metadata: { name, annotations } }: KubernetesObject): string {
  return `${name}${annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true' ? ' (default)' : ''}`;
}

const formats: Formats = {
  amount: ([value]) => String(value ?? 'N/A'),
  unknown: ([value]) => value || '<unknown>',
  kernel: ([version, architecture]) => `${version || '<unknown>'}${architecture ? ` (${architecture})` : ''}`,
  gates: (gates, pod) => readinessGates(gates as JsonObject[], pod),
  True: ([value]) => (value === true ? 'True' : 'False'),
  slash: (values) => values.join('/'),
  someUnset: (values) => joined(values, '<unset>'),
  phase: ([phase = ''], { metadata }) => (metadata.deletionTimestamp === undefined ? phase : 'Terminating'),
  ready: ([ready = 0], object) => `${ready}/${at(object, 'spec.replicas') ?? 0}`,
  podReady: (_, pod) => `${podState(pod).ready}/${podState(pod).total}`,
  podWord: (_, pod) => podState(pod).word,
  restarts: (_, pod, now) => restarts(pod, now),
  nodeState: ([ready], node) => nodeState(ready, node),
  roles: ([labels]) => orNone([...new Set(nodeRoles(labels))].sort().join(',')),
  servicePorts: (ports) => orNone((ports as JsonObject[]).map(servicePort).join(',')),
  serviceIP: ([type], service) => serviceIP(type, service),
  controller: (_, revision) => controllerName(revision),
  jobState,
  completions: ([done], job) => completions(done, job),
  duration: ([start], job, now) => duration(start, job, now),
  modes: (given) =>
    Object.entries(accessModes)
      .flatMap(([mode, short]) => (given.includes(mode) ? [short] : []))
      .join(','),
  bound: ([value = ''], claim) => (at(claim, 'spec.volumeName') ? value : ''),
  className: (_, storageClass) => className(storageClass),
  hosts: (hosts) => joined(hosts.filter(Boolean), '*'),
  balancer: (ingress) => balancerAddresses(ingress as JsonObject[]),
  ingressPorts: ([tls]) => (tls === undefined ? '80' : '80, 443'),
  parameters: ([reference]) => classParameters(reference),
  subsets: (subsets) => joined((subsets as JsonObject[]).flatMap(subsetAddresses)),
  targets: (metrics, scaler) => scalerTargets(metrics as JsonObject[], scaler),
  requests: ([status]) => quotaAmounts(status, false),
  limits: ([status]) => quotaAmounts(status, true),
};

export const columnsByKind: Readonly<Record<string, readonly Column[]>> = Object.fromEntries(
  kindsWithColumns.map((kind) => [kind, columnsOf(kind, formats)]),
);
