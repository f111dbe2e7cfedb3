import type { AccessRequest } from '../../app/own-requests';
import { dateTime, relative, t } from '../../text/text';
import { PlainTable } from '../../ui/plain-table';
import { reasonOf } from './words';

interface Entry {
  time: string;
  what: string;
  by?: string | undefined;
  comment?: string | undefined;
}

type Status = NonNullable<AccessRequest['status']>;

const decided = ({ decisions = [] }: Status): Entry[] =>
  decisions.map(({ time, by, approve, isVoid, comment }) => ({
    ...{ time, by, comment },
    what: `${t(approve ? 'requests.approved' : 'requests.denied')}${isVoid ? ` (${t('requests.void')})` : ''}`,
  }));

/** Returns what has happened to a request, and the end that is ahead, in the order of time. */
function entriesOf({ metadata, spec, status = {} }: AccessRequest): Entry[] {
  const { begin, until, ended, endedBy, phase, review, rulesChangedAt } = status;
  const hasBegun = phase === 'Active' || phase === 'Ended';
  const entries = [
    { time: metadata.creationTimestamp, what: t('requests.asked'), by: spec.requester },
    ...decided(status),
    ...(begin && (hasBegun || phase === 'Scheduled') ? [{ time: begin, what: t(hasBegun ? 'requests.begun' : 'requests.begins') }] : []),
    ...(rulesChangedAt ? [{ time: rulesChangedAt, what: t('requests.rulesChanged') }] : []),
    ...(ended && phase && phase !== 'Denied'
      ? [{ time: ended, what: t(`requests.phase.${phase}`), by: endedBy, comment: reasonOf(status) }]
      : []),
    ...(until && !ended ? [{ time: until, what: t('requests.ends') }] : []),
    ...(review ? [{ time: review.time, what: t('requests.reviewed'), by: review.by, comment: review.comment }] : []),
  ];
  // Entries of the same second keep their order.
  return entries.sort((one, other) => Date.parse(one.time) - Date.parse(other.time));
}

export const Timeline = ({ request }: { request: AccessRequest }) => (
  <PlainTable
    label={t('requests.timeline')}
    rows={entriesOf(request)}
    idOf={({ time, what, by = '' }) => `${time} ${what} ${by}`}
    columns={[
      {
        title: t('history.when'),
        cell: ({ time }) => (
          <time dateTime={time} title={relative(time)}>
            {dateTime(time)}
          </time>
        ),
      },
      { title: t('history.what'), cell: ({ what }) => what },
      { title: t('history.by'), cell: ({ by }) => by ?? '' },
      { title: t('requests.comment'), cell: ({ comment }) => comment ?? '' },
    ]}
  />
);
