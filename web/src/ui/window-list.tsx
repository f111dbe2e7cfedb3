import type { ComponentChildren } from 'preact';
import type { LiveWindows } from '../api/use-windows';
import { query, setQuery } from '../app/router';
import { t } from '../text/text';
import { Button } from './button';
import { SearchField } from './search';
import { sortIn, sortText } from './sort';
import { Empty, Failure, Old, Skeleton, Waiting } from './state';
import { type Column, Table } from './table';

interface WindowListProps<T extends { metadata: { uid: string } }> {
  label: string;
  /** Above the list: what is looked for in it. */
  search: string;
  /** Where there is nothing at all. */
  none: string;
  windows: LiveWindows<T>;
  columns: readonly Column<T>[];
  /** The first is the order without a choice. */
  sortable: readonly string[];
  nameOf: (row: T) => string;
  buttons: ComponentChildren;
}

/** A page of a long list that is searched and sorted by its address. */
export function WindowList<T extends { metadata: { uid: string } }>(props: WindowListProps<T>) {
  const { label, search, none, columns, sortable, nameOf, buttons } = props;
  const { list, waiting, refresh } = props.windows;
  const [total, problem, lost] = [list.total.value, list.error.value, props.windows.lost.value];
  const isSearched = query.value.has('q');
  return (
    <section class="page fill">
      <header class="page-head">
        <h1 tabIndex={-1}>{label}</h1>
        <div class="buttons">{buttons}</div>
      </header>
      {(total !== undefined || !problem) && (
        <search class="filters">
          <SearchField label={search} />
        </search>
      )}
      {total !== undefined && <Old lost={lost} problem={problem} onRetry={() => void refresh()} />}
      <Waiting count={waiting.value} onShow={() => void refresh()} />
      {body()}
    </section>
  );

  function body() {
    if (total === undefined) return problem ? <Failure problem={problem} onRetry={() => void refresh()} /> : <Skeleton rows={12} />;
    if (total === 0)
      return (
        <Empty text={isSearched ? t('list.noneMatch') : none}>
          {isSearched && <Button onClick={() => setQuery({ q: '' })}>{t('list.clear')}</Button>}
        </Empty>
      );
    return (
      <Table
        label={label}
        isOld={(lost ?? problem) !== undefined}
        columns={columns}
        total={total}
        row={(index) => list.row(index)}
        idOf={({ metadata }) => metadata.uid}
        nameOf={nameOf}
        onRange={(first, last) => list.want(first, last)}
        sort={sortIn(query.value, sortable)}
        onSort={(sort) => setQuery({ sort: sortText(sort, sortable) })}
      />
    );
  }
}
