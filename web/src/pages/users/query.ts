/** State of the users list. The address of the page contains it, and it is sent to the service unchanged. */
import type { Ref } from '../../../template/atrium-console';
import { api, bodyOf, type Schemas } from '../../api/client';
import { windowSize } from '../../api/window-size';
import type { FetchSlice } from '../../api/windows';
import type { Asked } from '../../app/list-page';

export type User = Schemas['User'];

/** Returns the reference to a user that plugins receive. */
export const refOfUser = ({ metadata: { name, uid } }: User): Ref => ({
  group: 'auth.platform.io',
  version: 'v1',
  resource: 'users',
  name,
  uid,
});

export const sortable = ['username', 'email', 'phase', 'last_login_time', 'connector_name', 'creationTimestamp'];

const escaped = (value: string) => value.replaceAll(',', '\\,');

/** Returns the query parameters of the list and of the live list. */
function listParameters({ parameters, chosen: { phase = '', source = '' } }: Asked) {
  const filterBy = [phase && `phase,${escaped(phase)}`, source && `connector_type,${escaped(source)}`].filter((text) => text !== '');
  return { ...parameters, ...(filterBy.length > 0 && { filterBy }) };
}

export const fetchUsers =
  (asked: Asked): FetchSlice<User> =>
  (page, signal) =>
    bodyOf(api.GET('/auth/v2/users', { params: { query: { ...listParameters(asked), page, limit: windowSize } }, signal }));

export function liveAddress(asked: Asked, resourceVersion: string): string {
  const { search, filterBy = [] } = listParameters(asked);
  const query = new URLSearchParams({ watch: 'true', resourceVersion, ...(search && { search }) });
  for (const filter of filterBy) query.append('filterBy', filter);
  return `auth/v2/users?${query}`;
}
