/** Checks of workloads that concern several members, in the words of kube-apiserver. Source: kubernetes/pkg/apis. */
import { isDeepStrictEqual } from 'node:util';
import { duplicate, type FieldError, forbidden, invalidValue, notFoundValue, notSupported, required } from '@atrium/objects/field-error.ts';
import { quantityOf } from '@atrium/objects/quantity.ts';
import { parseSchedule } from '@atrium/objects/schedule.ts';
import { formats } from '../kind-formats.ts';
import { at, isJsonObject, type JsonObject, type KubernetesObject, objectsAt, type StoredObject } from '../objects.ts';

const changed = (object: KubernetesObject, old: StoredObject | undefined, ...paths: readonly string[]): FieldError[] =>
  paths
    .filter((path) => old !== undefined && !isDeepStrictEqual(at(object, path), at(old, path)))
    .map((path) => invalidValue(path, at(object, path), 'field is immutable'));

/** Checks what the containers of a pod need from it and from each other. */
export function podErrors(spec: unknown, path: string): FieldError[] {
  const volumes = new Set(objectsAt(spec, 'volumes').map(({ name }) => name));
  const lists = ['initContainers', 'containers'] as const;
  const errors = lists.flatMap((list) =>
    objectsAt(spec, list).flatMap((container, index) => containerErrors(container, `${path}.${list}[${index}]`, volumes)),
  );
  return [...errors, ...initErrors(spec, path), ...tolerationErrors(spec, path)];
}

function containerErrors(container: JsonObject, path: string, volumes: ReadonlySet<unknown>): FieldError[] {
  const env = objectsAt(container, 'env').flatMap(({ value, valueFrom }, index) =>
    value && valueFrom !== undefined
      ? [invalidValue(`${path}.env[${index}].valueFrom`, '', 'may not be specified when `value` is not empty')]
      : [],
  );
  const mounts = objectsAt(container, 'volumeMounts').flatMap(({ name }, index) =>
    name && !volumes.has(name) ? [notFoundValue(`${path}.volumeMounts[${index}].name`, name)] : [],
  );
  const probes = ['livenessProbe', 'startupProbe'].flatMap((probe) => {
    const threshold = at(container, `${probe}.successThreshold`);
    return typeof threshold === 'number' && threshold > 1
      ? [invalidValue(`${path}.${probe}.successThreshold`, threshold, 'must be 1')]
      : [];
  });
  return [...env, ...mounts, ...probes, ...resourceErrors(container, `${path}.resources.requests`)];
}

function resourceErrors(container: JsonObject, path: string): FieldError[] {
  const limits = at(container, 'resources.limits');
  return Object.entries(at(container, 'resources.requests') ?? {}).flatMap(([resource, request]) => {
    const limit = isJsonObject(limits) ? limits[resource] : undefined;
    const [asked, most] = [request, limit].map((quantity) => quantityOf(String(quantity)));
    if (asked === undefined || most === undefined || asked <= most) return [];
    return [invalidValue(path, String(request), `must be less than or equal to ${resource} limit of ${limit}`)];
  });
}

const lasting = ['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'];

const initErrors = (spec: unknown, path: string): FieldError[] =>
  objectsAt(spec, 'initContainers').flatMap((container, index) =>
    container.restartPolicy === 'Always'
      ? []
      : lasting
          .filter((member) => container[member] !== undefined)
          .map((member) =>
            forbidden(`${path}.initContainers[${index}].${member}`, 'may not be set for init containers without restartPolicy=Always'),
          ),
  );

const tolerationErrors = (spec: unknown, path: string): FieldError[] =>
  objectsAt(spec, 'tolerations').flatMap(({ operator, value }, index) =>
    operator === 'Exists' && value
      ? [invalidValue(`${path}.tolerations[${index}].operator`, value, "value must be empty when `operator` is 'Exists'")]
      : [],
  );

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

function requirementErrors(selector: unknown, path: string): FieldError[] {
  return objectsAt(selector, 'matchExpressions').flatMap(({ key, operator, values }, index) => {
    const place = `${path}.matchExpressions[${index}]`;
    const hasValues = Array.isArray(values) && values.length > 0;
    const errors = (formats.labelKey?.(String(key ?? '')) ?? []).map((problem) => invalidValue(`${place}.key`, key, problem));
    if (!operators.includes(String(operator))) errors.push(invalidValue(`${place}.operator`, operator, 'not a valid selector operator'));
    else if (String(operator).endsWith('In') && !hasValues)
      errors.push(required(`${place}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    else if (!String(operator).endsWith('In') && hasValues)
      errors.push(forbidden(`${place}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    return errors;
  });
}

/** Reports whether labels fulfil a selector without mistakes. */
function isSelected(selector: unknown, labels: Readonly<Record<string, unknown>>): boolean {
  if (selector === undefined) return false;
  const wanted = Object.entries(at(selector, 'matchLabels') ?? {});
  const fulfils = ({ key, operator, values }: JsonObject) => {
    const value = labels[String(key)];
    if (operator === 'Exists') return value !== undefined;
    if (operator === 'DoesNotExist') return value === undefined;
    return (operator === 'In') === (value !== undefined && Array.isArray(values) && values.includes(value));
  };
  return wanted.every(([key, value]) => labels[key] === value) && objectsAt(selector, 'matchExpressions').every(fulfils);
}

interface Template {
  /** Kind in the message about an empty selector. */
  name: string;
  /** True if the API server refuses a missing selector by itself, beside the labels that it then does not match. */
  requiresSelector?: boolean;
}

/** Checks the template of a workload, and the selector that has to find its pods. */
function podTemplate(object: KubernetesObject, old: StoredObject | undefined, { name, requiresSelector = true }: Template): FieldError[] {
  const selector = at(object, 'spec.selector');
  const labels = (at(object, 'spec.template.metadata.labels') ?? null) as Record<string, unknown> | null;
  const wrong = requirementErrors(selector, 'spec.selector');
  const errors = selector === undefined && requiresSelector ? [required('spec.selector')] : wrong;
  const isBlank = isJsonObject(selector) && Object.values(selector).every((part) => Object.keys(part as object).length === 0);
  if (isBlank) errors.push(invalidValue('spec.selector', selector, `empty selector is invalid for ${name}`));
  if (wrong.length > 0) errors.push(invalidValue('spec.selector', selector, 'invalid label selector'));
  else if (!isSelected(selector, labels ?? {}))
    errors.push(invalidValue('spec.template.metadata.labels', labels, '`selector` does not match template `labels`'));
  const policy = at(object, 'spec.template.spec.restartPolicy');
  if (policy === 'OnFailure' || policy === 'Never') errors.push(notSupported('spec.template.spec.restartPolicy', policy, ['Always']));
  return [...errors, ...changed(object, old, 'spec.selector'), ...podErrors(at(object, 'spec.template.spec'), 'spec.template.spec')];
}

const isZero = (value: unknown): boolean => value === 0 || value === '0%';

export function deployment(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const errors = podTemplate(object, old, { name: 'deployment' });
  const { type, rollingUpdate } = (at(object, 'spec.strategy') ?? {}) as JsonObject;
  const [surge, unavailable] = [at(rollingUpdate, 'maxSurge'), at(rollingUpdate, 'maxUnavailable')];
  if (type === 'Recreate' && rollingUpdate !== undefined)
    errors.push(forbidden('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'"));
  else if (isZero(surge) && isZero(unavailable))
    errors.push(invalidValue('spec.strategy.rollingUpdate.maxUnavailable', unavailable, 'may not be 0 when `maxSurge` is 0'));
  const [ready, deadline] = ['minReadySeconds', 'progressDeadlineSeconds'].map((member) => at(object, `spec.${member}`));
  if (typeof deadline === 'number' && deadline <= Number(ready ?? 0))
    errors.push(invalidValue('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'));
  return errors;
}

export const replicaSet = (object: KubernetesObject, old: StoredObject | undefined): FieldError[] =>
  podTemplate(object, old, { name: 'deployment' });

export function daemonSet(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const path = 'spec.updateStrategy.rollingUpdate';
  const errors = podTemplate(object, old, { name: 'daemonset', requiresSelector: false });
  const isStuck = isZero(at(object, `${path}.maxSurge`)) && isZero(at(object, `${path}.maxUnavailable`));
  return isStuck ? [...errors, required(`${path}.maxUnavailable`, 'cannot be 0 when maxSurge is 0')] : errors;
}

/** Fields of a StatefulSet that can be changed, in the order in which the API server names them. */
const changeable = [
  ...['replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit'],
  ...['persistentVolumeClaimRetentionPolicy', 'minReadySeconds'],
];

export function statefulSet(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const fixed = ({ spec }: KubernetesObject) => Object.entries(spec ?? {}).filter(([key]) => !changeable.includes(key));
  if (old === undefined || isDeepStrictEqual(new Map(fixed(object)), new Map(fixed(old)))) {
    const claims = objectsAt(object, 'spec.volumeClaimTemplates').map((claim) => ({ name: at(claim, 'metadata.name') }));
    const spec = at(object, 'spec.template.spec');
    const volumes = [...objectsAt(spec, 'volumes'), ...claims];
    const withClaims = {
      ...object,
      spec: { ...(object.spec as JsonObject), template: { ...(at(object, 'spec.template') as JsonObject) } },
    };
    if (isJsonObject(spec)) withClaims.spec.template.spec = { ...spec, volumes };
    return podTemplate(withClaims, old, { name: 'statefulset' });
  }
  const names = changeable.map((name) => `'${name}'`);
  const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  return [forbidden('spec', `updates to statefulset spec for fields other than ${list} are forbidden`)];
}

function endingTemplate(spec: unknown, path: string): FieldError[] {
  const errors = podErrors(at(spec, 'template.spec'), `${path}.template.spec`);
  const policy = at(spec, 'template.spec.restartPolicy');
  if (policy === 'OnFailure' || policy === 'Never') return errors;
  return [...errors, required(`${path}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"')];
}

export function job(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const isIndexed = at(object, 'spec.completionMode') === 'Indexed';
  const fixed = ['spec.selector', 'spec.completionMode', 'spec.template', ...(isIndexed ? [] : ['spec.completions'])];
  return [...endingTemplate(object.spec, 'spec'), ...changed(object, old, ...fixed)];
}

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

/** The controller adds a suffix of 11 characters to the names of its Jobs. */
const longestCronJob = 52;

export function cronJob(object: KubernetesObject): FieldError[] {
  const { name = '' } = object.metadata;
  const errors =
    name.length > longestCronJob ? [invalidValue('metadata.name', name, `must be no more than ${longestCronJob} characters`)] : [];
  return [
    ...errors,
    ...scheduleErrors(at(object, 'spec.schedule')),
    ...zoneErrors(at(object, 'spec.timeZone')),
    ...endingTemplate(at(object, 'spec.jobTemplate.spec'), 'spec.jobTemplate.spec'),
  ];
}

export function service(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const type = at(object, 'spec.type');
  if (type === 'ExternalName') return at(object, 'spec.externalName') ? [] : [required('spec.externalName')];
  const ports = objectsAt(object, 'spec.ports');
  const isReachable = type === 'NodePort' || type === 'LoadBalancer';
  const errors = at(object, 'spec.clusterIP') !== 'None' && ports.length === 0 ? [required('spec.ports')] : [];
  for (const [index, { name, port, protocol, nodePort }] of ports.entries()) {
    const path = `spec.ports[${index}]`;
    if (ports.length > 1 && !name) errors.push(required(`${path}.name`));
    if (ports.slice(0, index).some((one) => one.port === port && one.protocol === protocol)) errors.push(duplicate(path, ports[index]));
    if (nodePort && !isReachable) errors.push(forbidden(`${path}.nodePort`, "may not be used when `type` is 'ClusterIP'"));
  }
  const policy = at(object, 'spec.externalTrafficPolicy');
  if (policy && !isReachable && !at(object, 'spec.externalIPs'))
    errors.push(invalidValue('spec.externalTrafficPolicy', policy, 'may only be set for externally-accessible services'));
  const [now, before] = [at(object, 'spec.clusterIP'), at(old, 'spec.clusterIP')];
  if (now && before && now !== before) errors.push(invalidValue('spec.clusterIPs[0]', [now], 'may not change once set'));
  return errors;
}

export function claim(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const fixed = ({ spec }: KubernetesObject) => {
    const { resources: _size, volumeName: _volume, volumeAttributesClassName: _class, ...rest } = (spec ?? {}) as JsonObject;
    return rest;
  };
  if (old === undefined || isDeepStrictEqual(fixed(object), fixed(old))) return [];
  const may = 'resources.requests and volumeAttributesClassName for bound claims';
  return [forbidden('spec', `spec is immutable after creation except ${may}`)];
}

export function ingress(object: KubernetesObject): FieldError[] {
  const rules = objectsAt(object, 'spec.rules');
  const preset = at(object, 'spec.defaultBackend');
  if (rules.length === 0 && !isJsonObject(preset))
    return [invalidValue('spec', object.spec, 'either `defaultBackend` or `rules` must be specified')];
  const errors = isJsonObject(preset) ? backendErrors(preset, 'spec.defaultBackend') : [];
  for (const [index, rule] of rules.entries())
    for (const [number, { path, pathType, backend }] of objectsAt(rule, 'http.paths').entries()) {
      const place = `spec.rules[${index}].http.paths[${number}]`;
      const isAbsolute = typeof path === 'string' && path.startsWith('/');
      if (!isAbsolute && (pathType === 'Exact' || pathType === 'Prefix'))
        errors.push(invalidValue(`${place}.path`, path ?? '', 'must be an absolute path'));
      errors.push(...backendErrors(backend, `${place}.backend`));
    }
  return errors;
}

function backendErrors(backend: unknown, path: string): FieldError[] {
  const { service: to, resource } = isJsonObject(backend) ? backend : {};
  if (resource !== undefined) return to === undefined ? [] : [invalidValue(path, '', 'cannot set both resource and service backends')];
  if (to === undefined) return [invalidValue(path, '', 'resource or service backend is required')];
  const [name, number] = [at(to, 'port.name'), at(to, 'port.number')];
  if (!name && !number) return [required(path, 'port name or number is required')];
  return name && number ? [invalidValue(path, '', 'cannot set both port name & port number')] : [];
}

/** The member of a metric that its type names. */
const metricSources: Readonly<Record<string, string>> = {
  ...{ Resource: 'resource', ContainerResource: 'containerResource', Pods: 'pods', Object: 'object', External: 'external' },
};

export function scaler(object: KubernetesObject): FieldError[] {
  const [least, most] = [Number(at(object, 'spec.minReplicas') ?? 0), Number(at(object, 'spec.maxReplicas') ?? 0)];
  const metrics = objectsAt(object, 'spec.metrics');
  const errors: FieldError[] = [];
  const version = at(object, 'spec.scaleTargetRef.apiVersion') ?? '';
  if (!String(version).includes('/'))
    errors.push(invalidValue('spec.scaleTargetRef.apiVersion', version, 'apiVersion must specify API group'));
  if (least < 1) errors.push(invalidValue('spec.minReplicas', least, 'must be greater than or equal to 1'));
  if (least === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External'))
    errors.push(forbidden('spec.metrics', 'must specify at least one Object or External metric to support scaling to zero replicas'));
  if (most < 1) errors.push(required('spec.maxReplicas', 'must be set and greater than 0'));
  if (most < least) errors.push(invalidValue('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`'));
  for (const [index, metric] of metrics.entries()) {
    const source = metricSources[String(metric.type)];
    if (source === undefined) errors.push(notSupported(`spec.metrics[${index}].type`, metric.type, Object.keys(metricSources).sort()));
    else if (metric[source] === undefined)
      errors.push(required(`spec.metrics[${index}].${source}`, 'must populate information for the given metric source'));
  }
  return errors;
}

export function budget(object: KubernetesObject): FieldError[] {
  const isBoth = ['spec.minAvailable', 'spec.maxUnavailable'].every((path) => at(object, path) !== undefined);
  return isBoth ? [invalidValue('spec', object.spec, 'minAvailable and maxUnavailable cannot be both set')] : [];
}

export const priorityClass = (object: KubernetesObject, old: StoredObject | undefined): FieldError[] =>
  old !== undefined && object.value !== old.value ? [forbidden('value', 'may not be changed in an update.')] : [];
