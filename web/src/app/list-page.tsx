/** Pages of lists that the service searches, filters and sorts, by the address of the page. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { type Following, type LiveWindows, useWindows } from '../api/use-windows';
import { windowSize } from '../api/window-size';
import type { FetchSlice } from '../api/windows';
import { count, t } from '../text/text';
import { Button } from '../ui/button';
import { PlainTable } from '../ui/plain-table';
import { SearchField } from '../ui/search';
import { sortBy, sortIn, sortText } from '../ui/sort';
import { Empty, Failure, Held, Notice, Old, Skeleton, Waiting } from '../ui/state';
import { type Column, Table } from '../ui/table';
import { Guarded } from './guarded';
import { Offers, type OffersProps } from './offers';
import { QueryChoice, type QueryChoiceProps } from './query-choice';
import { type Right, useRights } from './rights';
import { query, setQuery } from './router';

/** Parameters of the service that every list has, and the chosen filters by name. */
export interface Asked {
  parameters: { search?: string; sortBy?: string };
  chosen: Readonly<Record<string, string>>;
}

interface Row {
  metadata: { uid: string };
}

export interface List<T extends Row> {
  /** Begins the key of the load, which `refetch` names. */
  key: string;
  label: string;
  none: string;
  /** Label of the search field. */
  search?: string;
  filters?: readonly QueryChoiceProps[];
  columns: readonly Column<T>[];
  /** The first is the default order. Without any, the service chooses. */
  sortable?: readonly string[];
  nameOf: (row: T) => string;
  fetch: (asked: Asked) => FetchSlice<T>;
  follow?: ((asked: Asked) => (following: Following<T>) => () => void) | undefined;
  /** For a short list: cells are not cut, and rows beyond the first answer are counted only. */
  isShort?: boolean;
}

const none: readonly string[] = [];

function useList<T extends Row>({ key, fetch, follow, filters = [], sortable = none }: List<T>): LiveWindows<T> {
  const search = (query.value.get('q') ?? '').slice(0, 128);
  const asked: Asked = {
    parameters: { ...(search && { search }), ...(sortable.length > 0 && { sortBy: sortBy(sortIn(query.value, sortable)) }) },
    chosen: Object.fromEntries(filters.map(({ name }) => [name, query.value.get(name) ?? ''])),
  };
  return useWindows({ key: `${key}?${JSON.stringify(asked)}`, fetch: fetch(asked), follow: follow?.(asked) });
}

interface ListPageProps<T extends Row> {
  list: List<T>;
  /** Unset for a list of the caller's own objects. */
  right?: Right;
  /** Asked together with the rights of `offers`. */
  rights?: readonly Right[];
  about?: ComponentChildren;
  /** Links to other lists of the page. */
  views?: ComponentChildren;
  /** Formats the number of rows beside the heading. */
  countOf?: (total: number) => string;
  offers?: OffersProps['of'];
  /** Shows the actions on the selected rows; without it no row can be selected. */
  selection?: ((rows: readonly T[], clear: () => void) => ComponentChildren) | undefined;
  /** Dialogs. */
  children?: ComponentChildren;
}

export function ListPage<T extends Row>(props: ListPageProps<T>) {
  const { list, right, rights = [], offers = [], children } = props;
  useRights([...(right ? [right] : []), ...rights, ...offers.flatMap((offer) => offer.rights)]);
  const shown = (
    <>
      <Shown {...props} />
      {children}
    </>
  );
  return right === undefined ? (
    shown
  ) : (
    <Guarded right={right} title={list.label}>
      {shown}
    </Guarded>
  );
}

function Shown<T extends Row>({ list, about, views, countOf, offers = [], selection }: ListPageProps<T>) {
  const windows = useList(list);
  const total = windows.list.total.value;
  return (
    <section class={list.isShort ? 'page' : 'page fill'}>
      <header class="page-head">
        <h1 tabIndex={-1}>{list.label}</h1>
        {countOf && (
          <p class="muted" role="status" dir="auto">
            {total !== undefined && countOf(total)}
          </p>
        )}
        <div class="buttons">
          <Offers of={offers} />
        </div>
      </header>
      {views}
      {about && <p class="muted measure">{about}</p>}
      <Rows list={list} windows={windows} selection={selection} />
    </section>
  );
}

/** A list as a part of another page. */
export function ListPart<T extends Row>({ list }: { list: List<T> }) {
  return <Rows list={list} windows={useList(list)} />;
}

interface RowsProps<T extends Row> extends Pick<ListPageProps<T>, 'list' | 'selection'> {
  windows: LiveWindows<T>;
}

function Rows<T extends Row>({ list, windows, selection }: RowsProps<T>) {
  const selected = useSignal<ReadonlyMap<string, T>>(new Map());
  const [total, problem] = [windows.list.total.value, windows.list.error.value];
  function select(rows: readonly T[], isSelected: boolean): void {
    const next = new Map(selected.value);
    for (const row of rows) {
      if (isSelected) next.set(row.metadata.uid, row);
      else next.delete(row.metadata.uid);
    }
    selected.value = next;
  }
  const clear = () => {
    selected.value = new Map();
  };
  return (
    <>
      {(problem === undefined || total !== undefined) && <Filters list={list} />}
      {selected.value.size > 0 && selection?.([...selected.value.values()], clear)}
      {total !== undefined && <Old lost={windows.lost.value} problem={problem} onRetry={() => void windows.refresh()} />}
      <Waiting count={windows.waiting.value} onShow={() => void windows.refresh()} />
      {total ? (
        <Body list={list} windows={windows} {...(selection && { selected: new Set(selected.value.keys()), onSelect: select })} />
      ) : (
        <NoRows list={list} windows={windows} />
      )}
    </>
  );
}

function Filters<T extends Row>({ list: { search, filters = [] } }: { list: List<T> }) {
  if (search === undefined && filters.length === 0) return null;
  return (
    <search class="filters">
      {search && <SearchField label={search} />}
      {filters.map((filter) => (
        <QueryChoice key={filter.name} {...filter} />
      ))}
    </search>
  );
}

/** Shown in place of rows: while they load, if they cannot be read, if there are none, or if none match. */
function NoRows<T extends Row>({ list: { none: text, filters = [] }, windows: { list, refresh } }: RowsProps<T>) {
  if (list.total.value === undefined)
    return list.error.value ? <Failure problem={list.error.value} onRetry={() => void refresh()} /> : <Skeleton rows={12} />;
  const names = ['q', ...filters.map(({ name }) => name)].filter((name) => query.value.get(name));
  if (names.length === 0) return <Empty text={text} />;
  return (
    <Empty text={t('list.noneMatch')}>
      <Button onClick={() => setQuery(Object.fromEntries(names.map((name) => [name, ''])))}>{t('list.clear')}</Button>
    </Empty>
  );
}

interface BodyProps<T extends Row> extends RowsProps<T> {
  selected?: ReadonlySet<string>;
  onSelect?: (rows: readonly T[], isSelected: boolean) => void;
}

function Body<T extends Row>({ list, windows, ...selecting }: BodyProps<T>) {
  const { label, columns, nameOf, sortable = none } = list;
  const { list: rows, isAwaited, lost, want } = windows;
  const [total, problem] = [rows.total.value ?? 0, rows.error.value];
  if (list.isShort) {
    const shown = Array.from({ length: Math.min(total, windowSize) }, (_, index) => rows.row(index)).filter((row) => row !== undefined);
    return (
      <>
        {total > windowSize && <Notice kind="info">{t('list.first', { shown: count(windowSize), total: count(total) })}</Notice>}
        <Held lost={lost.value} problem={problem}>
          <PlainTable label={label} columns={columns} rows={shown} idOf={({ metadata }) => metadata.uid} />
        </Held>
      </>
    );
  }
  return (
    <Table
      label={label}
      isOld={(lost.value ?? problem) !== undefined}
      columns={columns}
      total={total}
      row={(index) => rows.row(index)}
      idOf={({ metadata }) => metadata.uid}
      nameOf={nameOf}
      isBusy={isAwaited}
      source={rows}
      onRange={want}
      sort={sortIn(query.value, sortable)}
      onSort={(sort) => setQuery({ sort: sortText(sort, sortable) })}
      {...selecting}
    />
  );
}
