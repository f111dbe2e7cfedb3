import type { ComponentChildren } from 'preact';
import type { Kind } from '../../../api/kinds';
import { keyOf } from '../../../api/objects';
import type { Problem } from '../../../api/problem';
import { query, setQuery } from '../../../app/router';
import { allowedOf, usePluginActions } from '../../../plugins/actions';
import { t } from '../../../text/text';
import { Button } from '../../../ui/button';
import { Empty, Failure, Skeleton } from '../../../ui/state';
import { Table, type TableProps } from '../../../ui/table';
import type { ListRights, Selected } from './list-frame';
import { noteRow } from './opened-row';
import { changesFor, type Listed } from './selected-changes';

interface ListTableProps<T> extends Omit<TableProps<T>, 'label' | 'total' | 'idOf' | 'nameOf' | 'onOpen' | 'selected' | 'onSelect'> {
  kind: Kind;
  rights: ListRights;
  /** Undefined before the first answer. */
  total: number | undefined;
  problem: Problem | undefined;
  onRetry: () => void;
  /** Steps after a refusal. */
  steps?: ComponentChildren;
  /** Parameters of the address that filter the rows. */
  filters: readonly string[];
  selected: Selected;
}

/** Shows the rows of a kind, or the reason why there are none. */
export function ListTable<T extends { metadata: Listed }>(props: ListTableProps<T>) {
  const { kind, rights, total, problem, onRetry, steps, filters, selected, columns, ...table } = props;
  const { group, resource } = kind;
  const added = allowedOf(usePluginActions(group, resource, rights.list.namespace));
  const isSelectable = changesFor(kind, rights).length + added.length > 0;
  if (total === undefined)
    return problem ? (
      <Failure problem={problem} onRetry={onRetry}>
        {steps}
      </Failure>
    ) : (
      <Skeleton rows={12} />
    );
  if (total === 0) return <NoRows kind={kind} filters={filters} />;
  return (
    <Table
      {...table}
      {...{ total, columns }}
      label={kind.title}
      idOf={({ metadata }) => keyOf(metadata)}
      nameOf={({ metadata }) => metadata.name}
      onOpen={(row) => noteRow(kind, row, columns)}
      {...(isSelectable && { selected: new Set(selected.rows.value.keys()), onSelect: selected.select })}
    />
  );
}

function NoRows({ kind, filters }: { kind: Kind; filters: readonly string[] }) {
  const isFiltered = filters.some((name) => query.value.get(name));
  return (
    <Empty text={isFiltered ? t('cluster.noneMatch') : t('cluster.none', { kind: kind.title })}>
      {isFiltered && <Button onClick={() => setQuery(Object.fromEntries(filters.map((name) => [name, ''])))}>{t('list.clear')}</Button>}
    </Empty>
  );
}
