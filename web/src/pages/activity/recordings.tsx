/** Recordings of shells, newest first. */
import './styles';
import { useSignal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch, useLoad } from '../../api/load';
import { usePoll } from '../../api/poll';
import { useMyNamespaces } from '../../app/namespace';
import { may, useRights } from '../../app/rights';
import { href, query, setQuery } from '../../app/router';
import { t } from '../../text/text';
import { Ago } from '../../ui/age';
import { Button } from '../../ui/button';
import { Loaded } from '../../ui/loaded';
import { instant } from '../../ui/local-time';
import { PlainTable } from '../../ui/plain-table';
import { useRowAction } from '../../ui/row-action';
import { Empty } from '../../ui/state';
import { timeIn } from './cast';
import { Slot, TimeField, Word } from './filters';
import { Older } from './older';
import { RecordingLink } from './recording-link';

const limit = 100;
const everyMs = 10_000;
const names = ['actor', 'namespace', 'name', 'from', 'to'] as const;

type RecordingList = Schemas['RecordingList'];
type Recording = RecordingList['items'][number];
type Conditions = Partial<Record<(typeof names)[number], string>>;

/** Returns the conditions of the address for the service, which refuses those that are malformed. */
function conditionsIn(asked: URLSearchParams): Conditions {
  const given = names.flatMap((name) => (asked.get(name) ? [[name, asked.get(name) ?? ''] as const] : []));
  return Object.fromEntries(given.map(([name, value]) => [name, name === 'from' || name === 'to' ? instant(value) : value]));
}

const readList = (conditions: Conditions, signal: AbortSignal, place?: string): Promise<RecordingList> =>
  bodyOf(api.GET('/auth/v1/audit/recordings', { params: { query: { ...conditions, limit, ...(place && { continue: place }) } }, signal }));

export function RecordingsPage() {
  const conditions = conditionsIn(query.value);
  const asked = JSON.stringify(conditions);
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('activity.recordings')}</h1>
        <a href={href('/activity')}>{t('activity.title')}</a>
      </header>
      <Filters isAsked={asked !== '{}'} />
      <Found key={asked} asked={asked} conditions={conditions} />
    </section>
  );
}

function Filters({ isAsked }: { isAsked: boolean }) {
  const namespaces = useMyNamespaces().data.value?.items.map(({ metadata }) => metadata.name) ?? [];
  return (
    <search class="sentence" aria-label={t('activity.filters')}>
      <Slot name="actor" label={t('activity.who')} any={t('activity.anyone')} suggestions={[]} />
      <Word of={t('activity.word.in')} />
      <Slot name="namespace" label={t('cluster.namespace')} any={t('cluster.allNamespaces')} suggestions={namespaces} />
      <Slot name="name" label={t('activity.recording.pod')} any={t('activity.recording.anyPod')} suggestions={[]} />
      <TimeField name="from" label={t('activity.fromTime')} />
      <TimeField name="to" label={t('activity.toTime')} />
      {isAsked && <Button onClick={() => setQuery(Object.fromEntries(names.map((name) => [name, ''])))}>{t('list.clear')}</Button>}
    </search>
  );
}

function Found({ asked, conditions }: { asked: string; conditions: Conditions }) {
  const load = useLoad(`recordings/${asked}`, (signal) => readList(conditions, signal));
  const deleted = useSignal<readonly string[]>([]);
  usePoll(load, everyMs);
  const table = (label: string, items: readonly Recording[]) => (
    <Recordings
      label={label}
      items={items.filter(({ id }) => !deleted.value.includes(id))}
      onDeleted={(id) => {
        deleted.value = [...deleted.value, id];
      }}
    />
  );
  return (
    <Loaded load={load}>
      {(list) => (
        <>
          {list.directShells === 'NotRecorded' && <p class="muted">{t('activity.recording.direct')}</p>}
          {list.scope === 'Own' && <p class="muted">{t('activity.recording.own')}</p>}
          {list.items.length > 0 && table(t('activity.recordings'), list.items)}
          {list.items.length === 0 && <Empty text={t(asked === '{}' ? 'activity.recording.none' : 'activity.recording.noneMatch')} />}
          <Older
            newest={list}
            idOf={({ id }) => id}
            read={(place) => readList(conditions, new AbortController().signal, place)}
            labels={{ older: t('activity.recording.showOlder'), between: t('activity.recording.showBetween') }}
          >
            {(items) => table(t('activity.recording.older'), items)}
          </Older>
        </>
      )}
    </Loaded>
  );
}

const deletion = (namespace: string) => ({ verb: 'delete', resource: 'recordings', namespace });

const placeOf = ({ objectRef: { namespace, name } }: Recording): string => `${namespace}/${name}`;

interface RecordingsProps {
  label: string;
  items: readonly Recording[];
  onDeleted: (id: string) => void;
}

function Recordings({ label, items, onDeleted }: RecordingsProps) {
  useRights([...new Set(items.map(({ objectRef }) => objectRef.namespace))].map(deletion));
  const { column, dialog } = useRowAction<Recording>({
    label: t('activity.recording.delete'),
    isOffered: ({ objectRef }) => may(deletion(objectRef.namespace)) === true,
    title: ({ user }) => t('activity.recording.deleteOf', { who: user.username }),
    about: (recording) => t('activity.recording.deleteWhat', { pod: placeOf(recording) }),
    async act({ id }) {
      await api.DELETE('/auth/v1/audit/recordings/{id}', { params: { path: { id } } });
      onDeleted(id);
      await refetch('recordings/');
    },
    done: t('activity.recording.deleted'),
  });
  return (
    <>
      <PlainTable
        label={label}
        rows={items}
        idOf={({ id }) => id}
        columns={[
          {
            title: t('history.when'),
            cell: ({ startedAt }) => (
              <span class="when">
                <Ago since={startedAt} />
              </span>
            ),
          },
          { title: t('activity.who'), cell: ({ user }) => <bdi>{user.username}</bdi> },
          { title: t('activity.recording.pod'), cell: (recording) => <bdi>{placeOf(recording)}</bdi> },
          { title: t('activity.recording.length'), cell: ({ seconds }) => timeIn(seconds) },
          { title: '', cell: ({ id }) => <RecordingLink id={id} /> },
          column,
        ]}
      />
      {dialog}
    </>
  );
}
