/** Activity: who did what, newest first, with a bar per hour. */
import './styles';
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { api, bodyOf, type Schemas } from '../../api/client';
import { fetchKinds, type Kind } from '../../api/kinds';
import { follow } from '../../api/live';
import { type Load, useLoad } from '../../api/load';
import { Lost } from '../../api/lost';
import { usePoll } from '../../api/poll';
import { useFeature } from '../../api/version';
import type { PageProps } from '../../app/page-props';
import { href, query, setQuery } from '../../app/router';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { Loaded } from '../../ui/loaded';
import { Empty, Notice } from '../../ui/state';
import type { AuditEvent } from './actions';
import { AuditState } from './audit-state';
import { EventPage } from './event';
import { EventTable } from './event-table';
import { Export } from './export';
import { Filters } from './filters';
import { Hours } from './hours';
import { MostActive } from './most-active';
import { Older } from './older';
import { OwnOnly } from './own-only';
import { type Conditions, conditionNames, conditionsIn } from './question';
import { RecordingPage } from './recording';
import { RecordingsPage } from './recordings';

const limit = 100;
const everyMs = 10_000;
/** Interval after which a period that ends now moves on. */
const periodMs = 60_000;
const noKinds: readonly Kind[] = [];

export function Page({ params: { tab, id } }: PageProps) {
  if (tab === 'events' && id !== undefined) return <EventPage id={id} />;
  if (tab !== 'recordings') return <ActivityPage />;
  return id === undefined ? <RecordingsPage /> : <RecordingPage id={id} />;
}

function ActivityPage() {
  const kinds = useLoad('kinds', fetchKinds).data.value ?? noKinds;
  const asked = conditionNames.map((name) => query.value.get(name) ?? '').join('\n');
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('activity.title')}</h1>
        <a href={href('/activity/recordings')}>{t('activity.recordings')}</a>
      </header>
      <Filters kinds={kinds} />
      <Timeline key={asked} asked={asked} kinds={kinds} />
    </section>
  );
}

type EventList = Schemas['AuditEventList'];

const readEvents = (conditions: Conditions, signal: AbortSignal, place?: string): Promise<EventList> =>
  bodyOf(api.GET('/auth/v1/audit', { params: { query: { ...conditions, limit, ...(place && { continue: place }) } }, signal }));

interface Answer {
  conditions: Conditions;
  at: number;
  newest: EventList;
  hours: Schemas['AuditCounts'];
}

async function readAnswer(signal: AbortSignal): Promise<Answer> {
  const at = Date.now();
  const conditions = conditionsIn(query.peek(), at);
  const counted = bodyOf(api.GET('/auth/v1/audit/counts', { params: { query: { ...conditions, by: 'hour' } }, signal }));
  const [newest, hours] = await Promise.all([readEvents(conditions, signal), counted]);
  return { conditions, at, newest, hours };
}

function Timeline({ asked, kinds }: { asked: string; kinds: readonly Kind[] }) {
  const load = useLoad(`audit/${asked}`, readAnswer);
  const { arrived, lost } = useArrivals(load);
  return (
    <Loaded load={load} lost={lost.value}>
      {(answer) => {
        const { newest, hours, conditions } = answer;
        const events = newestFirst([...arrived.value, ...newest.items]);
        return (
          <>
            {newest.scope === 'Own' ? <OwnOnly namespace={conditions.namespace} /> : conditions.namespace === undefined && <AuditState />}
            {events.length === 0 ? (
              <NoEvents isOwn={newest.scope === 'Own'} />
            ) : (
              <Answered answer={answer} events={events} asked={asked} kinds={kinds} />
            )}
            {hours.oldest !== undefined && <Notice kind="info">{t('activity.notAllCounted')}</Notice>}
          </>
        );
      }}
    </Loaded>
  );
}

const idOf = ({ auditID }: AuditEvent): string => auditID;

/** Returns each event once, the newest first. */
const newestFirst = (events: readonly AuditEvent[]): AuditEvent[] =>
  [...new Map(events.map((event) => [idOf(event), event])).values()].toSorted((one, other) =>
    other.requestReceivedTimestamp.localeCompare(one.requestReceivedTimestamp),
  );

/**
 * Follows the events of a question. The answer with its counts is loaded again after some have arrived, or at an interval without live
 * lists.
 *
 * @returns the last events that arrived, and the time since which the list is lost
 */
function useArrivals({ data, reload }: Load<Answer>) {
  const isLive = useFeature('watch');
  const arrived = useSignal<readonly AuditEvent[]>([]);
  const lost = useMemo(() => new Lost(), []);
  const begun = useSignal(0);
  const isKnown = data.value?.newest.metadata.resourceVersion !== undefined;
  usePoll({ reload }, isLive ? periodMs : everyMs);
  useEffect(() => {
    const answer = data.peek();
    const place = answer?.newest.metadata.resourceVersion;
    if (!isLive || answer === undefined || place === undefined) return;
    // The begin of a period that ends now moves on.
    const { from: _from, ...conditions } = answer.conditions;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = follow<AuditEvent>({
      address: `auth/v1/audit?${new URLSearchParams({ ...conditions, watch: 'true', resourceVersion: place })}`,
      onEvent({ object }) {
        arrived.value = [object, ...arrived.peek()].slice(0, limit);
        timer ??= setTimeout(() => {
          timer = undefined;
          void reload();
        }, everyMs);
      },
      async onEnd() {
        await reload();
        begun.value += 1;
      },
      onLost: (isLost) => lost.set(isLost),
    });
    return () => {
      clearTimeout(timer);
      lost.end();
      stop();
    };
  }, [reload, isLive, isKnown, begun.value]);
  return { arrived, lost: lost.since };
}

interface AnsweredProps {
  answer: Answer;
  /** The newest events, with those that have arrived since the answer. */
  events: readonly AuditEvent[];
  asked: string;
  kinds: readonly Kind[];
}

function Answered({ answer: { newest, hours, conditions, at }, events, asked, kinds }: AnsweredProps) {
  const oldestHour = Math.min(at, ...hours.items.map(({ hour }) => Date.parse(hour ?? '')));
  const [from, to] = [conditions.from ? Date.parse(conditions.from) : oldestHour, conditions.to ? Date.parse(conditions.to) : at];
  return (
    <>
      <Hours hours={hours.items} from={from} to={to} />
      <MostActive asked={asked} />
      <EventTable label={t('activity.title')} events={events} kinds={kinds} />
      <Older
        newest={newest}
        idOf={idOf}
        read={(place) => readEvents(conditions, new AbortController().signal, place)}
        labels={{ older: t('activity.showOlder'), between: t('activity.showBetween') }}
      >
        {(older) => <EventTable label={t('activity.older')} events={older} kinds={kinds} />}
      </Older>
      <Export conditions={conditions} isOwn={newest.scope === 'Own'} />
    </>
  );
}

function NoEvents({ isOwn }: { isOwn: boolean }) {
  const names = conditionNames.filter((name) => query.value.get(name));
  return (
    <Empty text={t(isOwn ? 'activity.noOwnMatch' : 'activity.noneMatch')}>
      {query.value.get('since') !== 'all' && (
        <Button onClick={() => setQuery({ since: 'all', from: '', to: '' })}>{t('activity.anyTime')}</Button>
      )}
      {names.length > 0 && <Button onClick={() => setQuery(Object.fromEntries(names.map((name) => [name, ''])))}>{t('list.clear')}</Button>}
    </Empty>
  );
}
