import { href } from '../../app/router';
import { t } from '../../text/text';
import { Age } from '../../ui/age';
import { PhaseOf } from '../../ui/phase';
import type { Column } from '../../ui/table';
import { GroupsCell } from './groups-cell';
import type { LocalGroups } from './local-groups';
import type { User } from './query';

export const userColumns = (localGroups: ReadonlyMap<string, LocalGroups>): readonly Column<User>[] => [
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
  {
    id: 'login',
    title: t('users.lastLogin'),
    sortBy: 'last_login_time',
    isMinor: true,
    cell: ({ status }) => (status?.lastLoginTime ? <Age since={status.lastLoginTime} /> : <span class="muted">{t('users.never')}</span>),
  },
  { id: 'source', title: t('users.source'), sortBy: 'connector_name', isMinor: true, cell: ({ spec }) => sourceOf(spec) },
  {
    id: 'groups',
    title: t('users.groups'),
    isMinor: true,
    isEssential: true,
    cell: (user) => <GroupsCell user={user} local={localGroups.get(user.metadata.name)} />,
  },
];

export const sourceOf = ({ connector_name: name, connector_id: id, connector_type: type }: User['spec']): string =>
  type === 'machine' ? t('source.machine') : name || id || t('source.local');
