/** Order of a list in the address of its page: a property, with `-` before it for the other direction. */
import type { Sort } from './table';

function parsed(text: string): Sort {
  const [, descending, by = ''] = /^(-?)(.*)$/.exec(text) ?? [];
  return { by, isDescending: descending === '-' };
}

/** Returns the order in the address. The first of `sortable`, which may begin with `-`, is the default. */
export function sortIn(query: URLSearchParams, sortable: readonly string[]): Sort {
  const [first = ''] = sortable;
  const chosen = parsed(query.get('sort') ?? first);
  return sortable.some((one) => parsed(one).by === chosen.by) ? chosen : parsed(first);
}

export function sortText({ by, isDescending }: Sort, sortable: readonly string[]): string {
  const text = (isDescending ? '-' : '') + by;
  return text === sortable[0] ? '' : text;
}

/** Formats an order as the service expects it. */
export const sortBy = ({ by, isDescending }: Sort): string => `${isDescending ? 'd' : 'a'},${by}`;
