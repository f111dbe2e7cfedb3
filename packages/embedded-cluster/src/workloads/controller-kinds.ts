/** StatefulSets, DaemonSets, their revisions, Jobs and CronJobs. */

import { isDeepStrictEqual } from 'node:util';
import { type FieldError, forbidden, invalidValue, required } from '../../../../src/api/field-error.ts';
import { fill, objectIn } from '../defaults.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, objectsAt, type StoredObject, valueAt } from '../objects.ts';
import type { ResourceType } from '../resources.ts';
import { scale } from '../scale.ts';
import { any, containerErrors, fillPodSpec, selectorErrors, specOf, stored } from './kind-rules.ts';

const controller = { hasGeneration: true, categories: ['all'] } as const;

export const controllerTypes = (): ResourceType[] => [
  stored('apps/statefulsets', 'StatefulSet', 'Pods that keep their names and their volumes.', {
    ...controller,
    shortNames: ['sts'],
    prepare: prepareStatefulSet,
    validate: validateStatefulSet,
    answers: { scale },
  }),
  stored('apps/daemonsets', 'DaemonSet', 'A pod on each node.', {
    ...controller,
    shortNames: ['ds'],
    prepare: prepareDaemonSet,
    validate: selectorErrors,
  }),
  stored('apps/controllerrevisions', 'ControllerRevision', 'A state that a controller can go back to.', { hasStatus: false }, [
    any('data'),
    any('revision'),
  ]),
  stored('batch/jobs', 'Job', 'Pods that run until enough of them have succeeded.', {
    ...controller,
    selectableFields: ['status.successful'],
    prepare: prepareJob,
    validate: validateJob,
  }),
  stored('batch/cronjobs', 'CronJob', 'Jobs that start by a schedule.', {
    ...controller,
    shortNames: ['cj'],
    prepare: prepareCronJob,
    validate: validateCronJob,
  }),
];

function prepareStatefulSet(object: KubernetesObject, old: StoredObject | undefined): void {
  const spec = specOf(object);
  fillPodSpec(objectIn(objectIn(spec, 'template'), 'spec'));
  fill(spec, { replicas: 1, podManagementPolicy: 'OrderedReady', revisionHistoryLimit: 10 });
  fill(spec, { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' } });
  const strategy = objectIn(spec, 'updateStrategy');
  fill(strategy, { type: 'RollingUpdate' });
  if (strategy.type === 'RollingUpdate') fill(objectIn(strategy, 'rollingUpdate'), { partition: 0 });
  for (const claim of objectsAt(spec, 'volumeClaimTemplates')) {
    fill(claim, { kind: 'PersistentVolumeClaim', apiVersion: 'v1', status: { phase: 'Pending' } });
    fill(objectIn(claim, 'spec'), { volumeMode: 'Filesystem' });
  }
  if (old === undefined) object.status = { replicas: 0, availableReplicas: 0 };
}

const templateGeneration = 'deprecated.daemonset.template.generation';

function prepareDaemonSet(object: KubernetesObject, old: StoredObject | undefined): void {
  const spec = specOf(object);
  fillPodSpec(objectIn(objectIn(spec, 'template'), 'spec'));
  fill(spec, { revisionHistoryLimit: 10 });
  const strategy = objectIn(spec, 'updateStrategy');
  fill(strategy, { type: 'RollingUpdate' });
  if (strategy.type === 'RollingUpdate') fill(objectIn(strategy, 'rollingUpdate'), { maxSurge: 0, maxUnavailable: 1 });
  const number = Number(old?.metadata.annotations?.[templateGeneration] ?? 0);
  const isNew = !isDeepStrictEqual(valueAt(old, ['spec', 'template']), spec.template);
  object.metadata.annotations = { ...object.metadata.annotations, [templateGeneration]: String(isNew ? number + 1 : number) };
  const none = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
  if (old === undefined) object.status = none;
}

function fillJobSpec(spec: JsonObject): void {
  const template = objectIn(spec, 'template');
  fill(template, { metadata: {} });
  fillPodSpec(objectIn(template, 'spec'));
}

function prepareJob(object: KubernetesObject, old: StoredObject | undefined): void {
  const spec = specOf(object);
  fillJobSpec(spec);
  if (spec.parallelism === undefined) fill(spec, { completions: 1 });
  fill(spec, {
    parallelism: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
  });
  const { name, uid } = object.metadata;
  if (old === undefined) fill(spec, { manualSelector: false });
  if (old === undefined) object.status = {};
  if (old !== undefined || spec.manualSelector === true || uid === undefined) return;
  const metadata = objectIn(objectIn(spec, 'template'), 'metadata');
  const own = { 'controller-uid': uid, 'job-name': name };
  const prefixed = Object.fromEntries(Object.entries(own).map(([key, value]) => [`batch.kubernetes.io/${key}`, value]));
  metadata.labels = { ...objectIn(metadata, 'labels'), ...prefixed, ...own };
  object.metadata.labels ??= { ...(metadata.labels as Record<string, string>) };
  spec.selector ??= { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
}

function prepareCronJob(object: KubernetesObject, old: StoredObject | undefined): void {
  const spec = specOf(object);
  const template = objectIn(spec, 'jobTemplate');
  fill(template, { metadata: {} });
  fillJobSpec(objectIn(template, 'spec'));
  fill(spec, { concurrencyPolicy: 'Allow', suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 });
  if (old === undefined) object.status = {};
}

/** Fields of a StatefulSet that can be changed, in the order in which the API server names them. */
const changeable = [
  ...['replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit'],
  ...['persistentVolumeClaimRetentionPolicy', 'minReadySeconds'],
];

function validateStatefulSet(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  if (old === undefined) return selectorErrors(object, old);
  const fixed = ({ spec }: KubernetesObject) =>
    Object.fromEntries(Object.entries(isJsonObject(spec) ? spec : {}).filter(([key]) => !changeable.includes(key)));
  if (isDeepStrictEqual(fixed(object), fixed(old))) return selectorErrors(object, old);
  const names = changeable.map((name) => `'${name}'`);
  const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  return [forbidden('spec', `updates to statefulset spec for fields other than ${list} are forbidden`)];
}

function templateErrors(spec: unknown, path: string): FieldError[] {
  const template = valueAt(spec, ['template', 'spec']);
  const policy = valueAt(template, ['restartPolicy']);
  const errors = containerErrors(template, `${path}.template.spec`);
  if (policy === 'OnFailure' || policy === 'Never') return errors;
  return [...errors, required(`${path}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"')];
}

function validateJob(object: KubernetesObject, old: StoredObject | undefined): FieldError[] {
  const fixed = ['selector', 'completionMode'].filter(
    (key) => old !== undefined && !isDeepStrictEqual(valueAt(object, ['spec', key]), valueAt(old, ['spec', key])),
  );
  const template = valueAt(object, ['spec', 'template']);
  if (old !== undefined && !isDeepStrictEqual(template, valueAt(old, ['spec', 'template']))) fixed.push('template');
  return [
    ...templateErrors(object.spec, 'spec'),
    ...fixed.map((key) => invalidValue(`spec.${key}`, valueAt(object, ['spec', key]), 'field is immutable')),
  ];
}

function scheduleErrors(schedule: unknown): FieldError[] {
  if (typeof schedule !== 'string' || schedule === '') return [required('spec.schedule')];
  const fields = schedule.trim().split(/\s+/);
  if (schedule.startsWith('@') || fields.length === 5) return [];
  return [invalidValue('spec.schedule', schedule, `expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`)];
}

function zoneErrors(zone: unknown): FieldError[] {
  if (zone === undefined) return [];
  try {
    new Intl.DateTimeFormat('en', { timeZone: String(zone) });
    return [];
  } catch {
    return [invalidValue('spec.timeZone', zone, `unknown time zone ${zone}`)];
  }
}

function validateCronJob({ spec }: KubernetesObject): FieldError[] {
  const job = valueAt(spec, ['jobTemplate', 'spec']);
  return [
    ...scheduleErrors(valueAt(spec, ['schedule'])),
    ...zoneErrors(valueAt(spec, ['timeZone'])),
    ...templateErrors(job, 'spec.jobTemplate.spec'),
  ];
}
