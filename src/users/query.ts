import { hash } from 'node:crypto';
import { type Predicate, parseFilters } from './filter.ts';
import type { ListParameters } from './schema.ts';
import { fieldPredicate, labelPredicate } from './selection.ts';
import { parseSort, type SortKey } from './sort.ts';

/** What decides which users a list holds and in which order; not which page of it is asked for. */
export type QueryParameters = Pick<ListParameters, 'labelSelector' | 'fieldSelector' | 'filterBy' | 'sortBy' | 'order'>;

/** A query, understood. */
export interface UserQuery {
  /** Undefined if all users fit. */
  readonly fits: Predicate | undefined;
  readonly sortKeys: readonly SortKey[];
  /** Key of the list of all users in this order. */
  readonly orderKey: string;
  /** Binds a continue token to the query that it was made for. */
  readonly fingerprint: string;
}

const defaultSort = 'a,username';

const keyOf = (...parts: readonly (string | readonly string[])[]): string => JSON.stringify(parts);

const orderKeyOf = (sortBy: string): string => keyOf('', '', [], sortBy, 'asc');

/** Equal queries have equal keys; it costs no parsing. */
export const queryKey = ({ labelSelector, fieldSelector, filterBy, sortBy, order }: QueryParameters): string =>
  keyOf(labelSelector, fieldSelector, filterBy, sortBy || defaultSort, order);

/** @throws StatusError 400 */
export function parseQuery({ labelSelector, fieldSelector, filterBy, sortBy, order }: QueryParameters): UserQuery {
  const predicates = [labelPredicate(labelSelector), fieldPredicate(fieldSelector), parseFilters(filterBy)].filter(
    (predicate) => predicate !== undefined,
  );
  const sortKeys = parseSort(sortBy || defaultSort, order);
  const canonicalSort = sortKeys.map(({ property, isDescending }) => `${isDescending ? 'd' : 'a'},${property}`).join();
  return {
    fits: predicates.length === 0 ? undefined : (row) => predicates.every((predicate) => predicate(row)),
    sortKeys,
    orderKey: orderKeyOf(canonicalSort),
    fingerprint: hash('sha256', keyOf(labelSelector, fieldSelector, filterBy, canonicalSort), 'base64url').slice(0, 22),
  };
}
