/** The order of a list as it stands in the address of its page: a property, with `-` before it for the other direction. */
import type { Sort } from './table';

/** The first of `sortable` is the order of an address that names none. */
export function sortIn(query: URLSearchParams, sortable: readonly string[]): Sort {
  const [, descending, by = ''] = /^(-?)(.*)$/.exec(query.get('sort') ?? '') ?? [];
  return { by: sortable.includes(by) ? by : (sortable[0] ?? ''), isDescending: descending === '-' };
}

export const sortText = ({ by, isDescending }: Sort, sortable: readonly string[]): string =>
  (isDescending ? '-' : '') + (by === sortable[0] && !isDescending ? '' : by);

/** As the service is asked. */
export const sortBy = ({ by, isDescending }: Sort): string => `${isDescending ? 'd' : 'a'},${by}`;
