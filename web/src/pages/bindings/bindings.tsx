import { Plus } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { followObjects, useWindows } from '../../api/use-windows';
import { windowSize } from '../../api/windows';
import { Guarded } from '../../app/guarded';
import { RefusedMenu } from '../../app/refused-menu';
import { may, useRights } from '../../app/rights';
import { href, query } from '../../app/router';
import { dateTime, relative, t } from '../../text/text';
import { LinkButton } from '../../ui/button';
import { sortBy, sortIn } from '../../ui/sort';
import type { Column } from '../../ui/table';
import { WindowList } from '../../ui/window-list';
import { StateOf, subjectsOf, whereOf } from './binding-words';

const listRight = { verb: 'list', resource: 'userbindings' };
const createRight = { verb: 'create', resource: 'userbindings' };
const watchRight = { verb: 'watch', resource: 'userbindings' };

type Binding = Schemas['UserBinding'];

export function Page() {
  useRights([listRight, createRight, watchRight]);
  return (
    <Guarded right={listRight} title={t('bindings.title')}>
      <Bindings />
    </Guarded>
  );
}

const sortable = ['subject', 'roleRef', 'namespace', 'expiresAt', 'phase', 'creationTimestamp'];

function Bindings() {
  const asked = { search: query.value.get('q') ?? '', sortBy: sortBy(sortIn(query.value, sortable)) };
  const windows = useWindows<Binding>({
    key: `bindings?${JSON.stringify(asked)}`,
    fetch: (page, signal) => bodyOf(api.GET('/auth/v2/userbindings', { params: { query: { ...asked, page, limit: windowSize } }, signal })),
    follow: may(watchRight) ? followObjects<Binding>('api/kubernetes/apis/auth.platform.io/v1/userbindings') : undefined,
  });
  return (
    <WindowList
      label={t('bindings.title')}
      search={t('bindings.search')}
      none={t('bindings.none')}
      windows={windows}
      columns={columns()}
      sortable={sortable}
      nameOf={subjectsOf}
      buttons={
        may(createRight) ? (
          <LinkButton to="/bindings/new" kind="main" icon={Plus}>
            {t('bindings.new')}
          </LinkButton>
        ) : (
          <RefusedMenu of={[{ rights: [createRight], label: t('bindings.new'), icon: Plus }]} />
        )
      }
    />
  );
}

const columns = (): readonly Column<Binding>[] => [
  {
    id: 'who',
    title: t('bindings.who'),
    sortBy: 'subject',
    cell: (binding) => (
      <a class="strong" href={href(`/bindings/${binding.metadata.name}`)}>
        {subjectsOf(binding)}
      </a>
    ),
  },
  {
    id: 'role',
    title: t('roles.role'),
    sortBy: 'roleRef',
    cell: (binding) => (
      <>
        <code>{binding.spec.roleRef}</code>
        <span class="on-phone"> · {whereOf(binding)}</span>
      </>
    ),
  },
  { id: 'where', title: t('roles.where'), sortBy: 'namespace', isMinor: true, cell: whereOf },
  {
    id: 'expires',
    title: t('tokens.expires'),
    sortBy: 'expiresAt',
    isMinor: true,
    cell: ({ spec: { expiresAt } }) =>
      expiresAt ? <span title={dateTime(expiresAt)}>{relative(expiresAt)}</span> : <span class="muted">{t('tokens.never')}</span>,
  },
  { id: 'phase', title: t('users.phase'), sortBy: 'phase', cell: (binding) => <StateOf binding={binding} /> },
];
