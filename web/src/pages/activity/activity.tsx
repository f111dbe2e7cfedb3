/** Activity: who did what, newest first, with a bar per hour. */
import './styles';
import { useSignal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { fetchKinds, type Kind } from '../../api/kinds';
import { useLoad } from '../../api/load';
import { usePoll } from '../../api/poll';
import { asProblem, type Problem } from '../../api/problem';
import { query, setQuery } from '../../app/router';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { Loaded } from '../../ui/loaded';
import { Empty, Notice, ProblemNotice } from '../../ui/state';
import { EventTable } from './event-table';
import { Export } from './export';
import { Filters } from './filters';
import { Hours } from './hours';
import { OwnOnly } from './own-only';
import { type Conditions, conditionNames, conditionsIn } from './question';

const limit = 100;
const everyMs = 10_000;
const noKinds: readonly Kind[] = [];

export function Page() {
  const kinds = useLoad('kinds', fetchKinds).data.value ?? noKinds;
  const asked = conditionNames.map((name) => query.value.get(name) ?? '').join('\n');
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('activity.title')}</h1>
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
  usePoll(load, everyMs);
  return (
    <Loaded load={load}>
      {(answer) => {
        const { newest, hours, conditions } = answer;
        return (
          <>
            {newest.scope === 'Own' && <OwnOnly namespace={conditions.namespace} />}
            {newest.items.length === 0 ? <NoEvents isOwn={newest.scope === 'Own'} /> : <Answered answer={answer} kinds={kinds} />}
            {hours.oldest !== undefined && <Notice kind="info">{t('activity.notAllCounted')}</Notice>}
          </>
        );
      }}
    </Loaded>
  );
}

function Answered({ answer: { newest, hours, conditions, at }, kinds }: { answer: Answer; kinds: readonly Kind[] }) {
  const oldestHour = Math.min(at, ...hours.items.map(({ hour }) => Date.parse(hour ?? '')));
  const [from, to] = [conditions.from ? Date.parse(conditions.from) : oldestHour, conditions.to ? Date.parse(conditions.to) : at];
  return (
    <>
      <Hours hours={hours.items} from={from} to={to} />
      <EventTable label={t('activity.title')} events={newest.items} kinds={kinds} />
      <Older conditions={conditions} after={newest.metadata.continue} kinds={kinds} />
      <Export conditions={conditions} isOwn={newest.scope === 'Own'} />
    </>
  );
}

interface OlderProps {
  conditions: Conditions;
  after: string | undefined;
  kinds: readonly Kind[];
}

/** Older events, a page at a time. */
function Older({ conditions, after, kinds }: OlderProps) {
  const pages = useSignal<readonly EventList[]>([]);
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | undefined>(undefined);
  const last = pages.value.at(-1);
  const place = last === undefined ? after : last.metadata.continue;
  async function read(): Promise<void> {
    isBusy.value = true;
    try {
      pages.value = [...pages.value, await readEvents(conditions, new AbortController().signal, place)];
      problem.value = undefined;
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      isBusy.value = false;
    }
  }
  const events = pages.value.flatMap(({ items }) => items);
  return (
    <>
      {events.length > 0 && <EventTable label={t('activity.older')} events={events} kinds={kinds} />}
      {problem.value && <ProblemNotice of={problem.value} />}
      {place !== undefined && (
        <div class="buttons">
          <Button isBusy={isBusy.value} onClick={() => void read()}>
            {t('activity.showOlder')}
          </Button>
        </div>
      )}
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
