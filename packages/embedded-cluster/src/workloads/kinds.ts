/** The kinds of workloads: their defaults, the checks that clients notice, their Tables and subresources. Loaded by the demo alone. */

import { randomInt } from 'node:crypto';
import { type FieldError, invalidValue, required } from '../../../../src/api/field-error.ts';
import { dnsLabelProblems } from '../../../../src/api/label-syntax.ts';
import { fill } from '../defaults.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, objectsAt, type StoredObject, valueAt } from '../objects.ts';
import type { ResourceType } from '../resources.ts';
import { scale } from '../scale.ts';
import { controllerTypes } from './controller-kinds.ts';
import { infrastructureTypes } from './infrastructure-kinds.ts';
import { fillPodSpec, selectorErrors, specOf, stored } from './kind-rules.ts';
import { metricsTypes } from './metrics.ts';
import { preparePod, validatePod } from './pod-kind.ts';
import { podSubresources } from './pod-subresources.ts';

const controller = { hasGeneration: true, categories: ['all'], validate: validateWorkload } as const;

/** The types that a cluster with workloads serves beside the others. */
export const workloadTypes = (): ResourceType[] => [
  stored('/pods', 'Pod', 'Containers that run together on one node.', {
    shortNames: ['po'],
    categories: ['all'],
    selectableFields: ['spec.nodeName', 'spec.restartPolicy', 'spec.serviceAccountName', 'status.phase', 'status.podIP'],
    isGraceful: true,
    hasGeneration: true,
    prepare: preparePod,
    validate: validatePod,
    specParts: { ephemeralcontainers: 'ephemeralContainers' },
    answers: podSubresources,
  }),
  stored('/nodes', 'Node', 'A machine that runs pods.', {
    namespaced: false,
    shortNames: ['no'],
    selectableFields: ['spec.unschedulable'],
    prepare: (object) => void specOf(object),
  }),
  stored('/services', 'Service', 'An address for the pods that a selector finds.', {
    shortNames: ['svc'],
    categories: ['all'],
    nameProblems: dnsLabelProblems,
    prepare: prepareService,
    validate: validateService,
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
  ...controllerTypes(),
  ...infrastructureTypes(),
  ...metricsTypes(),
];

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

function prepareService(object: KubernetesObject, old: StoredObject | undefined): void {
  const spec = specOf(object);
  fill(spec, { type: 'ClusterIP', sessionAffinity: 'None' });
  if (spec.type !== 'ExternalName') fillAddresses(spec, old);
  for (const port of objectsAt(spec, 'ports')) fill(port, { protocol: 'TCP', targetPort: port.port });
  if (spec.type === 'NodePort' || spec.type === 'LoadBalancer') fillNodePorts(spec);
  if (old === undefined) object.status = { loadBalancer: {} };
}

function fillAddresses(spec: JsonObject, old: StoredObject | undefined): void {
  fill(spec, { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack', internalTrafficPolicy: 'Cluster' });
  fill(spec, { clusterIP: valueAt(old, ['spec', 'clusterIP']) ?? `10.96.${randomInt(1, 250)}.${randomInt(2, 250)}` });
  fill(spec, { clusterIPs: [spec.clusterIP] });
  if (Array.isArray(spec.externalIPs)) fill(spec, { externalTrafficPolicy: 'Cluster' });
}

function fillNodePorts(spec: JsonObject): void {
  fill(spec, { externalTrafficPolicy: 'Cluster', ...(spec.type === 'LoadBalancer' && { allocateLoadBalancerNodePorts: true }) });
  for (const port of objectsAt(spec, 'ports')) fill(port, { nodePort: randomInt(30_000, 32_768) });
}

function validateService({ spec }: KubernetesObject): FieldError[] {
  const [type, address] = [valueAt(spec, ['type']), valueAt(spec, ['clusterIP'])];
  if (type === 'ExternalName') return valueAt(spec, ['externalName']) ? [] : [required('spec.externalName')];
  return address !== 'None' && isJsonObject(spec) && objectsAt(spec, 'ports').length === 0 ? [required('spec.ports')] : [];
}

function validateWorkload(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const replicas = valueAt(object, ['spec', 'replicas']);
  const errors = selectorErrors(object, old);
  if (typeof replicas !== 'number' || replicas >= 0) return errors;
  return [...errors, invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0')];
}
