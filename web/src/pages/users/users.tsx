import { useSignal } from '@preact/signals';
import { UserPlus } from 'lucide';
import { useEffect, useMemo } from 'preact/hooks';
import { resumed } from '../../api/client';
import { follow } from '../../api/live';
import { Windows } from '../../api/windows';
import { Guarded } from '../../app/guarded';
import { may, useRights } from '../../app/rights';
import { query, setQuery } from '../../app/router';
import { count, t } from '../../text/text';
import { Button, LinkButton } from '../../ui/button';
import { Empty, Failure, Notice, Skeleton } from '../../ui/state';
import { Table } from '../../ui/table';
import { userColumns } from './columns';
import { Filters } from './filters';
import { fetchUsers, liveAddress, sortText, type User, usersQuery } from './query';
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
  const list = useMemo(() => new Windows<User>(fetchUsers(asked)), [key]);
  const waiting = useSignal(0);
  const generation = useSignal(0);
  const selected = useSignal<ReadonlyMap<string, User>>(new Map());

  useEffect(() => {
    list.want(0, 0);
    return () => list.stop();
  }, [list]);

  useEffect(() => {
    if (resumed.value > 0) void refresh();
  }, [resumed.value]);

  const total = list.total.value;
  const isLive = may(watchRight) === true && total !== undefined;
  // A live list begins where the list was read; one that is read again begins again.
  useEffect(() => {
    if (!isLive || list.resourceVersion === undefined) return;
    waiting.value = 0;
    return follow<User>({
      address: liveAddress(asked, list.resourceVersion),
      onEvent({ type, object }) {
        // What is not fetched yet comes as it is by then.
        if (type === 'MODIFIED') list.replace(object);
        else waiting.value += 1;
      },
      onEnd: () => void refresh(),
    });
  }, [list, isLive, generation.value]);

  async function refresh(): Promise<void> {
    await list.refresh();
    generation.value += 1;
  }

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
        <p class="muted" role="status">
          {total !== undefined && t('users.count', { count: total, shown: count(total) })}
        </p>
        <div class="buttons">
          {may(syncRight) && <Sync onDone={() => void refresh()} />}
          {may(createRight) && (
            <LinkButton to="/users/new" kind="main" icon={UserPlus}>
              {t('users.new')}
            </LinkButton>
          )}
        </div>
      </header>
      {(list.error.value === undefined || total !== undefined) && <Filters asked={asked} />}
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
      {waiting.value > 0 && (
        <Notice kind="info">
          {t('list.changes', { count: waiting.value })}{' '}
          <Button kind="quiet" onClick={() => void refresh()}>
            {t('list.show')}
          </Button>
        </Notice>
      )}
      {body()}
    </section>
  );

  function body() {
    if (total === undefined)
      return list.error.value ? <Failure problem={list.error.value} onRetry={() => void refresh()} /> : <Skeleton rows={12} />;
    if (total === 0)
      return (
        <Empty text={isFiltered ? t('users.noneMatch') : t('users.none')}>
          {isFiltered && <Button onClick={() => setQuery({ q: '', phase: '', source: '' })}>{t('list.clear')}</Button>}
        </Empty>
      );
    return (
      <Table
        label={t('users.title')}
        columns={userColumns()}
        total={total}
        row={(index) => list.row(index)}
        idOf={({ metadata }) => metadata.uid}
        nameOf={({ spec }) => spec.username || spec.email}
        onRange={(first, last) => list.want(first, last)}
        sort={asked.sort}
        onSort={(sort) => setQuery({ sort: sortText(sort) })}
        {...((may(patchRight) || may(deleteRight)) && { selected: new Set(selected.value.keys()), onSelect: select })}
      />
    );
  }
}
