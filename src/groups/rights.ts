import type { Collection } from '../collection/collection.ts';
import type { Caller } from '../http/operation.ts';
import type { Services } from '../services.ts';
import { groupResource, localGroupName } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import type { GroupRow } from './row.ts';

/** Dependencies of the operations on Groups. */
export interface GroupsContext {
  readonly services: Services;
  readonly groups: Collection<GroupRow>;
  readonly accounts: AccountLookup;
}

/** @throws StatusError 403, 503 */
export const requireGroupRight = (
  { services }: GroupsContext,
  caller: Caller,
  verb: string,
  name: string | undefined,
  signal: AbortSignal,
) => services.access.require(caller, { ...groupResource, verb, ...(name !== undefined && { name }) }, signal);

/**
 * Requires the right to impersonate the group, because members get what is granted to it. The chart's admission policy, where installed,
 * requires the same.
 *
 * @throws StatusError 403, 503
 */
export const requireMembersRight = ({ services }: GroupsContext, caller: Caller, name: string, signal: AbortSignal) =>
  services.access.require(caller, { group: '', resource: 'groups', verb: 'impersonate', name: localGroupName(name) }, signal);
