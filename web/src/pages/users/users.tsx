import { useSignal } from '@preact/signals';
import { RefreshCw, UserPlus } from 'lucide';
import { follow } from '../../api/live';
import { refetch } from '../../api/load';
import { ListPage } from '../../app/list-page';
import { may } from '../../app/rights';
import { WhyButton } from '../../app/why';
import { count, t } from '../../text/text';
import { phaseName, phases } from '../../ui/phase';
import { userColumns } from './columns';
import { groupsRight } from './groups-cell';
import { useLocalGroups } from './local-groups';
import { fetchUsers, liveAddress, sortable, type User } from './query';
import { Selection } from './selection';
import { Sync } from './sync';

const listRight = { verb: 'list', resource: 'users' };
const createRight = { verb: 'create', resource: 'users' };
const syncRight = { verb: 'update', resource: 'users', subresource: 'sync' };
const patchRight = { verb: 'patch', resource: 'users' };
const deleteRight = { verb: 'delete', resource: 'users' };
const watchRight = { verb: 'watch', resource: 'users' };

const filters = () => [
  { name: 'phase', label: t('users.phase'), any: t('users.anyPhase'), options: phases.map((phase) => [phase, phaseName(phase)] as const) },
  {
    name: 'source',
    label: t('users.source'),
    any: t('users.anySource'),
    options: (['local', 'ldap', 'oidc', 'machine'] as const).map((source) => [source, t(`source.${source}`)] as const),
  },
];

const MayNotListGroups = () => (
  <>
    {t('users.mayNotListGroups')} <WhyButton right={groupsRight} />
  </>
);

export function Page() {
  const isSyncing = useSignal(false);
  const localGroups = useLocalGroups();
  const [mayPatch, mayDelete] = [may(patchRight) === true, may(deleteRight) === true];
  const refresh = () => void refetch('users?');
  return (
    <ListPage<User>
      list={{
        key: 'users',
        label: t('users.title'),
        none: t('users.none'),
        search: t('users.search'),
        filters: filters(),
        columns: userColumns(localGroups),
        sortable,
        nameOf: ({ spec }) => spec.username || spec.email,
        fetch: fetchUsers,
        follow: may(watchRight)
          ? (asked) =>
              ({ resourceVersion, ...following }) =>
                follow<User>({ address: liveAddress(asked, resourceVersion), ...following })
          : undefined,
      }}
      right={listRight}
      rights={[watchRight, patchRight, deleteRight, groupsRight]}
      about={may(groupsRight) === false && <MayNotListGroups />}
      countOf={(total) => t('users.count', { count: total, shown: count(total) })}
      offers={[
        { rights: [syncRight], label: t('sync.title'), icon: RefreshCw, to: () => (isSyncing.value = true) },
        { rights: [createRight], label: t('users.new'), icon: UserPlus, to: '/users/new', isMain: true },
      ]}
      selection={
        mayPatch || mayDelete
          ? (users, clear) => <Selection {...{ users, mayPatch, mayDelete }} onClear={clear} onDone={refresh} />
          : undefined
      }
    >
      {isSyncing.value && <Sync onClose={() => (isSyncing.value = false)} onDone={refresh} />}
    </ListPage>
  );
}
