import { humanDuration } from '@atrium/objects/duration.ts';
import { jobState } from '@atrium/objects/job-state.ts';
import { nextRun, parseSchedule } from '@atrium/objects/schedule.ts';
import { dateTime, t } from '../../../../text/text';
import { Ago } from '../../../../ui/age';
import { Facts } from '../../../../ui/facts';
import { Notice } from '../../../../ui/state';
import { chain } from '../chain/chain-section';
import { isOwnedBy } from '../pod/pod-owner';
import { selectedPods } from '../pod/selected-pods';
import { templateSections } from '../pod/template';
import { RelatedTable } from '../related/related-table';
import type { Section, SectionProps } from '../section';
import { workloadUsage } from '../usage-history/object-usage';
import { warnings } from '../warnings';
import { scheduleWords } from './schedule-words';
import { secondsText } from './seconds';

const numberText = (value: unknown) => typeof value === 'number' && String(value);

function JobView({ object }: SectionProps) {
  const { spec = {}, status = {} } = object;
  const { isFailing, reason, message, wanted, active, succeeded, failed, seconds } = jobState(object, new Date());
  const parallelism = Number(spec.parallelism);
  // The end of any pod completes a Job without `completions`.
  const isQueue = spec.completions === undefined && parallelism > 1;
  return (
    <>
      {isFailing && (
        <Notice>
          <strong>{reason}</strong> {message}
        </Notice>
      )}
      <Facts
        of={[
          [
            t('job.completions'),
            isQueue ? t('job.anyOf', { count: succeeded, parallelism }) : t('rollout.of', { count: succeeded, wanted }),
          ],
          [t('job.indexes'), typeof status.completedIndexes === 'string' && status.completedIndexes],
          [t('job.isSuspended'), spec.suspend === true && t('object.yes')],
          [t('job.active'), String(active)],
          [t('job.failed'), String(failed)],
          [t('job.duration'), seconds !== undefined && humanDuration(seconds)],
          [t('job.parallelism'), numberText(spec.parallelism)],
          [t('job.mode'), spec.completionMode === 'Indexed' && spec.completionMode],
          [t('job.backoff'), numberText(spec.backoffLimit)],
          [t('job.deadline'), secondsText(spec.activeDeadlineSeconds)],
          [t('job.keptFor'), secondsText(spec.ttlSecondsAfterFinished)],
        ]}
      />
    </>
  );
}

function CronJobView({ object }: SectionProps) {
  const { metadata, spec = {}, status = {} } = object;
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const since = new Date(text(status.lastScheduleTime) ?? metadata.creationTimestamp);
  const zone = text(spec.timeZone);
  return (
    <Facts
      of={[
        [t('job.schedule'), <ScheduleText key="schedule" schedule={text(spec.schedule) ?? ''} />],
        [t('job.timeZone'), zone ?? t('job.controllerZone')],
        [t('job.next'), spec.suspend === true ? t('job.suspended') : nextText(text(spec.schedule) ?? '', zone, since)],
        [t('job.lastRun'), text(status.lastScheduleTime) ? <Ago key="last" since={text(status.lastScheduleTime)} /> : t('users.never')],
        [
          t('job.lastSuccess'),
          text(status.lastSuccessfulTime) ? <Ago key="success" since={text(status.lastSuccessfulTime)} /> : t('users.never'),
        ],
        [t('job.concurrency'), text(spec.concurrencyPolicy)],
        [t('job.startWithin'), secondsText(spec.startingDeadlineSeconds)],
        [t('job.keptGood'), numberText(spec.successfulJobsHistoryLimit)],
        [t('job.keptFailed'), numberText(spec.failedJobsHistoryLimit)],
      ]}
    />
  );
}

function ScheduleText({ schedule }: { schedule: string }) {
  const parsed = parseSchedule(schedule);
  const words = parsed && scheduleWords(parsed);
  return (
    <>
      {words !== undefined && `${words} `}
      <code>{schedule}</code>
    </>
  );
}

/** Without a time zone the clock of kube-controller-manager counts, which the API does not tell. Most clusters run it in UTC. */
function nextText(text: string, zone: string | undefined, since: Date): string {
  const schedule = parseSchedule(text);
  if (schedule === undefined) return t('job.unknownRun');
  try {
    const next = nextRun(schedule, new Date(), zone ?? 'UTC', since);
    if (next === undefined) return t('job.noRun');
    const time = dateTime(next.toISOString());
    const isInZone = zone !== undefined || schedule.everySeconds !== undefined;
    return isInZone ? time : t('job.nextInUTC', { time });
  } catch {
    return t('job.unknownRun');
  }
}

function Jobs({ kinds, object }: SectionProps) {
  const jobs = kinds.find(({ group, resource }) => group === 'batch' && resource === 'jobs');
  if (jobs === undefined) return null;
  return (
    <RelatedTable
      kinds={kinds}
      kind={jobs}
      namespace={object.metadata.namespace}
      selection={{}}
      isOwn={isOwnedBy(object.metadata.uid)}
      label={t('object.jobs')}
    />
  );
}

/** The reason of a failed Job stands above already. */
const unlessFailed: Section = { ...warnings, isShown: (job) => !jobState(job, new Date()).isFailing };

export const sections: Readonly<Record<string, readonly Section[]>> = {
  'jobs.batch': [unlessFailed, { View: JobView }, chain, workloadUsage, selectedPods, ...templateSections],
  'cronjobs.batch': [warnings, { View: CronJobView }, chain, workloadUsage, { title: 'object.jobs', View: Jobs }, ...templateSections],
};
