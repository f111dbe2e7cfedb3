import type { ComponentType } from 'preact';
import { type Kind, pageOf } from '../../../../api/kinds';
import type { Selection } from '../../../../api/list-path';
import { keyOf } from '../../../../api/objects';
import { href } from '../../../../app/router';
import { t } from '../../../../text/text';
import { PlainTable } from '../../../../ui/plain-table';
import { Empty, Failure, FirstOnly, Old, Skeleton } from '../../../../ui/state';
import { cellOf } from '../../cells';
import type { Row, TableList } from '../../list/table-list';
import { usageColumns, useUsages } from '../../usage';
import { usageKey } from '../../usage-amounts';
import { GuardedList } from '../guarded-part';
import { useRelatedRows } from './related-rows';

/** A longer list has a page of its own. */
const shownRows = 25;

interface RelatedProps {
  kind: Kind;
  kinds: readonly Kind[];
  namespace?: string | undefined;
  selection: Selection;
  /** Tells which of the selected objects belong to it; unset: all. */
  isOwn?: ((row: Row) => boolean) | undefined;
  label: string;
  /** Stands above the rows. */
  Above?: ComponentType<{ kind: Kind; rows: readonly Row[] }>;
}

/** Objects that belong to another one, in the columns of kubectl: live, and only for callers who may list them. */
export const RelatedTable = (props: RelatedProps) => (
  <GuardedList kind={props.kind} namespace={props.namespace}>
    {(mayWatch) => <Rows {...props} mayWatch={mayWatch} />}
  </GuardedList>
);

function Rows(props: RelatedProps & { mayWatch: boolean }) {
  const { kind, namespace, selection, isOwn, mayWatch, Above } = props;
  const { labelSelector = '' } = selection;
  const { list, rows } = useRelatedRows({ kind, namespace, selection, isOwn, mayWatch });
  const isPart = list.remaining.value;
  const problem = list.error.value;
  const retry = () => void list.refresh();
  if (rows === undefined) return problem ? <Failure problem={problem} onRetry={retry} /> : <Skeleton rows={3} />;
  return (
    <>
      <Old lost={list.lost.since.value} problem={problem} onRetry={retry} />
      {Above && <Above {...{ kind, rows }} />}
      <FirstOnly isPart={isPart && isOwn !== undefined} count={list.size.value} kind={kind.title} />
      {rows.length > 0 ? <RowTable {...props} {...{ list, rows }} /> : !isPart && <Empty text={t('cluster.none', { kind: kind.title })} />}
      {(rows.length > shownRows || isPart) && (
        <p>
          <a href={href(`${pageOf(kind, { namespace })}?${new URLSearchParams({ selector: labelSelector })}`)}>
            {t('object.allOf', { kind: kind.title })}
          </a>
        </p>
      )}
    </>
  );
}

function RowTable({ kind, kinds, namespace, selection, label, list, rows }: RelatedProps & { list: TableList; rows: readonly Row[] }) {
  const usages = useUsages({ kinds, of: kind, namespace, ...selection });
  const columns = list.columns.value
    .map((column, index) => ({ column, index }))
    .filter(({ column }) => column.priority === 0 || (kind.resource === 'pods' && column.name === 'Node'))
    .map(({ column, index }) => {
      const { title, isNumber, cell } = cellOf(kind, column, index);
      return { title, isNumber, cell };
    });
  const isUsed = rows.some(({ metadata }) => usages?.has(usageKey(metadata)));
  const all = [...columns, ...usageColumns<Row>(isUsed ? usages : undefined, false)];
  return <PlainTable label={label} rows={rows.slice(0, shownRows)} idOf={({ metadata }) => keyOf(metadata)} columns={all} />;
}
