import { href } from '../../app/router';
import { t } from '../../text/text';
import { Age } from '../../ui/age';
import { PhaseOf } from '../../ui/phase';
import type { Column } from '../../ui/table';
import type { User } from './query';

export const userColumns = (): readonly Column<User>[] => [
  {
    id: 'name',
    title: t('users.name'),
    sortBy: 'username',
    cell: ({ metadata, spec }) => (
      <a class="strong" href={href(`/users/${metadata.name}`)}>
        {spec.username || spec.email}
      </a>
    ),
  },
  { id: 'email', title: t('users.email'), sortBy: 'email', cell: ({ spec }) => spec.email },
  { id: 'phase', title: t('users.phase'), sortBy: 'phase', cell: (user) => <PhaseOf user={user} /> },
  { id: 'source', title: t('users.source'), sortBy: 'connector_name', isMinor: true, cell: ({ spec }) => sourceOf(spec) },
  {
    id: 'login',
    title: t('users.lastLogin'),
    sortBy: 'last_login_time',
    isMinor: true,
    cell: ({ status }) => (status?.lastLoginTime ? <Age since={status.lastLoginTime} /> : <span class="muted">{t('users.never')}</span>),
  },
  { id: 'groups', title: t('users.groups'), isMinor: true, cell: ({ status }) => groupsCell(status?.groups) },
];

const shownGroups = 2;

/** Lists a few groups. The others are counted, and listed in the title. */
function groupsCell(names: readonly string[] = []) {
  if (names.length <= shownGroups) return names.join(', ');
  return <span title={names.join(', ')}>{t('users.groupCount', { count: names.length })}</span>;
}

export const sourceOf = ({ connector_name: name, connector_id: id }: User['spec']): string => name || id || t('source.local');
