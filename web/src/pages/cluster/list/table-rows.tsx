import { Columns3 } from 'lucide';
import { useEffect, useMemo } from 'preact/hooks';
import { resumed } from '../../../api/client';
import type { Kind } from '../../../api/kinds';
import { AskFor } from '../../../app/ask';
import { may } from '../../../app/rights';
import { query, setQuery } from '../../../app/router';
import { count, t } from '../../../text/text';
import { Button } from '../../../ui/button';
import { Menu } from '../../../ui/menu';
import { SearchField } from '../../../ui/search';
import { Notice, Old, Waiting } from '../../../ui/state';
import type { Column, Sort } from '../../../ui/table';
import { cellOf, namespaceColumn } from '../cells';
import { sortedByUsage, usageColumns, useUsages } from '../usage';
import { ListFrame, type ListProps, type ListRights, useSelected } from './list-frame';
import { ListTable } from './list-table';
import { serviceColumn, useEndpointCounts } from './service-states';
import { type Row, TableList } from './table-list';

/** Column of events, which are in the order of time at first. */
const lastSeen = 'Last Seen';

interface TableRowsProps extends ListProps {
  kinds: readonly Kind[];
  rights: ListRights;
}

/** Shows a kind in the columns of kubectl, made by the API server itself. */
export function TableRows({ kind, kinds, namespace, rights }: TableRowsProps) {
  const labelSelector = query.value.get('selector') ?? '';
  const list = useTableList({ kind, namespace, rights }, labelSelector);
  const selected = useSelected();
  const usages = useUsages({ kinds, of: kind, namespace, labelSelector });
  const first = list.columns.value.some(({ name }) => name === lastSeen) ? lastSeen : 'Name';
  const sort = sortOf(query.value, first);
  const counts = useEndpointCounts({ kinds, kind, namespace });
  const found = list.shown({ search: query.value.get('q') ?? '', sort });
  const rows = found && sortedByUsage(found, usages, sort);
  const total = rows?.length;
  const problem = list.error.value;
  const refresh = () => void list.refresh();
  return (
    <ListFrame
      {...{ kind, namespace, rights, total, selected }}
      search={(total !== undefined || !problem) && <SearchField label={t('cluster.search')} isPrompt />}
      filters={<ColumnsChoice list={list} />}
      onDeleted={refresh}
    >
      <Notes list={list} />
      <ListTable
        {...{ kind, rights, total, problem, selected, sort }}
        onRetry={refresh}
        steps={<AskFor right={rights.list} />}
        filters={['q']}
        isOld={(list.lost.since.value ?? problem) !== undefined}
        columns={[...withState(columnsOf(list, { kind, namespace }), serviceColumn(counts, serviceTexts)), ...usageColumns<Row>(usages)]}
        row={(index) => rows?.[index]}
        onSort={({ by, isDescending }) => setQuery({ sort: (isDescending ? '-' : '') + (by === first && !isDescending ? '' : by) })}
      />
    </ListFrame>
  );
}

/** Reads the list while the page is open, and follows its changes if the caller may watch the kind. */
function useTableList({ kind, namespace, rights }: ListProps & { rights: ListRights }, labelSelector: string): TableList {
  const list = useMemo(() => new TableList(kind, namespace, { labelSelector }), [kind, namespace, labelSelector]);
  const mayWatch = may(rights.watch) === true && kind.verbs.includes('watch');
  useEffect(() => {
    list.start(mayWatch);
    return () => list.stop();
  }, [list, mayWatch]);
  useEffect(() => {
    if (resumed.value > 0) void list.refresh();
  }, [resumed.value]);
  return list;
}

/** Returns the order in the address: a title of kubectl's, with `-` before it for the other direction. */
function sortOf(address: URLSearchParams, first: string): Sort {
  const [, descending, by = ''] = /^(-?)(.*)$/.exec(address.get('sort') ?? '') ?? [];
  return { by: by || first, isDescending: descending === '-' };
}

/** Reports whether the columns of `kubectl get -o wide` are shown, too. */
const isWide = (): boolean => query.value.get('columns') === 'all';

const columnsOf = (list: TableList, { kind, namespace }: ListProps): Column<Row>[] =>
  list.columns.value
    .filter(({ priority, name }) => priority === 0 || isWide() || name === 'Name')
    .flatMap((column, index) => {
      const shown = cellOf(kind, column, index);
      return index === 0 && kind.isNamespaced && namespace === undefined ? [shown, namespaceColumn(kind)] : [shown];
    });

/** The state stands beside the name. */
const withState = <T,>([name, ...columns]: Column<T>[], state: Column<T>[]): Column<T>[] =>
  name === undefined ? [] : [name, ...state, ...columns];

const serviceTexts = ({ cells }: Row) => ({
  type: String(cells.get('Type')),
  hasSelector: cells.get('Selector') !== '<none>',
  hasAddress: cells.get('External-IP') !== '<pending>',
});

function ColumnsChoice({ list }: { list: TableList }) {
  if (!list.columns.value.some(({ priority }) => priority > 0)) return null;
  return (
    <div class="columns-choice">
      <Menu
        label={t('cluster.columns')}
        icon={Columns3}
        kind="plain"
        items={[
          { label: t('cluster.columnsUsual'), isChecked: !isWide(), act: () => setQuery({ columns: '' }) },
          { label: t('cluster.columnsAll'), isChecked: isWide(), act: () => setQuery({ columns: 'all' }) },
        ]}
      >
        {t('cluster.columns')}
      </Menu>
    </div>
  );
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
