import { useEffect, useMemo } from 'preact/hooks';
import type { Kind } from '../../../../api/kinds';
import { pageSize, type Selection } from '../../../../api/list-path';
import { mostParts } from '../../../../api/objects';
import { type Row, TableList } from '../../list/table-list';

/** The API server does not select by owner. */
const readForOwner = mostParts * pageSize;

interface RelatedQuery {
  kind: Kind;
  namespace: string | undefined;
  selection?: Selection;
  /** Tells which of the selected objects belong to it; unset: all. */
  isOwn?: ((row: Row) => boolean) | undefined;
  mayWatch: boolean;
}

/** Reads and follows the objects that belong to another one. @returns their rows, youngest first, and the list that holds them */
export function useRelatedRows({ kind, namespace, selection = {}, isOwn, mayWatch }: RelatedQuery) {
  const { labelSelector = '', fieldSelector = '' } = selection;
  const least = isOwn === undefined || labelSelector !== '' ? 0 : readForOwner;
  const list = useMemo(() => new TableList(kind, namespace, selection, least), [kind, namespace, labelSelector, fieldSelector, least]);
  useEffect(() => {
    list.start(mayWatch);
    return () => list.stop();
  }, [list, mayWatch]);
  useEffect(() => list.show(), [list.waiting.value]);
  const rows = list.shown({ search: '', sort: { by: 'Age', isDescending: false } });
  return { list, rows: isOwn ? rows?.filter(isOwn) : rows };
}
