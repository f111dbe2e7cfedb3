import { useSignal } from '@preact/signals';
import { RefreshCw, UserPlus } from 'lucide';
import { follow } from '../../api/live';
import { useWindows } from '../../api/use-windows';
import { Guarded } from '../../app/guarded';
import { RefusedMenu } from '../../app/refused-menu';
import { may, useRights } from '../../app/rights';
import { query, setQuery } from '../../app/router';
import { count, t } from '../../text/text';
import { Button, LinkButton } from '../../ui/button';
import { sortText } from '../../ui/sort';
import { Empty, Failure, Old, Skeleton, Waiting } from '../../ui/state';
import { Table } from '../../ui/table';
import { userColumns } from './columns';
import { Filters } from './filters';
import { fetchUsers, liveAddress, sortable, type User, usersQuery } from './query';
import { Selection } from './selection';
import { Sync } from './sync';

const listRight = { verb: 'list', resource: 'users' };
const createRight = { verb: 'create', resource: 'users' };
const syncRight = { verb: 'update', resource: 'users', subresource: 'sync' };
const patchRight = { verb: 'patch', resource: 'users' };
const deleteRight = { verb: 'delete', resource: 'users' };
const watchRight = { verb: 'watch', resource: 'users' };

export function Page() {
  useRights([listRight, watchRight, createRight, patchRight, deleteRight, syncRight]);
  return (
    <Guarded right={listRight} title={t('users.title')}>
      <Users />
    </Guarded>
  );
}

function Users() {
  const asked = usersQuery(query.value);
  const key = JSON.stringify(asked);
  const { list, waiting, lost, refresh } = useWindows<User>({
    key: `users?${key}`,
    fetch: fetchUsers(asked),
    follow:
      may(watchRight) === true
        ? ({ resourceVersion, ...following }) => follow<User>({ address: liveAddress(asked, resourceVersion), ...following })
        : undefined,
  });
  const selected = useSignal<ReadonlyMap<string, User>>(new Map());

  const [total, problem] = [list.total.value, list.error.value];

  function select(users: readonly User[], isSelected: boolean): void {
    const next = new Map(selected.value);
    for (const user of users) {
      if (isSelected) next.set(user.metadata.uid, user);
      else next.delete(user.metadata.uid);
    }
    selected.value = next;
  }

  const isFiltered = asked.search !== '' || asked.phase !== '' || asked.source !== '';
  return (
    <section class="page fill">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('users.title')}</h1>
        <p class="muted" role="status" dir="auto">
          {total !== undefined && t('users.count', { count: total, shown: count(total) })}
        </p>
        <div class="buttons">
          {may(syncRight) && <Sync onDone={() => void refresh()} />}
          {may(createRight) && (
            <LinkButton to="/users/new" kind="main" icon={UserPlus}>
              {t('users.new')}
            </LinkButton>
          )}
          <RefusedMenu
            of={[
              { rights: [createRight], label: t('users.new'), icon: UserPlus },
              { rights: [syncRight], label: t('sync.title'), icon: RefreshCw },
            ]}
          />
        </div>
      </header>
      {(problem === undefined || total !== undefined) && <Filters asked={asked} />}
      {selected.value.size > 0 && (
        <Selection
          users={[...selected.value.values()]}
          mayPatch={may(patchRight) === true}
          mayDelete={may(deleteRight) === true}
          onClear={() => {
            selected.value = new Map();
          }}
          onDone={() => void refresh()}
        />
      )}
      {total !== undefined && <Old lost={lost.value} problem={problem} onRetry={() => void refresh()} />}
      <Waiting count={waiting.value} onShow={() => void refresh()} />
      {body()}
    </section>
  );

  function body() {
    if (total === undefined) return problem ? <Failure problem={problem} onRetry={() => void refresh()} /> : <Skeleton rows={12} />;
    if (total === 0)
      return (
        <Empty text={isFiltered ? t('users.noneMatch') : t('users.none')}>
          {isFiltered && <Button onClick={() => setQuery({ q: '', phase: '', source: '' })}>{t('list.clear')}</Button>}
        </Empty>
      );
    return (
      <Table
        label={t('users.title')}
        isOld={(lost.value ?? problem) !== undefined}
        columns={userColumns()}
        total={total}
        row={(index) => list.row(index)}
        idOf={({ metadata }) => metadata.uid}
        nameOf={({ spec }) => spec.username || spec.email}
        onRange={(first, last) => list.want(first, last)}
        sort={asked.sort}
        onSort={(sort) => setQuery({ sort: sortText(sort, sortable) })}
        {...((may(patchRight) || may(deleteRight)) && { selected: new Set(selected.value.keys()), onSelect: select })}
      />
    );
  }
}
