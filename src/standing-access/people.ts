/** People whom bindings give a role: the users that they name, and the members of their groups by the User records. */
import { isReservedGroup } from '@atrium/kubernetes/impersonation.ts';
import type { RoleBinding } from '@atrium/kubernetes/rbac/role-bindings.ts';
import { Slices } from '@atrium/kubernetes/slices.ts';
import { type ExplorerContext, groupsOf } from '../explorer/rights.ts';

export interface Holders {
  /** Names in Kubernetes, sorted. */
  readonly people: readonly string[];
  /** False if the binding names a group of which no member is known, or a ServiceAccount. */
  readonly isComplete: boolean;
}

type Members = ReadonlyMap<string, readonly string[]>;

/** Returns the members of the groups that the bindings name. @param isAllowed false if the caller may not know the groups of users */
export async function membersOf(context: ExplorerContext, bindings: readonly RoleBinding[], isAllowed: boolean): Promise<Members> {
  const members = new Map<string, string[]>();
  if (!isAllowed) return members;
  for (const { subjects } of bindings)
    for (const { kind, name } of subjects) if (kind === 'Group' && !isReservedGroup(name)) members.set(name, []);
  if (members.size === 0) return members;
  const { accounts, records } = context.users;
  const slices = new Slices();
  for (const record of records.names()) {
    const account = accounts.get(record);
    if (account !== undefined && account.subjectName !== '')
      for (const group of groupsOf(context, account)) members.get(group)?.push(account.subjectName);
    const turn = slices.end();
    if (turn !== undefined) await turn;
  }
  return members;
}

export function holdersOf({ subjects }: RoleBinding, members: Members): Holders {
  const people = new Set<string>();
  let isComplete = true;
  for (const { kind, name } of subjects) {
    if (kind === 'User') people.add(name);
    const ofGroup = kind === 'Group' ? members.get(name) : undefined;
    // Certificates and tokens of other issuers name groups that no User record has.
    if (kind !== 'User' && !ofGroup?.length) isComplete = false;
    for (const member of ofGroup ?? []) people.add(member);
  }
  return { people: [...people].sort(), isComplete };
}
