/** The columns of StatefulSets, DaemonSets, their revisions, Jobs and CronJobs. */

import { ageColumn, column, nameColumn, since } from '../columns.ts';
import type { KubernetesObject } from '../objects.ts';
import type { Column } from '../resources.ts';
import { at, containerColumns, count, field, labelText, listAt, orNone, selectorColumn, templateColumns } from './cells.ts';
import { controllerOf } from './shapes.ts';

const statefulSetColumns = [
  nameColumn,
  column('Ready', (object) => `${at(object, 'status.readyReplicas') ?? 0}/${at(object, 'spec.replicas') ?? 0}`),
  ageColumn,
  ...containerColumns('spec.template'),
];

const daemonSetColumns = [
  nameColumn,
  count('Desired', 'status.desiredNumberScheduled'),
  count('Current', 'status.currentNumberScheduled'),
  count('Ready', 'status.numberReady'),
  count('Up-to-date', 'status.updatedNumberScheduled'),
  count('Available', 'status.numberAvailable'),
  column('Node Selector', (object) => labelText(at(object, 'spec.template.spec.nodeSelector'))),
  ageColumn,
  ...templateColumns,
];

function controllerName(object: KubernetesObject): string {
  const owner = controllerOf(object);
  if (owner === undefined) return '<none>';
  const [group] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : [''];
  return `${owner.kind.toLowerCase()}${group ? `.${group}` : ''}/${owner.name}`;
}

const revisionColumns = [
  nameColumn,
  column('Controller', controllerName),
  column('Revision', (object) => at(object, 'revision')),
  ageColumn,
];

/** Conditions that decide the status of a Job, the first one that is true. */
const jobConditions = ['Complete', 'Failed'];
const laterJobConditions = ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'];

function jobState(object: KubernetesObject): string {
  const isTrue = (type: string) => listAt(object, 'status.conditions').some((one) => one.type === type && one.status === 'True');
  const deleted = object.metadata.deletionTimestamp === undefined ? undefined : 'Terminating';
  return jobConditions.find(isTrue) ?? deleted ?? laterJobConditions.find(isTrue) ?? 'Running';
}

function completions(object: KubernetesObject): string {
  const [wanted, done, parallelism] = ['spec.completions', 'status.succeeded', 'spec.parallelism'].map((path) => at(object, path));
  if (typeof wanted === 'number') return `${done ?? 0}/${wanted}`;
  return `${done ?? 0}/1${Number(parallelism) > 1 ? ` of ${parallelism}` : ''}`;
}

function duration(object: KubernetesObject, now: Date): string {
  const [start, end] = [at(object, 'status.startTime'), at(object, 'status.completionTime')];
  return start === undefined ? '' : since(start, typeof end === 'string' ? new Date(end) : now);
}

const jobColumns = [
  nameColumn,
  column('Status', jobState),
  column('Completions', completions),
  column('Duration', duration),
  ageColumn,
  ...templateColumns,
];

const cronJobColumns = [
  nameColumn,
  field('Schedule', 'spec.schedule'),
  column('Timezone', (object) => orNone(at(object, 'spec.timeZone'))),
  column('Suspend', (object) => (at(object, 'spec.suspend') === true ? 'True' : 'False'), { type: 'boolean' }),
  column('Active', (object) => listAt(object, 'status.active').length, { type: 'integer' }),
  column('Last Schedule', (object, now) => {
    const last = at(object, 'status.lastScheduleTime');
    return last === undefined ? '<none>' : since(last, now);
  }),
  ageColumn,
  ...containerColumns('spec.jobTemplate.spec.template'),
  selectorColumn,
];

export const controllerColumns: Readonly<Record<string, readonly Column[]>> = {
  StatefulSet: statefulSetColumns,
  DaemonSet: daemonSetColumns,
  ControllerRevision: revisionColumns,
  Job: jobColumns,
  CronJob: cronJobColumns,
};
