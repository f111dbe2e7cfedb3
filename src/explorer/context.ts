import type { UserBindingRow } from '../bindings/row.ts';
import type { Collection } from '../collection/collection.ts';
import { groupNamesOf } from '../config/issuers.ts';
import type { GroupRow } from '../groups/row.ts';
import type { Caller } from '../http/operation.ts';
import type { Services } from '../services.ts';
import type { Account } from '../users/record/account.ts';
import { type LocalGroupLookup, requireLocalGroups } from '../users/record/local-groups.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';

/** Dependencies on other modules. */
export interface ExplorerNeeds {
  readonly users: {
    readonly accounts: AccountLookup;
    readonly records: { names(): Iterable<string> };
  };
  readonly localGroups: LocalGroupLookup;
  /** Undefined if groups are off. */
  readonly groups: Collection<GroupRow> | undefined;
  /** Undefined if UserBindings are off. */
  readonly userBindings: Collection<UserBindingRow> | undefined;
}

export interface ExplorerContext extends ExplorerNeeds {
  readonly services: Services;
}

/** Call of an operation. */
export interface Asking {
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/** Returns all groups of a record as Kubernetes sees them. */
export const groupsOf = ({ services, localGroups }: ExplorerContext, account: Account): string[] => [
  ...new Set([...groupNamesOf(services.config, account), ...localGroups.of(account.name)]),
];

/** Reports whether the caller may know the groups of the record, or of all records. @throws StatusError 503, 504 */
export async function mayKnowGroups(
  { services, users, localGroups }: ExplorerContext,
  { caller, signal }: Asking,
  name?: string,
): Promise<boolean> {
  requireAccounts(users.accounts);
  requireLocalGroups(localGroups);
  return services.access.can(caller, { ...userResource, subresource: 'roles', verb: 'get', ...(name !== undefined && { name }) }, signal);
}
