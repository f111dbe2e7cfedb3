import type { Collection } from '../collection/collection.ts';
import type { Caller } from '../http/operation.ts';
import type { Services } from '../services.ts';
import { groupResource, localGroupName } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import type { GroupRow } from './row.ts';

/** What the operations on Groups share. */
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
 * Members get what is granted to the group, so a caller who changes them must be allowed to act as it. Where the API server has the chart's
 * admission policy, it asks for the same.
 *
 * @throws StatusError 403, 503
 */
export const requireMembersRight = ({ services }: GroupsContext, caller: Caller, name: string, signal: AbortSignal) =>
  services.access.require(caller, { group: '', resource: 'groups', verb: 'impersonate', name: localGroupName(name) }, signal);
