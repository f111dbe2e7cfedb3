/** Defaults and checks of pods, with their ephemeral containers. */

import { isDeepStrictEqual } from 'node:util';
import { duplicate, type FieldError, forbidden, notFoundValue, required } from '../../../../src/api/field-error.ts';
import { fill, objectIn } from '../defaults.ts';
import { containersIn, isJsonObject, type JsonObject, type KubernetesObject, objectsAt, type StoredObject, valueAt } from '../objects.ts';
import type { WriteRequest } from '../resources.ts';
import { containerErrors, fillPodSpec, specOf } from './kind-rules.ts';

export function preparePod(object: KubernetesObject, old: StoredObject | undefined): void {
  const spec = specOf(object);
  fillPodSpec(spec);
  fill(spec, { serviceAccountName: 'default', enableServiceLinks: true, priority: 0, preemptionPolicy: 'PreemptLowerPriority' });
  fill(spec, { serviceAccount: spec.serviceAccountName, tolerations: [] });
  const tolerations = spec.tolerations as JsonObject[];
  for (const key of ['not-ready', 'unreachable'].map((name) => `node.kubernetes.io/${name}`))
    if (!tolerations.some((one) => one.key === key || one.key === undefined))
      tolerations.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 });
  for (const container of containersIn(spec)) {
    const { limits } = objectIn(container, 'resources');
    if (isJsonObject(limits)) fill(objectIn(objectIn(container, 'resources'), 'requests'), limits);
  }
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

/** Fields of a running pod that can be changed, beside the images of its containers. */
const changeable = ['activeDeadlineSeconds', 'tolerations', 'terminationGracePeriodSeconds', 'nodeName'];

export function validatePod(object: KubernetesObject, old: StoredObject | undefined, { subresource }: WriteRequest): FieldError[] {
  if (old !== undefined && subresource === 'ephemeralcontainers') return [...ephemeralErrors(object), ...keptErrors(object, old)];
  const errors = containerErrors(object.spec, 'spec');
  if (old === undefined && objectsAt(specOf(object), ephemeral).length > 0)
    errors.push(forbidden(`spec.${ephemeral}`, 'cannot be set on create'));
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

const ephemeral = 'ephemeralContainers';
/** Fields of a container that an ephemeral one may not have, in the order of Go's struct. */
const refused = ['ports', 'resources', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'];
const refusal = 'cannot be set for an Ephemeral Container';

/** Source: validateEphemeralContainers in kubernetes/pkg/apis/core/validation. */
function ephemeralErrors(object: KubernetesObject): FieldError[] {
  const spec = specOf(object);
  const others = new Set(containersIn(spec).map(({ name }) => name));
  const names = new Set(others);
  return objectsAt(spec, ephemeral).flatMap((container, index) => {
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
  const added = objectsAt(specOf(object), ephemeral);
  return objectsAt(specOf(structuredClone(old)), ephemeral).flatMap((before) => {
    const now = added.find(({ name }) => name === before.name);
    if (now === undefined) return [forbidden(`spec.${ephemeral}`, `existing ephemeral containers "${before.name}" may not be removed\n`)];
    return isDeepStrictEqual(now, before)
      ? []
      : [forbidden(`spec.${ephemeral}`, `existing ephemeral containers "${before.name}" may not be changed\n`)];
  });
}
