import { Plus } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { followObjects } from '../../api/use-windows';
import { windowSize } from '../../api/window-size';
import { type List, ListPage } from '../../app/list-page';
import { may } from '../../app/rights';
import { href } from '../../app/router';
import { t } from '../../text/text';
import { Ago } from '../../ui/age';
import type { Column } from '../../ui/table';
import { bindingsPath } from './as-read';
import { StateOf, subjectsOf, whereOf } from './binding-words';

const listRight = { verb: 'list', resource: 'userbindings' };
const createRight = { verb: 'create', resource: 'userbindings' };
const watchRight = { verb: 'watch', resource: 'userbindings' };

type Binding = Schemas['UserBinding'];

const sortable = ['subject', 'roleRef', 'namespace', 'expiresAt', 'phase', 'creationTimestamp'];

const phases = ['Synced', 'Pending', 'Failed', 'Expired'] as const;

const filterBy = (phase = '') => (phases.some((known) => known === phase) ? { filterBy: [`phase,${phase}`] } : {});

const bindingList = (): List<Binding> => ({
  key: 'bindings',
  label: t('bindings.title'),
  none: t('bindings.none'),
  search: t('bindings.search'),
  filters: [
    {
      name: 'phase',
      label: t('users.phase'),
      any: t('users.anyPhase'),
      options: phases.map((phase) => [phase, t(`bindings.${phase}`)] as const),
    },
  ],
  columns: columns(),
  sortable,
  nameOf: subjectsOf,
  fetch:
    ({ parameters, chosen: { phase } }) =>
    (page, signal) => {
      const query = { ...parameters, ...filterBy(phase), page, limit: windowSize };
      return bodyOf(api.GET('/auth/v2/userbindings', { params: { query }, signal }));
    },
  follow: may(watchRight) ? () => followObjects<Binding>(bindingsPath) : undefined,
});

export const Page = () => (
  <ListPage
    list={bindingList()}
    right={listRight}
    rights={[watchRight]}
    offers={[{ rights: [createRight], label: t('bindings.new'), icon: Plus, to: '/bindings/new', isMain: true }]}
  />
);

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
    cell: ({ spec: { expiresAt } }) => (expiresAt ? <Ago since={expiresAt} /> : <span class="muted">{t('tokens.never')}</span>),
  },
  { id: 'phase', title: t('users.phase'), sortBy: 'phase', cell: (binding) => <StateOf binding={binding} /> },
];
