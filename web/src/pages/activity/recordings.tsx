/** Recordings of shells, newest first. */
import './styles';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { usePoll } from '../../api/poll';
import { href, query } from '../../app/router';
import { t } from '../../text/text';
import { Ago } from '../../ui/age';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
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
        {({ scope, items }) => (
          <>
            {scope === 'Own' && <p class="muted">{t('activity.recording.own')}</p>}
            {items.length === 0 ? <Empty text={t('activity.recording.none')} /> : <Recordings items={items} />}
          </>
        )}
      </Loaded>
    </section>
  );
}

const Recordings = ({ items }: { items: readonly Recording[] }) => (
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
      {
        title: t('activity.recording.pod'),
        cell: ({ objectRef: { namespace, name } }) => (
          <bdi>
            {namespace}/{name}
          </bdi>
        ),
      },
      { title: t('activity.recording.length'), cell: ({ seconds }) => timeIn(seconds) },
      { title: '', cell: ({ id }) => <RecordingLink id={id} /> },
    ]}
  />
);
