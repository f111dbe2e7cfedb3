import { Columns3 } from 'lucide';
import { useEffect, useMemo } from 'preact/hooks';
import { resumed } from '../../../api/client';
import { type Kind, pageOf } from '../../../api/kinds';
import { keyOf } from '../../../api/objects';
import { AskFor } from '../../../app/ask';
import { may } from '../../../app/rights';
import { href, query, setQuery } from '../../../app/router';
import { count, t } from '../../../text/text';
import { Button } from '../../../ui/button';
import { Menu } from '../../../ui/menu';
import { SearchField } from '../../../ui/search';
import { Empty, Failure, Notice, Old, Skeleton, Waiting } from '../../../ui/state';
import { type Column, Table } from '../../../ui/table';
import { cellOf } from '../cells';
import { sortedByUsage, usageColumns, useUsages } from '../usage';
import { ListFrame, type ListProps, type ListRights, useSelected } from './list-frame';
import { noteRow } from './opened-row';
import { type Row, TableList } from './table-list';

/** Shows a kind in the columns of kubectl, made by the API server itself. */
export function TableRows({ kind, kinds, namespace, rights }: ListProps & { kinds: readonly Kind[]; rights: ListRights }) {
  const selector = query.value.get('selector') ?? '';
  const list = useMemo(() => new TableList(kind, namespace, { labelSelector: selector }), [kind, namespace, selector]);
  const selected = useSelected();
  const mayWatch = may(rights.watch) === true && kind.verbs.includes('watch');
  useEffect(() => {
    list.start(mayWatch);
    return () => list.stop();
  }, [list, mayWatch]);
  useEffect(() => {
    if (resumed.value > 0) void list.refresh();
  }, [resumed.value]);

  const search = query.value.get('q') ?? '';
  const [, descending, by = ''] = /^(-?)(.*)$/.exec(query.value.get('sort') ?? '') ?? [];
  const sort = { by: by || 'Name', isDescending: descending === '-' };
  const isWide = query.value.get('columns') === 'all';
  const usages = useUsages({ kinds, of: kind, namespace, labelSelector: selector });
  const found = list.shown({ search, sort });
  const rows = found && sortedByUsage(found, usages, sort);
  const total = rows?.length;
  const served: Column<Row>[] = list.columns.value
    .filter(({ priority, name }) => priority === 0 || isWide || name === 'Name')
    .flatMap((column, index) => {
      const shown = cellOf(kind, column, index);
      return index === 0 && kind.isNamespaced && namespace === undefined ? [shown, namespaceColumn(kind)] : [shown];
    });
  const columns = [...served, ...usageColumns<Row>(usages)];
  const mayDelete = may(rights.remove) === true && kind.verbs.includes('delete');
  const choice = list.columns.value.some(({ priority }) => priority > 0) && (
    <div class="columns-choice">
      <Menu
        label={t('cluster.columns')}
        icon={Columns3}
        kind="plain"
        items={[
          { label: t('cluster.columnsUsual'), isChecked: !isWide, act: () => setQuery({ columns: '' }) },
          { label: t('cluster.columnsAll'), isChecked: isWide, act: () => setQuery({ columns: 'all' }) },
        ]}
      >
        {t('cluster.columns')}
      </Menu>
    </div>
  );
  return (
    <ListFrame
      {...{ kind, namespace, rights, total, selected }}
      search={(total !== undefined || !list.error.value) && <SearchField label={t('cluster.search')} isPrompt />}
      filters={choice}
      onDeleted={() => void list.refresh()}
    >
      <Notes list={list} />
      {body()}
    </ListFrame>
  );

  function body() {
    const problem = list.error.value;
    if (total === undefined || rows === undefined)
      return problem ? (
        <Failure problem={problem} onRetry={() => void list.refresh()}>
          <AskFor right={rights.list} />
        </Failure>
      ) : (
        <Skeleton rows={12} />
      );
    if (total === 0)
      return (
        <Empty text={search ? t('cluster.noneMatch') : t('cluster.none', { kind: kind.title })}>
          {search && <Button onClick={() => setQuery({ q: '' })}>{t('list.clear')}</Button>}
        </Empty>
      );
    return (
      <Table
        label={kind.title}
        isOld={(list.lost.since.value ?? problem) !== undefined}
        columns={columns}
        total={total}
        row={(index) => rows[index]}
        idOf={({ metadata }) => keyOf(metadata)}
        nameOf={({ metadata }) => metadata.name}
        onOpen={(row) => noteRow(kind, row, columns)}
        sort={sort}
        onSort={({ by: name, isDescending }) =>
          setQuery({ sort: (isDescending ? '-' : '') + (name === 'Name' && !isDescending ? '' : name) })
        }
        {...(mayDelete && { selected: new Set(selected.rows.value.keys()), onSelect: selected.select })}
      />
    );
  }
}
/** Notes on a list that is incomplete, outdated or changed. */
function Notes({ list }: { list: TableList }) {
  const [waiting, remaining, problem] = [list.waiting.value, list.remaining.value, list.error.value];
  const lost = list.lost.since.value;
  return (
    <>
      {list.isRead && <Old lost={lost} problem={problem} onRetry={() => void list.refresh()} />}
      {list.isAnew.value && <Notice kind="info">{t('cluster.listAnew')}</Notice>}
      {remaining && (
        <Notice kind="info">
          {t('cluster.first', { count: list.size.value, shown: count(list.size.value) })}{' '}
          <Button kind="quiet" onClick={() => void list.more()} isBusy={list.isBusy.value}>
            {t('cluster.more')}
          </Button>
        </Notice>
      )}
      <Waiting count={waiting} onShow={() => list.show()} />
    </>
  );
}

export const namespaceColumn = <T extends { metadata: { namespace?: string } }>(kind: Kind, sortBy = 'Namespace'): Column<T> => ({
  id: 'namespace',
  title: t('cluster.namespace'),
  sortBy,
  cell: ({ metadata }) => <a href={href(pageOf(kind, { namespace: metadata.namespace }))}>{metadata.namespace}</a>,
});
