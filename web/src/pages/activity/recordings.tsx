/** Recordings of shells, newest first. */
import './styles';
import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch, useLoad } from '../../api/load';
import { usePoll } from '../../api/poll';
import { may, useRights } from '../../app/rights';
import { href, query } from '../../app/router';
import { t } from '../../text/text';
import { Ago } from '../../ui/age';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { useRowAction } from '../../ui/row-action';
import { Empty } from '../../ui/state';
import { timeIn } from './cast';
import { RecordingLink } from './recording-link';

const limit = 100;
const everyMs = 10_000;
const names = ['actor', 'namespace', 'name'] as const;

type Recording = Schemas['RecordingList']['items'][number];

export function RecordingsPage() {
  const asked = Object.fromEntries(names.flatMap((name) => (query.value.get(name) ? [[name, query.value.get(name) ?? '']] : [])));
  const load = useLoad(`recordings/${JSON.stringify(asked)}`, (signal) =>
    bodyOf(api.GET('/auth/v1/audit/recordings', { params: { query: { ...asked, limit } }, signal })),
  );
  usePoll(load, everyMs);
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('activity.recordings')}</h1>
        <a href={href('/activity')}>{t('activity.title')}</a>
      </header>
      <Loaded load={load}>
        {({ scope, directShells, items }) => (
          <>
            {directShells === 'NotRecorded' && <p class="muted">{t('activity.recording.direct')}</p>}
            {scope === 'Own' && <p class="muted">{t('activity.recording.own')}</p>}
            {items.length === 0 ? <Empty text={t('activity.recording.none')} /> : <Recordings items={items} />}
          </>
        )}
      </Loaded>
    </section>
  );
}

const deletion = (namespace: string) => ({ verb: 'delete', resource: 'recordings', namespace });

const placeOf = ({ objectRef: { namespace, name } }: Recording): string => `${namespace}/${name}`;

function Recordings({ items }: { items: readonly Recording[] }) {
  useRights([...new Set(items.map(({ objectRef }) => objectRef.namespace))].map(deletion));
  const { column, dialog } = useRowAction<Recording>({
    label: t('activity.recording.delete'),
    isOffered: ({ objectRef }) => may(deletion(objectRef.namespace)) === true,
    title: ({ user }) => t('activity.recording.deleteOf', { who: user.username }),
    about: (recording) => t('activity.recording.deleteWhat', { pod: placeOf(recording) }),
    async act({ id }) {
      await api.DELETE('/auth/v1/audit/recordings/{id}', { params: { path: { id } } });
      await refetch('recordings/');
    },
    done: t('activity.recording.deleted'),
  });
  return (
    <>
      <PlainTable
        label={t('activity.recordings')}
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
