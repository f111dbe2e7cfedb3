import { hash } from 'node:crypto';
import { parseFilters, parseSearch } from './filter.ts';
import type { ListProperties, ListRow, Predicate } from './properties.ts';
import type { ListParameters } from './schema.ts';
import { allOf, selectionPredicate } from './selection.ts';
import { parseSort, type SortKey } from './sort.ts';

/** What decides which rows a list holds and in which order; not which page of it is asked for. */
export type QueryParameters = Pick<ListParameters, 'labelSelector' | 'fieldSelector' | 'filterBy' | 'search' | 'sortBy' | 'order'>;

/** A query, understood. */
export interface ListQuery<Row> {
  /** Undefined if all rows fit. */
  readonly fits: Predicate<Row> | undefined;
  readonly sortKeys: readonly SortKey<Row>[];
  /** Key of the list of all rows in this order. */
  readonly orderKey: string;
  /** Binds a continue token to the query that it was made for. */
  readonly fingerprint: string;
}

/** Of all rows, those that this caller's list is about. Equal keys stand for equal predicates. */
export interface Scope<Row> {
  /** '' for all of them. */
  readonly key: string;
  readonly fits: Predicate<Row> | undefined;
  /** Whose list it is, where a continue token of another caller must not be taken. */
  readonly holder?: string;
}

const keyOf = (...parts: readonly (string | readonly string[])[]): string => JSON.stringify(parts);

const orderKeyOf = (sortBy: string): string => keyOf('', '', [], '', sortBy, 'asc');

/** Equal queries have equal keys; it costs no parsing. */
export const queryKey = (
  { defaultSort }: Pick<ListProperties<never>, 'defaultSort'>,
  { labelSelector, fieldSelector, filterBy, search, sortBy, order }: QueryParameters,
  scope?: Pick<Scope<never>, 'key'>,
): string => keyOf(labelSelector, fieldSelector, filterBy, search, sortBy || defaultSort, order, ...(scope?.key ? [scope.key] : []));

/** @throws StatusError 400 */
export function parseQuery<Row extends ListRow>(
  properties: ListProperties<Row>,
  parameters: QueryParameters,
  scope?: Scope<Row>,
): ListQuery<Row> {
  const { labelSelector, fieldSelector, filterBy, search, sortBy, order } = parameters;
  const sortKeys = parseSort(properties, sortBy || properties.defaultSort, order);
  const canonicalSort = sortKeys.map(({ property, isDescending }) => `${isDescending ? 'd' : 'a'},${property}`).join();
  return {
    fits: allOf([
      scope?.fits,
      selectionPredicate(properties, parameters),
      parseFilters(properties, filterBy),
      parseSearch(properties, search),
    ]),
    sortKeys,
    orderKey: orderKeyOf(canonicalSort),
    fingerprint: hash('sha256', keyOf(labelSelector, fieldSelector, filterBy, search, canonicalSort), 'base64url').slice(0, 22),
  };
}
