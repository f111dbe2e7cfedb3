/** What of the users is looked at stands in the address of the page, and goes to the service as it stands. */
import type { Ref } from '../../../template/atrium-console';
import { api, bodyOf, type Schemas } from '../../api/client';
import { type FetchSlice, windowSize } from '../../api/windows';
import { sortBy, sortIn } from '../../ui/sort';
import type { Sort } from '../../ui/table';

export type User = Schemas['User'];

/** As plugins are told of a user. */
export const refOfUser = ({ metadata: { name, uid } }: User): Ref => ({
  group: 'auth.platform.io',
  version: 'v1',
  resource: 'users',
  name,
  uid,
});

export const phases = ['Normal', 'Locked', 'Disabled', 'Invalid'] as const;
export const sortable = ['username', 'email', 'phase', 'last_login_time', 'connector_name', 'creationTimestamp'];

export interface UsersQuery {
  search: string;
  phase: string;
  source: string;
  sort: Sort;
}

export function usersQuery(query: URLSearchParams): UsersQuery {
  return {
    search: query.get('q') ?? '',
    phase: query.get('phase') ?? '',
    source: query.get('source') ?? '',
    sort: sortIn(query, sortable),
  };
}

const escaped = (value: string) => value.replaceAll(',', '\\,');

/** As the service is asked: by the list, and by the live list. */
function listParameters({ search, phase, source, sort }: UsersQuery) {
  const filterBy = [phase && `phase,${escaped(phase)}`, source && `connector_type,${escaped(source)}`].filter((text) => text !== '');
  return {
    ...(search && { search: search.slice(0, 128) }),
    ...(filterBy.length > 0 && { filterBy }),
    sortBy: sortBy(sort),
  };
}

export const fetchUsers =
  (asked: UsersQuery): FetchSlice<User> =>
  (page, signal) =>
    bodyOf(api.GET('/auth/v2/users', { params: { query: { ...listParameters(asked), page, limit: windowSize } }, signal }));

export function liveAddress(asked: UsersQuery, resourceVersion: string): string {
  const { search, filterBy = [] } = listParameters(asked);
  const query = new URLSearchParams({ watch: 'true', resourceVersion, ...(search && { search }) });
  for (const filter of filterBy) query.append('filterBy', filter);
  return `auth/v2/users?${query}`;
}
