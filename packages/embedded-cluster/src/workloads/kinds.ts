/** The kinds of workloads: their defaults, the checks that clients notice, their Tables and subresources. Loaded by the demo alone. */

import { isDeepStrictEqual } from 'node:util';
import { type FieldError, forbidden, invalidValue, required } from '../../../../src/api/field-error.ts';
import { dnsLabelProblems } from '../../../../src/api/label-syntax.ts';
import { builtin } from '../builtins.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, type StoredObject, valueAt } from '../objects.ts';
import type { ResourceType, WriteRequest } from '../resources.ts';
import { columnsByKind } from './columns.ts';
import { podSubresources } from './pod-subresources.ts';
import { scale } from './scale.ts';

const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const kindSchema = (description: string): JsonObject => ({
  type: 'object',
  description,
  properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' }, spec: open, status: open },
});

type Given = Partial<ResourceType>;

const stored = (path: string, kind: string, description: string, given: Given): ResourceType =>
  builtin(path, kind, kindSchema(description), { hasStatus: true, columns: columnsByKind[kind] ?? [], ...given });

const controller = { hasGeneration: true, categories: ['all'], validate: validateWorkload } as const;

/** The types that a cluster with workloads serves beside the others. */
export const workloadTypes = (): ResourceType[] => [
  stored('/pods', 'Pod', 'Containers that run together on one node.', {
    shortNames: ['po'],
    categories: ['all'],
    selectableFields: ['spec.nodeName', 'spec.restartPolicy', 'spec.serviceAccountName', 'status.phase', 'status.podIP'],
    isGraceful: true,
    prepare: preparePod,
    validate: validatePod,
    answers: podSubresources,
  }),
  stored('/nodes', 'Node', 'A machine that runs pods.', {
    namespaced: false,
    shortNames: ['no'],
    selectableFields: ['spec.unschedulable'],
  }),
  stored('/services', 'Service', 'An address for the pods that a selector finds.', {
    shortNames: ['svc'],
    categories: ['all'],
    nameProblems: dnsLabelProblems,
    prepare: prepareService,
  }),
  stored('apps/deployments', 'Deployment', 'Pods that are replaced a few at a time.', {
    ...controller,
    shortNames: ['deploy'],
    prepare: prepareDeployment,
    answers: { scale },
  }),
  stored('apps/replicasets', 'ReplicaSet', 'A number of pods of one template.', {
    ...controller,
    shortNames: ['rs'],
    prepare: prepareReplicaSet,
    answers: { scale },
  }),
];

/** Fills in members that are missing. */
function fill(target: JsonObject, defaults: JsonObject): void {
  for (const [key, value] of Object.entries(defaults)) target[key] ??= value;
}

const specOf = (object: KubernetesObject): JsonObject => {
  if (!isJsonObject(object.spec)) object.spec = {};
  return object.spec as JsonObject;
};

function fillPodSpec(spec: JsonObject): void {
  fill(spec, { restartPolicy: 'Always', dnsPolicy: 'ClusterFirst', terminationGracePeriodSeconds: 30, schedulerName: 'default-scheduler' });
  fill(spec, { securityContext: {} });
  for (const container of containersIn(spec)) {
    const image = typeof container.image === 'string' ? container.image : '';
    const [, tag = 'latest'] = image.slice(image.lastIndexOf('/')).split(/[:@]/);
    const pullPolicy = tag === 'latest' ? 'Always' : 'IfNotPresent';
    fill(container, { resources: {}, imagePullPolicy: pullPolicy });
    fill(container, { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' });
    for (const port of listIn(container, 'ports')) fill(port, { protocol: 'TCP' });
  }
}

const listIn = (parent: JsonObject, key: string): JsonObject[] => {
  const list = parent[key];
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
};
const containersIn = (spec: JsonObject) => [...listIn(spec, 'initContainers'), ...listIn(spec, 'containers')];

function preparePod(object: KubernetesObject, old: StoredObject | undefined): void {
  const spec = specOf(object);
  fillPodSpec(spec);
  fill(spec, { serviceAccountName: 'default', enableServiceLinks: true });
  if (old === undefined) object.status = { phase: 'Pending', qosClass: qosClassOf(spec) };
}

/** Kubernetes documentation, "Pod Quality of Service Classes". */
function qosClassOf(spec: JsonObject): string {
  const resources = containersIn(spec).map((container) => (isJsonObject(container.resources) ? container.resources : {}));
  const amounts = (of: JsonObject, member: string) => {
    const { cpu, memory } = isJsonObject(of[member]) ? of[member] : ({} as JsonObject);
    return { cpu, memory };
  };
  if (resources.every((one) => valueAt(one, ['limits']) === undefined && valueAt(one, ['requests']) === undefined)) return 'BestEffort';
  const isGuaranteed = resources.every((one) => {
    const [limits, requests] = [amounts(one, 'limits'), amounts(one, 'requests')];
    return limits.cpu !== undefined && limits.memory !== undefined && isDeepStrictEqual(limits, { ...limits, ...requests });
  });
  return isGuaranteed ? 'Guaranteed' : 'Burstable';
}

function prepareTemplate(object: KubernetesObject): JsonObject {
  const spec = specOf(object);
  fill(spec, { replicas: 1 });
  const template = valueAt(spec, ['template', 'spec']);
  if (isJsonObject(template)) fillPodSpec(template);
  return spec;
}

function prepareReplicaSet(object: KubernetesObject, old: StoredObject | undefined): void {
  prepareTemplate(object);
  if (old === undefined) object.status = { replicas: 0 };
}

function prepareDeployment(object: KubernetesObject, old: StoredObject | undefined): void {
  const spec = prepareTemplate(object);
  fill(spec, { revisionHistoryLimit: 10, progressDeadlineSeconds: 600, strategy: {} });
  const strategy = spec.strategy as JsonObject;
  fill(strategy, { type: 'RollingUpdate' });
  if (strategy.type === 'RollingUpdate') {
    fill(strategy, { rollingUpdate: {} });
    fill(strategy.rollingUpdate as JsonObject, { maxSurge: '25%', maxUnavailable: '25%' });
  }
  if (old === undefined) object.status = {};
}

function prepareService(object: KubernetesObject, old: StoredObject | undefined, { now }: WriteRequest): void {
  const spec = specOf(object);
  fill(spec, {
    type: 'ClusterIP',
    sessionAffinity: 'None',
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    internalTrafficPolicy: 'Cluster',
  });
  const clusterIP = valueAt(old, ['spec', 'clusterIP']) ?? `10.96.${now.getTime() % 250}.${Math.floor(Math.random() * 250) + 2}`;
  fill(spec, { clusterIP, clusterIPs: [clusterIP] });
  for (const port of listIn(spec, 'ports')) fill(port, { protocol: 'TCP', targetPort: port.port });
  if (old === undefined) object.status = { loadBalancer: {} };
}

function containerErrors(spec: unknown, path: string): FieldError[] {
  const containers = isJsonObject(spec) ? listIn(spec, 'containers') : [];
  if (containers.length === 0) return [required(`${path}.containers`)];
  return containers.flatMap((container, index) =>
    ['name', 'image'].filter((key) => !container[key]).map((key) => required(`${path}.containers[${index}].${key}`)),
  );
}

/** Fields of a running pod that can be changed, beside the images of its containers. */
const changeable = ['activeDeadlineSeconds', 'tolerations', 'terminationGracePeriodSeconds', 'nodeName', 'ephemeralContainers'];

function validatePod(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const errors = containerErrors(object.spec, 'spec');
  if (old === undefined || errors.length > 0 || isDeepStrictEqual(fixedPart(object), fixedPart(old))) return errors;
  const may =
    'spec.containers[*].image,spec.initContainers[*].image,spec.activeDeadlineSeconds,spec.tolerations (only additions to existing tolerations)';
  return [forbidden('spec', `pod updates may not change fields other than \`${may}\``)];
}

function fixedPart(object: KubernetesObject): JsonObject {
  const spec: JsonObject = structuredClone(specOf(structuredClone(object)));
  for (const container of containersIn(spec)) delete container.image;
  for (const field of changeable) delete spec[field];
  return spec;
}

function validateWorkload(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const errors = containerErrors(valueAt(object, ['spec', 'template', 'spec']), 'spec.template.spec');
  const selector = valueAt(object, ['spec', 'selector']);
  const wanted = valueAt(selector, ['matchLabels']);
  const labels = valueAt(object, ['spec', 'template', 'metadata', 'labels']);
  const given = isJsonObject(labels) ? labels : {};
  const replicas = valueAt(object, ['spec', 'replicas']);
  if (typeof replicas === 'number' && replicas < 0)
    errors.push(invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0'));
  if (!isJsonObject(wanted) || Object.keys(wanted).length === 0) errors.push(required('spec.selector'));
  else if (Object.entries(wanted).some(([key, value]) => given[key] !== value))
    errors.push(invalidValue('spec.template.metadata.labels', given, '`selector` does not match template `labels`'));
  if (old !== undefined && !isDeepStrictEqual(selector, valueAt(old, ['spec', 'selector'])))
    errors.push(invalidValue('spec.selector', selector, 'field is immutable'));
  return errors;
}
