import { useEffect, useMemo } from 'preact/hooks';
import { type Kind, pageOf } from '../../../api/kinds';
import { keyOf, type Selection } from '../../../api/objects';
import { may, type Right, useRights } from '../../../app/rights';
import { href } from '../../../app/router';
import { t } from '../../../text/text';
import { PlainTable } from '../../../ui/plain-table';
import { Empty, Failure, Old, Skeleton } from '../../../ui/state';
import { cellOf } from '../cells';
import { type Row, TableList } from '../table-list';
import { GuardedPart } from './guarded-part';

/** A longer list has a page of its own. */
const shownRows = 25;

interface RelatedProps {
  kind: Kind;
  namespace?: string | undefined;
  selection: Selection;
  /** The uid of the owner; unset: any. */
  owner?: string | undefined;
  label: string;
}

/** Objects that belong to another one, in the columns of kubectl: live, and only for callers who may list them. */
export function RelatedTable(props: RelatedProps) {
  const { kind, namespace } = props;
  const right = (verb: string): Right => ({ verb, group: kind.group, resource: kind.resource, ...(namespace && { namespace }) });
  const [list, watch] = [right('list'), right('watch')];
  useRights([list, watch]);
  return (
    <GuardedPart right={list}>
      <Rows {...props} mayWatch={may(watch) === true} />
    </GuardedPart>
  );
}

function Rows({ kind, namespace, selection, owner, label, mayWatch }: RelatedProps & { mayWatch: boolean }) {
  const { labelSelector = '', fieldSelector = '' } = selection;
  const list = useMemo(() => new TableList(kind, namespace, selection), [kind, namespace, labelSelector, fieldSelector]);
  useEffect(() => {
    list.start(mayWatch);
    return () => list.stop();
  }, [list, mayWatch]);
  useEffect(() => list.show(), [list.waiting.value]);
  const rows = list
    .shown({ search: '', sort: { by: 'Age', isDescending: false } })
    ?.filter(({ metadata }) => owner === undefined || metadata.ownerReferences?.some(({ uid }) => uid === owner));
  const problem = list.error.value;
  const retry = () => void list.refresh();
  if (rows === undefined) return problem ? <Failure problem={problem} onRetry={retry} /> : <Skeleton rows={3} />;
  return (
    <>
      <Old lost={list.lost.since.value} problem={problem} onRetry={retry} />
      {rows.length === 0 ? <Empty text={t('cluster.none', { kind: kind.title })} /> : <RowTable {...{ kind, label, list }} rows={rows} />}
      {(rows.length > shownRows || list.remaining.value) && (
        <p>
          <a href={href(`${pageOf(kind, { namespace })}?${new URLSearchParams({ selector: labelSelector })}`)}>
            {t('object.allOf', { kind: kind.title })}
          </a>
        </p>
      )}
    </>
  );
}

function RowTable({ kind, label, list, rows }: { kind: Kind; label: string; list: TableList; rows: readonly Row[] }) {
  const columns = list.columns.value
    .map((column, index) => ({ column, index }))
    .filter(({ column }) => column.priority === 0 || (kind.resource === 'pods' && column.name === 'Node'))
    .map(({ column, index }) => {
      const { title, cell } = cellOf(kind, column, index);
      return { title, cell };
    });
  return <PlainTable label={label} rows={rows.slice(0, shownRows)} idOf={({ metadata }) => keyOf(metadata)} columns={columns} />;
}
