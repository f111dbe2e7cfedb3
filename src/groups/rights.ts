import type { Caller } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import { groupResource, localGroupName } from '../users/record/local-groups.ts';

/** @throws StatusError 403, 503 */
export const requireGroupRight = (access: AccessReviews, caller: Caller, verb: string, name: string | undefined, signal: AbortSignal) =>
  access.require(caller, { ...groupResource, verb, ...(name !== undefined && { name }) }, signal);

/**
 * Members get what is granted to the group, so a caller who changes them must be allowed to act as it; where the API server has the chart's
 * admission policy, it asks for the same.
 *
 * @throws StatusError 403, 503
 */
export const requireMembersRight = (access: AccessReviews, caller: Caller, name: string, signal: AbortSignal) =>
  access.require(caller, { group: '', resource: 'groups', verb: 'impersonate', name: localGroupName(name) }, signal);
