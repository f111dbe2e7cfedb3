/** The controllers of Jobs and CronJobs. */

import { type Component, ownerReference } from '../component.ts';
import { timestamp } from '../objects.ts';
import { nextMinute, runsAt } from './cron.ts';
import { activePods, adjustPods } from './owned-pods.ts';
import { type Condition, type CronJob, collections, conditionOf, conditionSince, isReady, type Job, type Pod } from './shapes.ts';

export function reconcileJob(component: Component, job: Job): undefined {
  if (endings.some((type) => isTrue(job, type))) return;
  const pods = component.owned<Pod>(collections.pods, job);
  const count = (phase: string) => pods.filter((pod) => pod.status.phase === phase).length;
  const [succeeded, failed] = [count('Succeeded'), count('Failed')];
  const { completions = 1, parallelism, backoffLimit, suspend, template } = job.spec;
  const end = succeeded >= completions ? 'Complete' : failed > backoffLimit ? 'Failed' : undefined;
  adjustPods(component, job, end || suspend ? 0 : Math.min(parallelism, completions - succeeded), template);
  writeJobStatus(component, job, { succeeded, failed, end });
  if (end === 'Failed') component.event(job, 'Warning', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  if (end === 'Complete') component.event(job, 'Normal', 'Completed', 'Job completed');
}

const endings = ['Complete', 'Failed'] as const;
const isTrue = ({ status }: Job, type: string) => conditionOf(status?.conditions, type)?.status === 'True';

interface Outcome {
  succeeded: number;
  failed: number;
  end: (typeof endings)[number] | undefined;
}

function writeJobStatus(component: Component, job: Job, { succeeded, failed, end }: Outcome): void {
  const { status = {}, spec } = job;
  const now = timestamp(component.now());
  const active = activePods(component, job);
  const suspension: Condition = { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' };
  const conditions = end ? ends(end, now) : spec.suspend ? [conditionSince(status.conditions, suspension, component.now())] : [];
  component.setStatus(collections.jobs, job, {
    ...(!spec.suspend && { startTime: status.startTime ?? now }),
    ...(active.length > 0 && { active: active.length }),
    ...{ ready: active.filter(isReady).length, terminating: 0, uncountedTerminatedPods: {} },
    ...(succeeded > 0 && { succeeded }),
    ...(failed > 0 && { failed }),
    ...(conditions.length > 0 && { conditions }),
    ...(end === 'Complete' && { completionTime: now }),
  });
}

/** Like the API server, a Job names the criterion before its end. */
function ends(type: 'Complete' | 'Failed', now: string): Condition[] {
  const why =
    type === 'Complete'
      ? { reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' }
      : { reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  const first = type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget';
  return [first, type].map((one) => ({ type: one, status: 'True', ...why, lastTransitionTime: now }));
}

export function reconcileCronJob(component: Component, cron: CronJob): number {
  const { schedule, timeZone, suspend, concurrencyPolicy } = cron.spec;
  const jobs = component.owned<Job>(collections.jobs, cron);
  const running = () => component.owned<Job>(collections.jobs, cron).filter(({ status }) => (status?.active ?? 0) > 0);
  const now = component.now();
  const minute = timestamp(new Date(Math.floor(now.getTime() / 60_000) * 60_000));
  const isDue = suspend !== true && runsAt(schedule, now, timeZone) && cron.status?.lastScheduleTime !== minute;
  const mayStart = isDue && !(concurrencyPolicy === 'Forbid' && running().length > 0);
  if (mayStart) startJob(component, cron, now);
  dropOldJobs(component, cron, jobs);
  const reference = ({ metadata: { name, namespace, uid } }: Job) => ({ apiVersion: 'batch/v1', kind: 'Job', name, namespace, uid });
  const active = running().map(reference);
  component.setStatus(collections.cronJobs, cron, { ...cron.status, ...(mayStart && { lastScheduleTime: minute }), active });
  return nextMinute(now);
}

function startJob(component: Component, cron: CronJob, now: Date): void {
  const { metadata = {}, spec } = cron.spec.jobTemplate;
  const name = `${cron.metadata.name}-${Math.floor(now.getTime() / 60_000)}`;
  if (component.get(collections.jobs, `${cron.metadata.namespace}/${name}`) !== undefined) return;
  const body = { metadata: { ...metadata, name, ownerReferences: [ownerReference(cron)] }, spec: structuredClone(spec) };
  component.create(collections.jobs, body, cron.metadata.namespace);
  component.event(cron, 'Normal', 'SuccessfulCreate', `Created job ${name}`);
}

function dropOldJobs(component: Component, { spec }: CronJob, jobs: readonly Job[]): void {
  const newestFirst = jobs.toSorted((a, b) => b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp));
  for (const [index, limit] of [spec.successfulJobsHistoryLimit, spec.failedJobsHistoryLimit].entries())
    for (const job of newestFirst.filter((one) => isTrue(one, endings[index] ?? '')).slice(limit)) component.remove(collections.jobs, job);
}
