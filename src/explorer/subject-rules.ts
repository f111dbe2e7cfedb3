import {
  bindingsFor,
  describedBinding,
  describedRule,
  describedSubject,
  isMaster,
  type RbacSubject,
} from '@atrium/kubernetes/rbac/grants.ts';
import type { BoundSubject, RoleBinding } from '@atrium/kubernetes/rbac/role-bindings.ts';
import type { RbacWatch } from '@atrium/kubernetes/rbac/watch.ts';
import { ContinueTokens } from '@atrium/lists/page.ts';
import { sortInSlices } from '@atrium/lists/sort.ts';
import { badRequest } from '@atrium/objects/status.ts';
import { type Asking, type ExplorerContext, groupsOf, mayKnowGroups, requireBindings, VisibleRoles } from './rights.ts';
import type { AccessRule, AccessRuleList, RulesQuery } from './schema.ts';

interface Bound {
  readonly key: string;
  readonly binding: RoleBinding;
  readonly subject: BoundSubject;
}

/** Position behind the last item of a page: a binding, and the number of its rules that were shown. */
interface Position {
  readonly key: string;
  readonly rules: number;
}

/** Bindings whose roles are reviewed at a time. */
const reviewedAtOnce = 100;

/** Lists the rules that bindings give to a subject. */
export class SubjectRules {
  readonly #context: ExplorerContext;
  readonly #tokens: ContinueTokens;

  constructor(context: ExplorerContext) {
    this.#context = context;
    const { keyRing, now } = context.services;
    this.#tokens = new ContinueTokens({ seal: keyRing.sealFor('accessrules'), now });
  }

  /** @throws StatusError 400, 403, 410, 503, 504 */
  async list(query: RulesQuery, asking: Asking): Promise<AccessRuleList> {
    const { services } = this.#context;
    const named = subjectOf(query);
    const complete = await requireBindings(services, query.namespace, asking);
    const resolved = await resolve(this.#context, named, asking);
    services.rbac.requireRecent();
    const fingerprint = JSON.stringify([resolved.subject, query.namespace]);
    const from = await this.#position(query.continue, fingerprint);
    const bound = await boundTo(services.rbac, resolved, { namespace: query.namespace, hasClusterWide: complete });
    const { items, next } = await this.#page(bound, from, query.limit, asking);
    const { subject, who, hasGroups, isMaster } = resolved;
    return {
      apiVersion: 'auth.platform.io/v1',
      kind: 'AccessRuleList',
      metadata: next === undefined ? {} : { continue: this.#tokens.issue({ name: next.key, values: [next.rules] }, fingerprint) },
      complete,
      notes: [
        ...(isMaster ? ['SystemMasters' as const] : []),
        ...(complete ? [] : ['ClusterWideHidden' as const]),
        ...(hasGroups ? [] : ['GroupsUnknown' as const]),
      ],
      subject: describedSubject(subject),
      groups: subject.kind === 'Group' ? [] : [...who.groups],
      items,
    };
  }

  async #position(token: string, fingerprint: string): Promise<Position> {
    const { keyRing } = this.#context.services;
    await keyRing.settled();
    if (token === '') return { key: '', rules: 0 };
    const { name, values } = await this.#tokens.read(token, fingerprint);
    return { key: name, rules: Number(values[0] ?? 0) };
  }

  async #page(
    bound: readonly Bound[],
    from: Position,
    limit: number,
    asking: Asking,
  ): Promise<{ items: AccessRule[]; next: Position | undefined }> {
    const { services } = this.#context;
    const roles = new VisibleRoles(services, asking);
    const items: AccessRule[] = [];
    let first = bound.findIndex(({ key }) => key >= from.key);
    for (; first >= 0 && first < bound.length; first += reviewedAtOnce) {
      const part = bound.slice(first, first + reviewedAtOnce);
      await roles.review(part.map(({ binding }) => binding));
      for (const one of part) {
        const skipped = one.key === from.key ? from.rules : 0;
        const added = itemsOf(services.rbac, one, roles, { from: skipped, count: limit - items.length });
        items.push(...added.items);
        if (added.isCut) return { items, next: { key: one.key, rules: skipped + added.items.length } };
      }
    }
    return { items, next: undefined };
  }
}

async function boundTo(
  rbac: RbacWatch,
  { who }: ResolvedSubject,
  { namespace, hasClusterWide }: { namespace: string | undefined; hasClusterWide: boolean },
): Promise<Bound[]> {
  const bound = new Map<RoleBinding, Bound>();
  for (const { binding, subject } of bindingsFor(rbac, who)) {
    const isShown = binding.namespace === '' ? hasClusterWide : namespace === undefined || binding.namespace === namespace;
    if (isShown && !bound.has(binding)) bound.set(binding, { key: `${binding.namespace} ${binding.name}`, binding, subject });
  }
  return sortInSlices([...bound.values()], (left, right) => (left.key < right.key ? -1 : 1));
}

/** Returns items of a binding, and whether it has more of them than are wanted. */
function itemsOf(
  rbac: RbacWatch,
  { binding, subject }: Bound,
  roles: VisibleRoles,
  { from, count }: { from: number; count: number },
): { items: AccessRule[]; isCut: boolean } {
  const shown = { subject: describedSubject(subject), ...describedBinding(binding) };
  const role = rbac.roleOf(binding);
  if (!roles.has(binding) || role === undefined) {
    const mark = roles.has(binding) ? { missing: true as const } : { hidden: true as const };
    return from > 0 ? { items: [], isCut: false } : { items: count > 0 ? [{ ...shown, ...mark }] : [], isCut: count <= 0 };
  }
  const { rules = [] } = role;
  const items = rules.slice(from, from + count).map((rule) => ({ ...shown, rule: describedRule(rule) }));
  return { items, isCut: from + items.length < rules.length };
}

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
