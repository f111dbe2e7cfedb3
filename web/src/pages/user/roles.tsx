import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { t } from '../../text/text';
import { PlainTable } from '../../ui/plain-table';
import { Empty, Failure, Skeleton } from '../../ui/state';

/** Shows the roles that bindings grant to a user: the role, its place, and the binding. */
export function Roles({ user }: { user: Schemas['User'] }) {
  const { name } = user.metadata;
  const load = useLoad(`roles/${name}`, (signal) => bodyOf(api.GET('/auth/v1/usersroles', { params: { query: { name } }, signal })));
  if (load.data.value === undefined)
    return load.error.value ? <Failure problem={load.error.value} onRetry={() => void load.reload()} /> : <Skeleton />;
  const { items } = load.data.value;
  if (items.length === 0) return <Empty text={t('roles.none')} />;
  return (
    <PlainTable
      label={t('user.roles')}
      rows={items}
      idOf={({ binding, subject }) => `${binding.kind}/${binding.namespace}/${binding.name}/${subject}`}
      columns={[
        {
          title: t('roles.role'),
          cell: (item) => (
            <>
              <span class="strong">{item.role}</span>
              {item.missing && <span class="muted"> {t('roles.missing')}</span>}
              {item.displayName && <div class="muted small">{item.displayName}</div>}
            </>
          ),
        },
        { title: t('roles.where'), cell: ({ namespace }) => namespace || t('roles.everywhere') },
        { title: t('roles.via'), cell: ({ via, subject }) => (via === 'Group' ? t('roles.group', { name: subject }) : t('roles.user')) },
        {
          title: t('roles.binding'),
          cell: ({ binding }) => (
            <>
              <code>{binding.name}</code>
              <div class="muted small">{binding.kind}</div>
            </>
          ),
        },
      ]}
    />
  );
}
