import { badRequest } from '../api/status.ts';
import { isMaster, type RbacSubject } from '../rbac/grants.ts';
import type { BoundSubject } from '../rbac/role-bindings.ts';
import { type Asking, type ExplorerContext, groupsOf, mayKnowGroups } from './context.ts';
import type { RulesQuery } from './schema.ts';

const everyone = 'system:authenticated';
const accountPrefix = 'system:serviceaccount:';

/** A subject with all names and groups by which bindings give it rights. */
export interface ResolvedSubject {
  readonly subject: BoundSubject;
  readonly who: RbacSubject;
  /** False if the groups of the user are unknown: there is no record, or the caller may not see them. */
  readonly hasGroups: boolean;
  readonly isMaster: boolean;
}

/** @throws StatusError 400 unless the query names exactly one subject */
export function subjectOf({ user, group, serviceaccount }: Pick<RulesQuery, 'user' | 'group' | 'serviceaccount'>): BoundSubject {
  if ([user, group, serviceaccount].filter((given) => given !== undefined).length !== 1)
    throw badRequest('give exactly one of user, group and serviceaccount');
  if (group !== undefined) return { kind: 'Group', name: group };
  if (serviceaccount !== undefined) return { kind: 'ServiceAccount', name: `${accountPrefix}${serviceaccount.replace('/', ':')}` };
  return user?.startsWith(accountPrefix) ? { kind: 'ServiceAccount', name: user } : { kind: 'User', name: user ?? '' };
}

/** Returns the subject with its groups, those of users as far as the caller may know them. @throws StatusError 503, 504 */
export async function resolve(context: ExplorerContext, subject: BoundSubject, asking: Asking): Promise<ResolvedSubject> {
  const resolved = (who: RbacSubject, hasGroups = true): ResolvedSubject => ({ subject, who, hasGroups, isMaster: isMaster(who) });
  if (subject.kind === 'Group') return resolved({ name: '', groups: [subject.name] });
  if (subject.kind === 'ServiceAccount') {
    const [, , namespace = ''] = subject.name.split(':');
    return resolved({ name: subject.name, groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, everyone] });
  }
  const account = context.users.accounts.ofSubject(subject.name);
  // A caller without the right learns neither the groups nor whether there is a record.
  const isKnown = account !== undefined && (await mayKnowGroups(context, asking, account.name));
  return resolved({ name: subject.name, groups: [...(isKnown ? groupsOf(context, account) : []), everyone] }, isKnown);
}
