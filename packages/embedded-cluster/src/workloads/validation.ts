/** Checks of workloads that clients notice, in the words of kube-apiserver. Source: kubernetes/pkg/apis. */
import { isDeepStrictEqual } from 'node:util';
import { type FieldError, forbidden, invalidValue, required } from '@atrium/objects/field-error.ts';
import { parseSchedule } from '@atrium/objects/schedule.ts';
import { at, isJsonObject, type KubernetesObject, objectsAt, type StoredObject } from '../objects.ts';

/** Returns the check of members that are required. */
export const members =
  (...paths: readonly string[]) =>
  (object: KubernetesObject): FieldError[] =>
    paths.filter((path) => !at(object, path)).map((path) => required(path));

const changed = (object: KubernetesObject, old: StoredObject | undefined, ...paths: readonly string[]): FieldError[] =>
  paths
    .filter((path) => old !== undefined && !isDeepStrictEqual(at(object, path), at(old, path)))
    .map((path) => invalidValue(path, at(object, path), 'field is immutable'));

export function containerErrors(spec: unknown, path: string): FieldError[] {
  const containers = objectsAt(spec, 'containers');
  if (containers.length === 0) return [required(`${path}.containers`)];
  return containers.flatMap((container, index) =>
    ['name', 'image'].filter((key) => !container[key]).map((key) => required(`${path}.containers[${index}].${key}`)),
  );
}

/** Checks the template of a workload, and the selector that has to find its pods. */
export function podTemplate(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const wanted = Object.entries(at(object, 'spec.selector.matchLabels') ?? {});
  const labels = (at(object, 'spec.template.metadata.labels') ?? {}) as Record<string, unknown>;
  const errors = wanted.length === 0 ? [required('spec.selector')] : [];
  if (wanted.some(([key, value]) => labels[key] !== value))
    errors.push(invalidValue('spec.template.metadata.labels', labels, '`selector` does not match template `labels`'));
  return [...errors, ...changed(object, old, 'spec.selector'), ...containerErrors(at(object, 'spec.template.spec'), 'spec.template.spec')];
}

export function replicated(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const replicas = at(object, 'spec.replicas');
  const errors = podTemplate(object, old);
  if (typeof replicas !== 'number' || replicas >= 0) return errors;
  return [...errors, invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0')];
}

/** Fields of a StatefulSet that can be changed, in the order in which the API server names them. */
const changeable = [
  ...['replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit'],
  ...['persistentVolumeClaimRetentionPolicy', 'minReadySeconds'],
];

export function statefulSet(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const fixed = ({ spec }: KubernetesObject) => Object.entries(spec ?? {}).filter(([key]) => !changeable.includes(key));
  if (old === undefined || isDeepStrictEqual(new Map(fixed(object)), new Map(fixed(old)))) return podTemplate(object, old);
  const names = changeable.map((name) => `'${name}'`);
  const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  return [forbidden('spec', `updates to statefulset spec for fields other than ${list} are forbidden`)];
}

function endingTemplate(spec: unknown, path: string): FieldError[] {
  const errors = containerErrors(at(spec, 'template.spec'), `${path}.template.spec`);
  const policy = at(spec, 'template.spec.restartPolicy');
  if (policy === 'OnFailure' || policy === 'Never') return errors;
  return [...errors, required(`${path}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"')];
}

export const job = (object: KubernetesObject, old: StoredObject | undefined): FieldError[] => [
  ...endingTemplate(object.spec, 'spec'),
  ...changed(object, old, 'spec.selector', 'spec.completionMode', 'spec.template'),
];

function scheduleErrors(schedule: unknown): FieldError[] {
  if (typeof schedule !== 'string' || schedule === '') return [required('spec.schedule')];
  if (parseSchedule(schedule) !== undefined) return [];
  const fields = schedule.trim().split(/\s+/);
  const isCounted = fields.length !== 5 && !schedule.startsWith('@');
  const problem = isCounted ? `expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]` : 'cron cannot parse it';
  return [invalidValue('spec.schedule', schedule, problem)];
}

function zoneErrors(zone: unknown): FieldError[] {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone === undefined ? undefined : String(zone) });
    return [];
  } catch {
    return [invalidValue('spec.timeZone', zone, `unknown time zone ${zone}`)];
  }
}

export const cronJob = (object: KubernetesObject): FieldError[] => [
  ...scheduleErrors(at(object, 'spec.schedule')),
  ...zoneErrors(at(object, 'spec.timeZone')),
  ...endingTemplate(at(object, 'spec.jobTemplate.spec'), 'spec.jobTemplate.spec'),
];

export function service(object: KubernetesObject): FieldError[] {
  if (at(object, 'spec.type') === 'ExternalName') return members('spec.externalName')(object);
  const needsPorts = at(object, 'spec.clusterIP') !== 'None' && objectsAt(object, 'spec.ports').length === 0;
  return needsPorts ? [required('spec.ports')] : [];
}

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
