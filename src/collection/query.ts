import { hash } from 'node:crypto';
import type { Caller } from '../http/operation.ts';
import type { ListProperties, ListRow, Predicate } from './properties.ts';
import type { ListParameters } from './schema.ts';
import { allOf, parseFilters, parseSearch, selectionPredicate } from './selection.ts';
import { parseSort, type SortKey } from './sort.ts';

/** Parameters that select and order rows, without those that select a page. */
export type QueryParameters = Pick<ListParameters, 'labelSelector' | 'fieldSelector' | 'filterBy' | 'search' | 'sortBy' | 'order'>;

/** A parsed query. */
export interface ListQuery<Row> {
  /** Selects rows. Undefined for all rows. */
  readonly fits: Predicate<Row> | undefined;
  readonly sortKeys: readonly SortKey<Row>[];
  /** Key of the list of all rows in this order. */
  readonly orderKey: string;
  /** Hash that binds a continue token to its query. */
  readonly fingerprint: string;
}

/** Limits a list to the rows of a caller. Equal keys stand for equal predicates. */
export interface Scope<Row> {
  /** Key of the predicate, '' for all rows. */
  readonly key: string;
  readonly fits: Predicate<Row> | undefined;
  /** Hash of the caller. Set if continue tokens of other callers must be refused. */
  readonly holder?: string;
}

/** Returns the holder of continue tokens: the user, and the caller who views the cluster as that user. */
export const holderOf = ({ identity, viewing }: Caller): string => {
  const users = [identity, ...(viewing ? [viewing.by.identity] : [])];
  return hash('sha256', JSON.stringify(users.flatMap(({ name, uid }) => [name, uid])), 'base64url');
};

const keyOf = (...parts: readonly (string | readonly string[])[]): string => JSON.stringify(parts);

const orderKeyOf = (sortBy: string): string => keyOf('', '', [], '', sortBy, 'asc');

/** Returns a key that equal queries share, without parsing them. */
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
