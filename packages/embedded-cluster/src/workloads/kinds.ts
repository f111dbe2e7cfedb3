/** The kinds of workloads: what data/kinds.yaml names, with the rules that need code. Loaded by the demo alone. */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { dnsLabelProblems } from '@atrium/objects/labels.ts';
import { parse } from 'yaml';
import { builtin, type KindRules } from '../builtins.ts';
import { type Defaults, fill, objectIn } from '../defaults.ts';
import { at, type JsonObject, type KubernetesObject, objectsAt, type StoredObject, timestamp } from '../objects.ts';
import type { ResourceType } from '../resources.ts';
import { scale } from '../scale.ts';
import { columnsByKind } from './columns.ts';
import { metricsTypes } from './metrics.ts';
import { podDefaults, podStatus, preparePod, validatePod } from './pod-kind.ts';
import { podSubresources } from './pod-subresources.ts';
import * as validate from './validation.ts';

interface Kind extends Partial<ResourceType> {
  path: string;
  defaults?: Defaults;
  status?: JsonObject;
}

const kinds = parse(readFileSync(new URL('../../data/kinds.yaml', import.meta.url), 'utf8')) as Readonly<Record<string, Kind>>;

const template = { template: { spec: podDefaults } };

const rolling = (defaults: Defaults) => ({
  type: 'RollingUpdate',
  rollingUpdate: ({ type }: JsonObject) => (type === 'RollingUpdate' ? defaults : undefined),
});

/** Returns the `prepare` that fills in defaults of the spec that depend on others. */
const filling = (spec: Defaults) => ({ prepare: (object: KubernetesObject) => fill(object, { spec }) });

const rules: Readonly<Record<string, KindRules>> = {
  Pod: {
    ...{ prepare: preparePod, firstStatus: podStatus, validate: validatePod },
    ...{ specParts: { ephemeralcontainers: 'ephemeralContainers' }, answers: podSubresources },
  },
  Service: { nameProblems: dnsLabelProblems, prepare: prepareService, validate: validate.service },
  Deployment: {
    ...filling({ ...template, strategy: rolling({ maxSurge: '25%', maxUnavailable: '25%' }) }),
    ...{ validate: validate.deployment, answers: { scale } },
  },
  ReplicaSet: { ...filling(template), validate: validate.replicaSet, answers: { scale } },
  StatefulSet: {
    ...filling({ ...template, updateStrategy: rolling({ partition: 0 }) }),
    ...{ validate: validate.statefulSet, answers: { scale } },
  },
  DaemonSet: { prepare: prepareDaemonSet, validate: validate.daemonSet },
  Job: { prepare: prepareJob, validate: validate.job },
  CronJob: { ...filling({ jobTemplate: { spec: template } }), validate: validate.cronJob },
  PersistentVolumeClaim: { validate: validate.claim },
  PersistentVolume: { firstStatus: (_, { now }) => ({ phase: 'Pending', lastPhaseTransitionTime: timestamp(now) }) },
  Ingress: { validate: validate.ingress },
  NetworkPolicy: filling({ policyTypes: (spec: JsonObject) => ['Ingress', ...(objectsAt(spec, 'egress').length > 0 ? ['Egress'] : [])] }),
  HorizontalPodAutoscaler: { validate: validate.scaler },
  PodDisruptionBudget: { validate: validate.budget },
  PriorityClass: { validate: validate.priorityClass },
  LimitRange: { prepare: prepareLimits },
};

function typeOf(kind: string, { path, status, ...data }: Kind): ResourceType {
  const firstStatus = status === undefined ? {} : { firstStatus: () => structuredClone(status) };
  return builtin(path, kind, { columns: columnsByKind[kind] ?? [], ...firstStatus, ...data, ...rules[kind] });
}

/** The types that a cluster with workloads serves beside the others. */
export const workloadTypes = (): ResourceType[] => [...Object.entries(kinds).map(([kind, data]) => typeOf(kind, data)), ...metricsTypes()];

function prepareService(object: KubernetesObject, old: StoredObject | undefined): void {
  const spec = objectIn(object, 'spec');
  const isReachedByNodes = spec.type === 'NodePort' || spec.type === 'LoadBalancer';
  if (spec.type !== 'ExternalName') {
    const clusterIP = at(old, 'spec.clusterIP') ?? `10.96.${randomInt(1, 250)}.${randomInt(2, 250)}`;
    fill(spec, { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack', internalTrafficPolicy: 'Cluster', clusterIP });
    fill(spec, { clusterIPs: [spec.clusterIP] });
  }
  if (isReachedByNodes || (Array.isArray(spec.externalIPs) && spec.type !== 'ExternalName'))
    fill(spec, { externalTrafficPolicy: 'Cluster' });
  if (spec.type === 'LoadBalancer') fill(spec, { allocateLoadBalancerNodePorts: true });
  if (isReachedByNodes) fill(spec, { 'ports[]': { nodePort: () => randomInt(30_000, 32_768) } });
}

const templateGeneration = 'deprecated.daemonset.template.generation';

function prepareDaemonSet(object: KubernetesObject, old: StoredObject | undefined): void {
  fill(object, { spec: { ...template, updateStrategy: rolling({ maxSurge: 0, maxUnavailable: 1 }) } });
  const number = Number(old?.metadata.annotations?.[templateGeneration] ?? 0);
  const isNew = !isDeepStrictEqual(at(old, 'spec.template'), at(object, 'spec.template'));
  object.metadata.annotations = { ...object.metadata.annotations, [templateGeneration]: String(isNew ? number + 1 : number) };
}

/** Labels the pods of a new Job by its uid, and selects them. */
function prepareJob(object: KubernetesObject, old: StoredObject | undefined): void {
  const spec = objectIn(object, 'spec');
  if (spec.parallelism === undefined) fill(spec, { completions: 1, parallelism: 1 });
  fill(spec, template);
  if (old !== undefined) return;
  const { name, uid } = object.metadata;
  fill(spec, { manualSelector: false });
  if (spec.manualSelector === true || uid === undefined) return;
  const metadata = objectIn(objectIn(spec, 'template'), 'metadata');
  const own = { 'controller-uid': uid, 'job-name': name };
  const prefixed = Object.fromEntries(Object.entries(own).map(([key, value]) => [`batch.kubernetes.io/${key}`, value]));
  metadata.labels = { ...objectIn(metadata, 'labels'), ...prefixed, ...own };
  object.metadata.labels ??= { ...(metadata.labels as Record<string, string>) };
  spec.selector ??= { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
}

function prepareLimits(object: KubernetesObject): void {
  for (const limit of objectsAt(object, 'spec.limits').filter(({ type }) => type === 'Container')) {
    fill(limit, { default: limit.max ?? {} });
    fill(limit, { defaultRequest: { ...(limit.min as JsonObject | undefined), ...objectIn(limit, 'default') } });
  }
}
