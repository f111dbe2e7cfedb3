/** Lists of kinds that `lists.resources` names. */
import { api, bodyOf, type Schemas } from '../../../api/client';
import { parseJson } from '../../../api/json';
import { pathPlaceOf } from '../../../api/kinds';
import { follow } from '../../../api/live';
import { firstOrder, offeredPath, offeredQuery, windowQuery } from '../../../api/offered';
import type { paths } from '../../../api/schema';
import { type LiveWindows, useWindows } from '../../../api/use-windows';
import { useNamespaces } from '../../../app/namespace';
import { may } from '../../../app/rights';
import { query } from '../../../app/router';
import { sortBy, sortIn } from '../../../ui/sort';
import type { Sort } from '../../../ui/table';
import type { ListProps, ListRights } from './list-frame';
import { isState, type OfferedColumn } from './offered-columns';

export type OfferedRow = Schemas['ResourceRow'];
export type Asked = NonNullable<paths['/api/v2/resources/{group}/{version}/{resource}']['get']['parameters']['query']>;

export interface Offered {
  windows: LiveWindows<OfferedRow>;
  /** Column with the state of an object, which can be chosen; undefined if the kind has none. */
  state: string | undefined;
  /** State that is shown alone. */
  is: string;
  /** Search and selector. */
  asked: Asked;
  sort: Sort;
  sortable: readonly string[];
}

interface OfferedProps extends ListProps {
  rights: ListRights;
  columns: readonly OfferedColumn[];
}

/** Reads the rows that the address of the page asks for, and follows them. */
export function useOffered({ kind, namespace, rights, columns }: OfferedProps): Offered {
  const state = columns.find(({ name, type }) => type === 'string' && isState(name))?.name;
  const sortable = [firstOrder(kind), 'name', 'namespace', 'creationTimestamp', ...columns.map(({ name }) => name)];
  const sort = sortIn(query.value, sortable);
  const is = state === undefined ? '' : (query.value.get('is') ?? '');
  const filterBy = is === '' ? [] : [`${state},${is.replaceAll(',', '\\,')}`];
  const asked = offeredQuery({ search: query.value.get('q') ?? '', labelSelector: query.value.get('selector') ?? '' });
  const at = offeredPath(kind, namespace);
  const mayFollow = useMayFollow({ kind, namespace }, rights);
  const windows = useWindows<OfferedRow>({
    key: `${at}?${JSON.stringify([asked, filterBy, sort])}`,
    fetch: (page, signal) =>
      ask<Schemas['ResourceRowList']>({ kind, namespace }, { ...asked, filterBy, ...windowQuery(sortBy(sort), page) }, signal),
    follow: mayFollow
      ? ({ resourceVersion, ...following }) => {
          const parameters = new URLSearchParams({ watch: 'true', resourceVersion, ...asked });
          for (const filter of filterBy) parameters.append('filterBy', filter);
          return follow<OfferedRow>({ address: `${at}?${parameters}`, ...following });
        }
      : undefined,
  });
  return { windows, state, is, asked, sort, sortable };
}

/** Callers who may not list the kind in the cluster see the namespaces in which they may list it, and follow those in the same way. */
function useMayFollow({ kind, namespace }: ListProps, rights: ListRights): boolean {
  const isOfSome = kind.isNamespaced && namespace === undefined && may(rights.list) === false;
  const somewhere = useNamespaces(isOfSome ? kind : undefined, 'watch').data.value;
  return may(rights.watch) === true || (somewhere !== undefined && somewhere.items.length > 0);
}

/** Counts the objects in each state, among all that the caller may see. */
export const countStates = (place: ListProps, asked: Asked, state: string, signal: AbortSignal): Promise<Schemas['ResourceSummary']> =>
  ask(place, { ...asked, summary: state }, signal);

async function ask<T>({ kind, namespace }: ListProps, asked: Asked, signal: AbortSignal): Promise<T> {
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
