import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch } from '../../api/load';
import { windowSize } from '../../api/window-size';
import { agentName } from '../../app/agent-name';
import { type List, ListPart } from '../../app/list-page';
import { endOf } from '../../app/session';
import { dateTime, t } from '../../text/text';
import { Ago } from '../../ui/age';
import { useRowAction } from '../../ui/row-action';
import type { Column } from '../../ui/table';
import { ActivityLink } from '../activity/activity-link';

type Session = Schemas['Session'];

interface SessionListProps {
  /** User whose sessions are shown. Default: the caller. */
  user?: string;
  mayEnd: boolean;
}

/** Moves the current device to the front. */
const presentFirst = (sessions: readonly Session[]): Session[] =>
  [...sessions].sort((one, other) => Number(other.current === true) - Number(one.current === true));

/** Sessions of a user, and the dialog that ends one. */
export function useSessions({ user, mayEnd }: SessionListProps) {
  const { column, dialog } = useRowAction<Session>({
    label: t('sessions.end'),
    isOffered: ({ current }) => mayEnd && !current,
    title: () => t('sessions.endThis'),
    about: ({ spec }) => deviceOf(spec),
    async act({ metadata: { name } }) {
      await api.DELETE('/auth/v1/sessions/{name}', { params: { path: { name } } });
      await refetch('sessions/');
    },
    done: t('sessions.ended'),
  });
  const list: List<Session> = {
    key: `sessions/${user ?? ''}`,
    label: t('sessions.title'),
    none: t('sessions.none'),
    columns: [...columns(), column],
    nameOf: ({ spec }) => deviceOf(spec),
    fetch: () => async (page, signal) => {
      const slice = await bodyOf(
        api.GET('/auth/v1/sessions', { params: { query: { page, limit: windowSize, ...(user && { user }) } }, signal }),
      );
      return { ...slice, items: presentFirst(slice.items) };
    },
    isShort: true,
  };
  return { list, dialog };
}

export function SessionList(props: SessionListProps) {
  const { list, dialog } = useSessions(props);
  return (
    <>
      <ListPart list={list} />
      {dialog}
    </>
  );
}

const columns = (): Column<Session>[] => [
  {
    id: 'name',
    title: t('sessions.device'),
    cell: ({ spec, current }) => (
      <>
        <span class="strong">{deviceOf(spec)}</span> {current && <span class="chip">{t('sessions.this')}</span>}
      </>
    ),
  },
  { id: 'source', title: t('users.source'), cell: ({ spec }) => spec.source },
  {
    id: 'began',
    title: t('sessions.began'),
    cell: ({ spec }) => <Ago since={spec.createdAt} />,
  },
  { id: 'ends', title: t('sessions.ends'), cell: (session) => dateTime(endOf(session)) },
  {
    id: 'activity',
    title: t('activity.title'),
    isMinor: true,
    cell: ({ metadata: { name } }) => <ActivityLink of={{ session: name, since: 'all' }}>{t('activity.ofSession')}</ActivityLink>,
  },
];

const browsers = [
  ['Edge', /Edg\//],
  ['Firefox', /Firefox\//],
  ['Chrome', /Chrome\//],
  ['Safari', /Safari\//],
] as const;
const systems = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
] as const;

/** Returns the device, such as `Firefox, Linux`, or the agent with its host; an unknown user agent is shown unchanged. */
function deviceOf({ agent, userAgent }: Session['spec']): string {
  if (agent) return agentName(agent);
  if (!userAgent) return t('sessions.unknown');
  const [browser, system] = [browsers, systems].map((list) => list.find(([, pattern]) => pattern.test(userAgent))?.[0]);
  return [browser, system].filter(Boolean).join(', ') || userAgent;
}
