/** Defaults and checks of pods, with their ephemeral containers. */
import { isDeepStrictEqual } from 'node:util';
import { duplicate, type FieldError, forbidden, notFoundValue, required } from '@atrium/objects/field-error.ts';
import { fill, objectIn } from '../defaults.ts';
import { at, containersIn, type JsonObject, type KubernetesObject, objectsAt, type StoredObject } from '../objects.ts';
import type { WriteRequest } from '../resources.ts';
import { podErrors } from './validation.ts';

const probe = {
  ...{ timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 },
  'httpGet?': { path: '/', scheme: 'HTTP' },
};
const containerDefaults = {
  resources: {},
  imagePullPolicy({ image }: JsonObject) {
    const text = String(image ?? '');
    const [, tag = 'latest'] = text.slice(text.lastIndexOf('/') + 1).split(/[:@]/);
    return tag === 'latest' ? 'Always' : 'IfNotPresent';
  },
  ...{ terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
  ...{ 'ports[]': { protocol: 'TCP' }, 'env[]': { 'valueFrom?': { 'fieldRef?': { apiVersion: 'v1' } } } },
  ...{ 'livenessProbe?': probe, 'readinessProbe?': probe, 'startupProbe?': probe },
};
const source = { defaultMode: 0o644 };

/** Defaults of pods, and of the pods in a template. */
export const podDefaults = {
  ...{ restartPolicy: 'Always', dnsPolicy: 'ClusterFirst', terminationGracePeriodSeconds: 30, schedulerName: 'default-scheduler' },
  securityContext: {},
  ...{ 'initContainers[]': containerDefaults, 'containers[]': containerDefaults, 'ephemeralContainers[]': containerDefaults },
  'volumes[]': { 'configMap?': source, 'secret?': source, 'downwardAPI?': source, 'projected?': source, 'hostPath?': { type: '' } },
};

export function preparePod(object: KubernetesObject): void {
  fill(object, { spec: podDefaults });
  const { tolerations } = object.spec as { tolerations: JsonObject[] };
  for (const key of ['not-ready', 'unreachable'].map((name) => `node.kubernetes.io/${name}`))
    if (!tolerations.some((one) => one.key === key || one.key === undefined))
      tolerations.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 });
}

export const podStatus = ({ spec }: KubernetesObject) => ({ phase: 'Pending', qosClass: qosClassOf(spec) });

/** Kubernetes documentation, "Pod Quality of Service Classes". */
function qosClassOf(spec: unknown): string {
  const resources = containersIn(spec).map((container) => container.resources);
  if (resources.every((one) => at(one, 'limits') === undefined && at(one, 'requests') === undefined)) return 'BestEffort';
  const isGuaranteed = resources.every((one) =>
    ['cpu', 'memory'].every((unit) => at(one, `limits.${unit}`) !== undefined && at(one, `limits.${unit}`) === at(one, `requests.${unit}`)),
  );
  return isGuaranteed ? 'Guaranteed' : 'Burstable';
}

/** Fields of a running pod that can be changed, beside the images of its containers. */
const changeable = ['activeDeadlineSeconds', 'tolerations', 'terminationGracePeriodSeconds', 'nodeName'];

export function validatePod(object: KubernetesObject, old: StoredObject | undefined, { subresource }: WriteRequest): FieldError[] {
  if (old !== undefined && subresource === 'ephemeralcontainers') return [...ephemeralErrors(object), ...keptErrors(object, old)];
  const errors = podErrors(object.spec, 'spec');
  if (old === undefined && objectsAt(object.spec, ephemeral).length > 0)
    errors.push(forbidden(`spec.${ephemeral}`, 'cannot be set on create'));
  if (old === undefined || errors.length > 0 || isDeepStrictEqual(fixedPart(object), fixedPart(old))) return errors;
  const may =
    'spec.containers[*].image,spec.initContainers[*].image,spec.activeDeadlineSeconds,spec.tolerations (only additions to existing tolerations)';
  return [forbidden('spec', `pod updates may not change fields other than \`${may}\``)];
}

function fixedPart(object: KubernetesObject): JsonObject {
  const spec: JsonObject = structuredClone(objectIn(structuredClone(object), 'spec'));
  for (const container of containersIn(spec)) delete container.image;
  for (const field of changeable) delete spec[field];
  return spec;
}

const ephemeral = 'ephemeralContainers';
/** Fields of a container that an ephemeral one may not have, in the order of Go's struct. */
const refused = ['ports', 'resources', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'];
const refusal = 'cannot be set for an Ephemeral Container';

/** Source: validateEphemeralContainers in kubernetes/pkg/apis/core/validation. */
function ephemeralErrors(object: KubernetesObject): FieldError[] {
  const others = new Set(containersIn(object.spec).map(({ name }) => name));
  const names = new Set(others);
  return objectsAt(object.spec, ephemeral).flatMap((container, index) => {
    const path = `spec.${ephemeral}[${index}]`;
    const { name, targetContainerName } = container;
    const errors = ['name', 'image'].filter((key) => !container[key]).map((key) => required(`${path}.${key}`));
    if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
    names.add(name);
    if (targetContainerName && !others.has(targetContainerName))
      errors.push(notFoundValue(`${path}.targetContainerName`, targetContainerName));
    const isSet = (field: string) => Object.keys(Object(container[field] ?? {}) as object).length > 0;
    return [...errors, ...refused.filter(isSet).map((field) => forbidden(`${path}.${field}`, refusal))];
  });
}

/** Ephemeral containers stay as they were begun. */
function keptErrors(object: KubernetesObject, old: StoredObject): FieldError[] {
  const added = objectsAt(object.spec, ephemeral);
  return objectsAt(old.spec, ephemeral).flatMap((before) => {
    const now = added.find(({ name }) => name === before.name);
    if (isDeepStrictEqual(now, before)) return [];
    const done = now === undefined ? 'removed' : 'changed';
    return [forbidden(`spec.${ephemeral}`, `existing ephemeral containers "${before.name}" may not be ${done}\n`)];
  });
}
