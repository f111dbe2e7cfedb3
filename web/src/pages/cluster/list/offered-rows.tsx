import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { api, bodyOf, type Schemas } from '../../../api/client';
import { parseJson } from '../../../api/json';
import { type Kind, pageOf, pathPlaceOf } from '../../../api/kinds';
import { follow } from '../../../api/live';
import { useLoad } from '../../../api/load';
import { keyOf } from '../../../api/objects';
import { offeredPath, offeredQuery, windowQuery } from '../../../api/offered';
import type { paths } from '../../../api/schema';
import { type LiveWindows, useWindows } from '../../../api/use-windows';
import { windowSize } from '../../../api/windows';
import { useNamespaces } from '../../../app/namespace';
import { may } from '../../../app/rights';
import { href, query, setQuery } from '../../../app/router';
import { count, t } from '../../../text/text';
import { Age } from '../../../ui/age';
import { Button } from '../../../ui/button';
import { SearchField } from '../../../ui/search';
import { sortBy, sortIn, sortText } from '../../../ui/sort';
import { Empty, Failure, Old, Skeleton, Waiting } from '../../../ui/state';
import { type Column, Table } from '../../../ui/table';
import { isNodeOf, nodeLink, StateWord } from '../cells';
import { sortedByUsage, type Usages, usageColumns, usageSortIn, useUsages } from '../usage';
import { ListFrame, type ListProps, type ListRights, useSelected } from './list-frame';
import { noteRow } from './opened-row';
import { namespaceColumn } from './table-rows';

type Row = Schemas['ResourceRow'];
type Offered = Schemas['OfferedResourceList']['items'][number]['columns'];

interface OfferedRowsProps extends ListProps {
  kinds: readonly Kind[];
  rights: ListRights;
  columns: Offered;
  /** Shown in place of a list that is refused. */
  none: ComponentChildren;
}

const isState = (name: string): boolean => /(?:^s|S)tat(?:e|us)$|(?:^p|P)hase$/.test(name);

/**
 * Shows a kind that `lists.resources` names. The service filters, sorts and counts all objects in all namespaces that the caller may see.
 */
export function OfferedRows({ kind, kinds, namespace, rights, columns, none }: OfferedRowsProps) {
  const state = columns.find(({ name, type }) => type === 'string' && isState(name))?.name;
  const sortable = ['name', 'namespace', 'creationTimestamp', ...columns.map(({ name }) => name)];
  const usages = useUsages({ kinds, of: kind, namespace, labelSelector: query.value.get('selector') ?? '' });
  const sort = sortIn(query.value, sortable);
  const [search, labelSelector] = [query.value.get('q') ?? '', query.value.get('selector') ?? ''];
  const is = state === undefined ? '' : (query.value.get('is') ?? '');
  const filterBy = is === '' ? [] : [`${state},${is.replaceAll(',', '\\,')}`];
  const asked = offeredQuery({ search, labelSelector });
  const at = offeredPath(kind, namespace);
  // Callers who may not list the kind in the cluster see the namespaces in which they may list it, and follow those in the same way.
  const isOfSome = kind.isNamespaced && namespace === undefined && may(rights.list) === false;
  const somewhere = useNamespaces(isOfSome ? kind : undefined, 'watch').data.value;
  const mayFollow = may(rights.watch) === true || (somewhere !== undefined && somewhere.items.length > 0);
  const windows = useWindows<Row>({
    key: `${at}?${JSON.stringify([asked, filterBy, sort])}`,
    fetch: (page, signal) =>
      ask<Schemas['ResourceRowList']>(kind, namespace, { ...asked, filterBy, ...windowQuery(sortBy(sort), page) }, signal),
    follow: mayFollow
      ? ({ resourceVersion, ...following }) => {
          const parameters = new URLSearchParams({ watch: 'true', resourceVersion, ...asked });
          for (const filter of filterBy) parameters.append('filterBy', filter);
          return follow<Row>({ address: `${at}?${parameters}`, ...following });
        }
      : undefined,
  });
  const { list, isAwaited, waiting, want, refresh } = windows;
  const lost = windows.lost.value;
  const selected = useSelected();
  const [total, problem] = [list.total.value, list.error.value];
  if (total === undefined && problem?.status === 403)
    return (
      <>
        <header class="page-head">
          <h1 tabIndex={-1}>{kind.title}</h1>
        </header>
        {none}
      </>
    );
  return (
    <ListFrame
      {...{ kind, namespace, rights, total, selected }}
      search={(total !== undefined || !problem) && <SearchField label={t('cluster.searchOffered')} />}
      filters={state && <States {...{ kind, namespace, state, is, asked, windows }} />}
      onDeleted={() => void refresh()}
    >
      {total !== undefined && <Old lost={lost} problem={problem} onRetry={() => void refresh()} />}
      <Waiting count={waiting.value} onShow={() => void refresh()} />
      {body()}
    </ListFrame>
  );

  function body() {
    if (total === undefined) return problem ? <Failure problem={problem} onRetry={() => void refresh()} /> : <Skeleton rows={12} />;
    if (total === 0) {
      const isFiltered = search !== '' || is !== '';
      return (
        <Empty text={isFiltered ? t('cluster.noneMatch') : t('cluster.none', { kind: kind.title })}>
          {isFiltered && <Button onClick={() => setQuery({ q: '', is: '' })}>{t('list.clear')}</Button>}
        </Empty>
      );
    }
    const byUsage = usageRows(list, total, usages);
    const mayDelete = may(rights.remove) === true && kind.verbs.includes('delete');
    const shown = [...columnsOf(kind, namespace, columns), ...usageColumns<Row>(usages, total <= windowSize)];
    return (
      <Table
        label={kind.title}
        isOld={(lost ?? problem) !== undefined}
        columns={shown}
        total={total}
        row={(index) => (byUsage ? byUsage.rows[index] : list.row(index))}
        idOf={({ metadata }) => keyOf(metadata)}
        nameOf={({ metadata }) => metadata.name}
        isBusy={isAwaited}
        source={list}
        onRange={want}
        onOpen={(row) => noteRow(kind, row, shown)}
        sort={byUsage?.sort ?? sort}
        onSort={(next) => setQuery({ sort: sortText(next, sortable) })}
        {...(mayDelete && { selected: new Set(selected.rows.value.keys()), onSelect: selected.select })}
      />
    );
  }
}

/** Sorts by usage, which the service does not know, if the page holds the whole list. */
function usageRows(list: LiveWindows<Row>['list'], total: number, usages: Usages | undefined) {
  const sort = usageSortIn(query.value);
  if (sort === undefined || usages === undefined || total > windowSize) return undefined;
  const rows = Array.from({ length: total }, (_, index) => list.row(index)).filter((row) => row !== undefined);
  return rows.length < total ? undefined : { sort, rows: sortedByUsage(rows, usages, sort) };
}

type Asked = NonNullable<paths['/api/v2/resources/{group}/{version}/{resource}']['get']['parameters']['query']>;

async function ask<T>(kind: Kind, namespace: string | undefined, asked: Asked, signal: AbortSignal): Promise<T> {
  const path = pathPlaceOf(kind);
  const params = { query: asked };
  // Rows may hold integers that a double cannot represent.
  const parseAs = 'text';
  const answer = await (namespace === undefined
    ? bodyOf(api.GET('/api/v2/resources/{group}/{version}/{resource}', { params: { ...params, path }, parseAs, signal }))
    : bodyOf(
        api.GET('/api/v2/resources/{group}/{version}/{resource}/namespaces/{namespace}', {
          params: { ...params, path: { ...path, namespace } },
          parseAs,
          signal,
        }),
      ));
  return parseJson(answer as string) as T;
}

/** Columns of `kubectl get -o wide` only: they leave no room for the names. */
const wide = new Set(['images', 'ip']);

function columnsOf(kind: Kind, namespace: string | undefined, columns: Offered): Column<Row>[] {
  const hasStatus = columns.some(({ name }) => name === 'status');
  return [
    {
      id: 'name',
      title: t('users.name'),
      sortBy: 'name',
      cell: ({ metadata }) => (
        <a class="strong" href={href(pageOf(kind, metadata))}>
          {metadata.name}
        </a>
      ),
    },
    ...(kind.isNamespaced && namespace === undefined ? [namespaceColumn<Row>(kind, 'namespace')] : []),
    ...columns.filter(({ name }) => !wide.has(name) && !(hasStatus && name === 'phase')).map((column) => cellOf(kind, column)),
    {
      id: 'age',
      title: t('cluster.age'),
      sortBy: 'creationTimestamp',
      cell: ({ metadata }) => <Age since={metadata.creationTimestamp} />,
    },
  ];
}

function cellOf(kind: Kind, { name, title = titleOf(name), type }: Offered[number]): Column<Row> {
  const isStateColumn = isState(name);
  return {
    id: isStateColumn ? 'phase' : `x-${name}`,
    title,
    sortBy: name,
    isMinor: !isStateColumn,
    isEssential: name === 'message',
    cell({ values }) {
      const value = values[name] ?? '';
      if (value === '') return '';
      if (isStateColumn) return <StateWord word={String(value)} />;
      if (isNodeOf(kind, name)) return nodeLink(value);
      return type === 'date' ? <Age since={String(value)} /> : String(value);
    },
  };
}

/** Returns the title of a column: `currentState` becomes Current State, `ip` becomes IP. */
const titleOf = (name: string): string =>
  name.length <= 2 ? name.toUpperCase() : name.charAt(0).toUpperCase() + name.slice(1).replaceAll(/([a-z])([A-Z])/g, '$1 $2');

interface StatesProps extends ListProps {
  state: string;
  /** State that is shown alone. */
  is: string;
  asked: Asked;
  windows: LiveWindows<Row>;
}

/** Shows the number of objects in each state, among all that the caller may see. */
function States({ kind, namespace, state, is, asked, windows: { list, waiting } }: StatesProps) {
  const load = useLoad(`${offeredPath(kind, namespace)}/summary?${JSON.stringify(asked)}`, (signal) =>
    ask<Schemas['ResourceSummary']>(kind, namespace, { ...asked, summary: state }, signal),
  );
  useEffect(() => {
    // The first rows are requested together with the first counts.
    if (list.revision.value <= 1 && waiting.value === 0) return;
    const timer = setTimeout(() => void load.reload(), countAgainMs);
    return () => clearTimeout(timer);
  }, [load, list.revision.value, waiting.value]);
  const values = (load.data.value?.values ?? []).filter(({ value }) => value !== null && value !== '');
  return (
    <label>
      <span class="hidden">{t('cluster.state')}</span>
      <select value={is} onChange={({ currentTarget }) => setQuery({ is: currentTarget.value })}>
        <option value="">{t('cluster.anyState')}</option>
        {is !== '' && !values.some(({ value }) => String(value) === is) && <option value={is}>{is}</option>}
        {values.map(({ value, count: number }) => (
          <option key={String(value)} value={String(value)}>
            {`${String(value)} (${count(number)})`}
          </option>
        ))}
      </select>
    </label>
  );
}

const countAgainMs = 1000;
