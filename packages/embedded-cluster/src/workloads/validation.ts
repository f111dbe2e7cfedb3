/** Checks of workloads that clients notice, in the words of kube-apiserver. Source: kubernetes/pkg/apis. */

import { type FieldError, invalidValue, required } from '../../../../src/api/field-error.ts';
import { at, isJsonObject, type KubernetesObject, objectsAt } from '../objects.ts';

/** Returns the check of members that are required. */
export const members =
  (...paths: readonly string[]) =>
  (object: KubernetesObject): FieldError[] =>
    paths.filter((path) => !at(object, path)).map((path) => required(path));

export function claim(object: KubernetesObject): FieldError[] {
  const modes = at(object, 'spec.accessModes');
  const errors = Array.isArray(modes) && modes.length > 0 ? [] : [required('spec.accessModes', 'at least 1 access mode is required')];
  return at(object, 'spec.resources.requests.storage') === undefined ? [...errors, required('spec.resources[storage]')] : errors;
}

export function ingress(object: KubernetesObject): FieldError[] {
  if (objectsAt(object, 'spec.rules').length > 0 || isJsonObject(at(object, 'spec.defaultBackend'))) return [];
  return [invalidValue('spec', object.spec, 'either `defaultBackend` or `rules` must be specified')];
}

export function scaler(object: KubernetesObject): FieldError[] {
  const [least, most] = [Number(at(object, 'spec.minReplicas') ?? 0), Number(at(object, 'spec.maxReplicas') ?? 0)];
  const errors = members('spec.scaleTargetRef.kind', 'spec.scaleTargetRef.name')(object);
  if (most < 1) errors.push(invalidValue('spec.maxReplicas', most, 'must be greater than 0'));
  if (most < least) errors.push(invalidValue('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`'));
  return errors;
}

export function budget(object: KubernetesObject): FieldError[] {
  const isBoth = ['spec.minAvailable', 'spec.maxUnavailable'].every((path) => at(object, path) !== undefined);
  return isBoth ? [invalidValue('spec', object.spec, 'minAvailable and maxUnavailable cannot be both set')] : [];
}
