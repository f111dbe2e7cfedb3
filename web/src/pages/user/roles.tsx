import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { t } from '../../text/text';
import { Empty, Failure, Skeleton } from '../../ui/state';

/** What bindings give to a user: the role, where, and by which binding. */
export function Roles({ user }: { user: Schemas['User'] }) {
  const { name } = user.metadata;
  const load = useLoad(`roles/${name}`, (signal) => bodyOf(api.GET('/auth/v1/usersroles', { params: { query: { name } }, signal })));
  if (load.data.value === undefined)
    return load.error.value ? <Failure problem={load.error.value} onRetry={() => void load.reload()} /> : <Skeleton />;
  const { items } = load.data.value;
  if (items.length === 0) return <Empty text={t('roles.none')} />;
  return (
    <div class="plain">
      <table>
        <thead>
          <tr>
            <th scope="col">{t('roles.role')}</th>
            <th scope="col">{t('roles.where')}</th>
            <th scope="col">{t('roles.via')}</th>
            <th scope="col">{t('roles.binding')}</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={`${item.binding.kind}/${item.binding.namespace}/${item.binding.name}/${item.subject}`}>
              <td>
                <span class="strong">{item.role}</span>
                {item.missing && <span class="muted"> {t('roles.missing')}</span>}
                {item.displayName && <div class="muted small">{item.displayName}</div>}
              </td>
              <td>{item.namespace || t('roles.everywhere')}</td>
              <td>{item.via === 'Group' ? t('roles.group', { name: item.subject }) : t('roles.user')}</td>
              <td>
                <code>{item.binding.name}</code>
                <div class="muted small">{item.binding.kind}</div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
