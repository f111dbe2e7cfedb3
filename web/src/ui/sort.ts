/** Order of a list in the address of its page: a property, with `-` before it for the other direction. */
import type { Sort } from './table';

/** Returns the order in the address. The first of `sortable` is the default. */
export function sortIn(query: URLSearchParams, sortable: readonly string[]): Sort {
  const [, descending, by = ''] = /^(-?)(.*)$/.exec(query.get('sort') ?? '') ?? [];
  return { by: sortable.includes(by) ? by : (sortable[0] ?? ''), isDescending: descending === '-' };
}

export const sortText = ({ by, isDescending }: Sort, sortable: readonly string[]): string =>
  (isDescending ? '-' : '') + (by === sortable[0] && !isDescending ? '' : by);

/** Formats an order as the service expects it. */
export const sortBy = ({ by, isDescending }: Sort): string => `${isDescending ? 'd' : 'a'},${by}`;
