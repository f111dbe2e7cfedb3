/** The controllers of Jobs and CronJobs. */

import { type Component, ownerReference } from '../component.ts';
import { timestamp } from '../objects.ts';
import { nextMinute, runsAt } from './cron.ts';
import { activePods, createPod, removePod, roomFor } from './owned-pods.ts';
import { type Condition, type CronJob, collections, conditionOf, isReady, type Job, type Pod } from './shapes.ts';

export function reconcileJob(component: Component, key: string): undefined {
  const job = component.get<Job>(collections.jobs, key);
  if (job === undefined || job.metadata.deletionTimestamp !== undefined || hasEnded(job)) return undefined;
  const pods = component.owned<Pod>(collections.pods, job);
  const count = (phase: string) => pods.filter((pod) => pod.status.phase === phase).length;
  const counts = { succeeded: count('Succeeded'), failed: count('Failed') };
  const end = endOf(job, counts);
  adjustPods(component, job, end === undefined ? counts.succeeded : undefined);
  writeJobStatus(component, job, { ...counts, end });
  if (end === 'Failed') component.event(job, 'Warning', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  if (end === 'Complete') component.event(job, 'Normal', 'Completed', 'Job completed');
  return undefined;
}

type End = 'Complete' | 'Failed' | undefined;

const hasEnded = ({ status }: Job) =>
  status?.conditions?.some(({ type, status: is }) => is === 'True' && (type === 'Complete' || type === 'Failed')) === true;

function endOf({ spec }: Job, { succeeded, failed }: { succeeded: number; failed: number }): End {
  if (succeeded >= (spec.completions ?? 1)) return 'Complete';
  return failed > spec.backoffLimit ? 'Failed' : undefined;
}

/** @param succeeded pods; unset: the Job is over, and none may run */
function adjustPods(component: Component, job: Job, succeeded: number | undefined): void {
  const { completions = 1, parallelism, suspend, template } = job.spec;
  const wanted = succeeded === undefined || suspend ? 0 : Math.min(parallelism, completions - succeeded);
  const active = activePods(component, job);
  for (let made = roomFor(component, job, wanted - active.length); made > 0; made -= 1) createPod(component, job, template);
  for (const pod of active.slice(wanted)) removePod(component, job, pod);
}

function writeJobStatus(component: Component, job: Job, { succeeded, failed, end }: { succeeded: number; failed: number; end: End }): void {
  const { status = {}, spec } = job;
  const now = timestamp(component.now());
  const active = activePods(component, job);
  const conditions = end ? ends(end, now) : spec.suspend ? [suspended(status.conditions, now)] : [];
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

const suspended = (old: readonly Condition[] | undefined, now: string): Condition =>
  conditionOf(old, 'Suspended') ?? {
    type: 'Suspended',
    status: 'True',
    reason: 'JobSuspended',
    message: 'Job suspended',
    lastTransitionTime: now,
  };

/** Returns when to look again, in milliseconds. */
export function reconcileCronJob(component: Component, key: string): number | undefined {
  const cron = component.get<CronJob>(collections.cronJobs, key);
  if (cron === undefined || cron.metadata.deletionTimestamp !== undefined) return undefined;
  const jobs = component.owned<Job>(collections.jobs, cron);
  const now = component.now();
  const minute = timestamp(new Date(Math.floor(now.getTime() / 60_000) * 60_000));
  const isDue =
    cron.spec.suspend !== true && runsAt(cron.spec.schedule, now, cron.spec.timeZone) && cron.status?.lastScheduleTime !== minute;
  const isRunning = jobs.some(({ status }) => (status?.active ?? 0) > 0);
  const mayStart = isDue && !(isRunning && cron.spec.concurrencyPolicy === 'Forbid');
  if (mayStart) startJob(component, cron, now);
  dropOldJobs(component, cron, jobs);
  const active = component.owned<Job>(collections.jobs, cron).filter(({ status }) => (status?.active ?? 0) > 0);
  component.setStatus(collections.cronJobs, cron, {
    ...cron.status,
    ...(mayStart && { lastScheduleTime: minute }),
    active: active.map(({ metadata }) => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      name: metadata.name,
      namespace: metadata.namespace,
      uid: metadata.uid,
    })),
  });
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
  const ended = (type: string) =>
    jobs
      .filter(({ status }) => conditionOf(status?.conditions, type)?.status === 'True')
      .sort((a, b) => b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp));
  for (const job of ended('Complete').slice(spec.successfulJobsHistoryLimit)) component.remove(collections.jobs, job);
  for (const job of ended('Failed').slice(spec.failedJobsHistoryLimit)) component.remove(collections.jobs, job);
}
