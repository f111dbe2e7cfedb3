import type { ComponentChildren } from 'preact';
import type { Kind } from '../../../api/kinds';
import { windowSize } from '../../../api/window-size';
import { query, setQuery } from '../../../app/router';
import { t } from '../../../text/text';
import { SearchField } from '../../../ui/search';
import { sortText } from '../../../ui/sort';
import { Old, Waiting } from '../../../ui/state';
import { sortedByUsage, type Usages, usageColumns, usageSortIn, useUsages } from '../usage';
import { ListFrame, type ListProps, type ListRights, useSelected } from './list-frame';
import { ListTable } from './list-table';
import { type OfferedColumn, offeredColumns } from './offered-columns';
import { type Offered, type OfferedRow, useOffered } from './offered-list';
import { serviceColumn, useEndpointCounts } from './service-states';
import { StateChoice } from './state-choice';

interface OfferedRowsProps extends ListProps {
  kinds: readonly Kind[];
  rights: ListRights;
  columns: readonly OfferedColumn[];
  /** Shown in place of a list that is refused. */
  none: ComponentChildren;
}

/**
 * Shows a kind that `lists.resources` names. The service filters, sorts and counts all objects in all namespaces that the caller may see.
 */
export function OfferedRows({ kind, kinds, namespace, rights, columns, none }: OfferedRowsProps) {
  const usages = useUsages({ kinds, of: kind, namespace, labelSelector: query.value.get('selector') ?? '' });
  const counts = useEndpointCounts({ kinds, kind, namespace });
  const { windows, state, is, asked, sort, sortable } = useOffered({ kind, namespace, rights, columns });
  const selected = useSelected();
  const { list } = windows;
  const [total, problem, lost] = [list.total.value, list.error.value, windows.lost.value];
  const refresh = () => void windows.refresh();
  if (total === undefined && problem?.status === 403)
    return (
      <>
        <header class="page-head">
          <h1 tabIndex={-1}>{kind.title}</h1>
        </header>
        {none}
      </>
    );
  const byUsage = usageRows(list, total, usages);
  return (
    <ListFrame
      {...{ kind, namespace, rights, total, selected }}
      search={(total !== undefined || !problem) && <SearchField label={t('cluster.searchOffered')} />}
      filters={state && <StateChoice {...{ kind, namespace, state, is, asked, windows }} />}
      onDeleted={refresh}
    >
      {total !== undefined && <Old lost={lost} problem={problem} onRetry={refresh} />}
      <Waiting count={windows.waiting.value} onShow={refresh} />
      <ListTable<OfferedRow>
        {...{ kind, rights, total, problem, selected }}
        onRetry={refresh}
        filters={state === undefined ? ['q'] : ['q', 'is']}
        isOld={(lost ?? problem) !== undefined}
        columns={[
          ...offeredColumns({ kind, namespace }, columns, serviceColumn(counts, serviceTexts)),
          ...usageColumns<OfferedRow>(usages, (total ?? 0) <= windowSize),
        ]}
        row={(index) => (byUsage ? byUsage.rows[index] : list.row(index))}
        isBusy={windows.isAwaited}
        source={list}
        onRange={windows.want}
        sort={byUsage?.sort ?? sort}
        onSort={(next) => setQuery({ sort: sortText(next, sortable) })}
      />
    </ListFrame>
  );
}

const serviceTexts = ({ values }: OfferedRow) => ({
  type: String(values.type),
  hasSelector: true,
  hasAddress: values.status !== 'Pending',
});

/** Sorts by usage, which the service does not know, if the page holds the whole list. */
function usageRows(list: Offered['windows']['list'], total: number | undefined, usages: Usages | undefined) {
  const sort = usageSortIn(query.value);
  if (sort === undefined || usages === undefined || total === undefined || total > windowSize) return undefined;
  const rows = Array.from({ length: total }, (_, index) => list.row(index)).filter((row) => row !== undefined);
  return rows.length < total ? undefined : { sort, rows: sortedByUsage(rows, usages, sort) };
}
