/** Storage, networking, autoscaling and limits. */

import { type FieldError, invalidValue, required } from '../../../../src/api/field-error.ts';
import { fill, objectIn } from '../defaults.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, objectsAt, type StoredObject, timestamp, valueAt } from '../objects.ts';
import type { ResourceType, WriteRequest } from '../resources.ts';
import { any, specOf, stored } from './kind-rules.ts';

const clusterWide = { namespaced: false } as const;
const plain = { hasStatus: false } as const;

const storageTypes = (): ResourceType[] => [
  stored('/persistentvolumeclaims', 'PersistentVolumeClaim', 'A request for storage.', {
    shortNames: ['pvc'],
    prepare: withSpec({ volumeMode: 'Filesystem' }, () => ({ phase: 'Pending' })),
    validate: validateClaim,
  }),
  stored('/persistentvolumes', 'PersistentVolume', 'Storage that a claim can have.', {
    ...clusterWide,
    shortNames: ['pv'],
    prepare: prepareVolume,
  }),
  stored(
    'storage.k8s.io/storageclasses',
    'StorageClass',
    'A class of volumes and their provisioner.',
    {
      ...{ ...clusterWide, ...plain, shortNames: ['sc'] },
      prepare: (object) => fill(object, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' }),
      validate: ({ provisioner }) => (provisioner ? [] : [required('provisioner')]),
    },
    ['provisioner', 'parameters', 'reclaimPolicy', 'volumeBindingMode', 'allowVolumeExpansion', 'mountOptions', 'allowedTopologies'].map(
      any,
    ),
  ),
];

const networkTypes = (): ResourceType[] => [
  stored('networking.k8s.io/ingresses', 'Ingress', 'Hosts and paths that lead to Services.', {
    ...{ hasGeneration: true, shortNames: ['ing'] },
    prepare: withSpec({}, () => ({ loadBalancer: {} })),
    validate: validateIngress,
  }),
  stored('networking.k8s.io/ingressclasses', 'IngressClass', 'The controller of Ingresses.', {
    ...{ ...clusterWide, ...plain, hasGeneration: true },
    validate: ({ spec }) => (valueAt(spec, ['controller']) ? [] : [required('spec.controller')]),
  }),
  stored('networking.k8s.io/networkpolicies', 'NetworkPolicy', 'Traffic that pods may have.', {
    ...{ ...plain, hasGeneration: true, shortNames: ['netpol'] },
    prepare: prepareNetworkPolicy,
  }),
  stored('/endpoints', 'Endpoints', 'Addresses of a Service.', { ...plain, shortNames: ['ep'], prepare: prepareEndpoints }, [
    any('subsets'),
  ]),
  stored(
    'discovery.k8s.io/endpointslices',
    'EndpointSlice',
    'Addresses of a Service, some of them.',
    { ...plain, hasGeneration: true, prepare: prepareSlice },
    ['addressType', 'endpoints', 'ports'].map(any),
  ),
];

const limitTypes = (): ResourceType[] => [
  stored('autoscaling/horizontalpodautoscalers', 'HorizontalPodAutoscaler', 'A number of replicas that follows their load.', {
    ...{ version: 'v2', shortNames: ['hpa'], categories: ['all'] },
    prepare: withSpec({ minReplicas: 1, metrics: [utilizationOfCpu] }, () => ({ desiredReplicas: 0, currentMetrics: null })),
    validate: validateScaler,
  }),
  stored('policy/poddisruptionbudgets', 'PodDisruptionBudget', 'Pods that must stay when nodes are drained.', {
    ...{ hasGeneration: true, shortNames: ['pdb'] },
    prepare: withSpec({}, () => ({ disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 })),
    validate: validateBudget,
  }),
  stored(
    'scheduling.k8s.io/priorityclasses',
    'PriorityClass',
    'A priority of pods.',
    { ...clusterWide, ...plain, hasGeneration: true, shortNames: ['pc'], prepare: preparePriority },
    ['value', 'globalDefault', 'description', 'preemptionPolicy'].map(any),
  ),
  stored('/resourcequotas', 'ResourceQuota', 'Limits on the resources of a namespace.', {
    shortNames: ['quota'],
    prepare: withSpec({}, () => ({})),
  }),
  stored('/limitranges', 'LimitRange', 'Limits on the resources of a container.', {
    ...plain,
    shortNames: ['limits'],
    prepare: prepareLimits,
  }),
];

export const infrastructureTypes = (): ResourceType[] => [...storageTypes(), ...networkTypes(), ...limitTypes()];

/** Returns the `prepare` that fills in members of the spec, and the first status. */
const withSpec = (defaults: JsonObject, status: () => JsonObject) => (object: KubernetesObject, old: StoredObject | undefined) => {
  fill(specOf(object), structuredClone(defaults));
  if (old === undefined) object.status = status();
};

function prepareVolume(object: KubernetesObject, old: StoredObject | undefined, { now }: WriteRequest): void {
  const spec = specOf(object);
  fill(spec, { volumeMode: 'Filesystem', persistentVolumeReclaimPolicy: 'Retain' });
  if (isJsonObject(spec.hostPath)) fill(spec.hostPath, { type: '' });
  if (old === undefined) object.status = { phase: 'Pending', lastPhaseTransitionTime: timestamp(now) };
}

function prepareEndpoints(object: KubernetesObject): void {
  for (const port of objectsAt(object, 'subsets').flatMap((subset) => objectsAt(subset, 'ports'))) fill(port, { protocol: 'TCP' });
}

const utilizationOfCpu = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
};

function prepareNetworkPolicy(object: KubernetesObject): void {
  const spec = specOf(object);
  const isOutgoing = objectsAt(spec, 'egress').length > 0;
  fill(spec, { podSelector: {}, policyTypes: ['Ingress', ...(isOutgoing ? ['Egress'] : [])] });
  const rules = [...objectsAt(spec, 'ingress'), ...objectsAt(spec, 'egress')];
  for (const port of rules.flatMap((rule) => objectsAt(rule, 'ports'))) fill(port, { protocol: 'TCP' });
}

function prepareSlice(object: KubernetesObject): void {
  fill(object, { endpoints: null, ports: null });
  for (const port of objectsAt(object, 'ports')) fill(port, { name: '', protocol: 'TCP' });
  for (const endpoint of objectsAt(object, 'endpoints')) fill(endpoint, { conditions: {} });
}

const preparePriority = (object: KubernetesObject) => {
  fill(object, { value: 0, preemptionPolicy: 'PreemptLowerPriority' });
};

function prepareLimits(object: KubernetesObject): void {
  for (const limit of objectsAt(specOf(object), 'limits')) {
    if (limit.type !== 'Container') continue;
    fill(objectIn(limit, 'default'), objectIn(limit, 'max'));
    fill(objectIn(limit, 'defaultRequest'), { ...objectIn(limit, 'min'), ...objectIn(limit, 'default') });
    for (const member of ['max', 'min']) if (Object.keys(objectIn(limit, member)).length === 0) delete limit[member];
  }
}

function validateClaim({ spec }: KubernetesObject): FieldError[] {
  const modes = valueAt(spec, ['accessModes']);
  const errors = Array.isArray(modes) && modes.length > 0 ? [] : [required('spec.accessModes', 'at least 1 access mode is required')];
  return valueAt(spec, ['resources', 'requests', 'storage']) === undefined ? [...errors, required('spec.resources[storage]')] : errors;
}

function validateIngress({ spec }: KubernetesObject): FieldError[] {
  const rules = isJsonObject(spec) ? objectsAt(spec, 'rules') : [];
  if (rules.length > 0 || valueAt(spec, ['defaultBackend']) !== undefined) return [];
  return [invalidValue('spec', spec, 'either `defaultBackend` or `rules` must be specified')];
}

function validateScaler({ spec }: KubernetesObject): FieldError[] {
  const [least, most] = ['minReplicas', 'maxReplicas'].map((member) => Number(valueAt(spec, [member]) ?? 0)) as [number, number];
  const reference = ['kind', 'name'].filter((member) => !valueAt(spec, ['scaleTargetRef', member]));
  const errors = reference.map((member) => required(`spec.scaleTargetRef.${member}`));
  if (most < 1) errors.push(invalidValue('spec.maxReplicas', most, 'must be greater than 0'));
  if (most < least) errors.push(invalidValue('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`'));
  return errors;
}

function validateBudget({ spec }: KubernetesObject): FieldError[] {
  const isBoth = ['minAvailable', 'maxUnavailable'].every((member) => valueAt(spec, [member]) !== undefined);
  return isBoth ? [invalidValue('spec', spec, 'minAvailable and maxUnavailable cannot be both set')] : [];
}
