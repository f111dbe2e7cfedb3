import { describedBinding, describedRule, describedSubject } from '@atrium/kubernetes/rbac/grants.ts';
import type { BoundSubject, RoleBinding } from '@atrium/kubernetes/rbac/role-bindings.ts';
import { type AccessQuestion, type PolicyRule, ruleAllows } from '@atrium/kubernetes/rbac/rules.ts';
import type { RbacWatch } from '@atrium/kubernetes/rbac/watch.ts';
import { Slices } from '@atrium/kubernetes/slices.ts';
import { sortInSlices } from '@atrium/lists/sort.ts';
import {
  type Asking,
  type ExplorerContext,
  groupsOf,
  mayKnowGroups,
  requireBindings,
  requireClusterBindings,
  VisibleRoles,
} from './rights.ts';
import type { AccessSubject, AccessSubjectList } from './schema.ts';

interface Row {
  readonly subject: BoundSubject;
  readonly binding: RoleBinding;
  readonly rule: PolicyRule;
  /** Name of the User record. */
  readonly user?: string;
  /** Group through which the user may do it. */
  readonly memberOf?: string;
}

interface Paging {
  readonly limit: number;
  readonly page: number;
}

/**
 * Returns the users, groups and ServiceAccounts that may do something, each with the binding and the rule that allow it.
 *
 * @throws StatusError 403, 503, 504
 */
export async function whoCan(
  context: ExplorerContext,
  question: AccessQuestion,
  { limit, page }: Paging,
  asking: Asking,
): Promise<AccessSubjectList> {
  const { services } = context;
  const namespace = 'path' in question ? '' : question.namespace;
  const hasClusterWide =
    namespace === '' ? await requireClusterBindings(services, asking).then(() => true) : await requireBindings(services, namespace, asking);
  const hasMembers = await mayKnowGroups(context, asking);
  services.rbac.requireRecent();
  const scopes = new Set([...(hasClusterWide ? [''] : []), namespace]);
  const direct = await boundRows(services.rbac, question, scopes);
  const rows = hasMembers ? [...withRecords(context, direct), ...(await memberRows(context, direct))] : direct;
  const sorted = await sortInSlices(rows, byOrder);
  const start = (page - 1) * limit;
  return {
    apiVersion: 'auth.platform.io/v1',
    kind: 'AccessSubjectList',
    metadata: {},
    complete: hasClusterWide,
    notes: ['SystemMasters', ...(hasClusterWide ? [] : ['ClusterWideHidden' as const]), ...(hasMembers ? [] : ['MembersHidden' as const])],
    total: rows.length,
    items: await described(context, sorted.slice(start, start + limit), asking),
  };
}

/** Returns the User records that may do something, by the bindings that the service knows. */
export async function recordsWho(context: ExplorerContext, question: Exclude<AccessQuestion, { path: string }>): Promise<Set<string>> {
  const direct = await boundRows(context.services.rbac, question, new Set(['', question.namespace]));
  const rows = [...withRecords(context, direct), ...(await memberRows(context, direct))];
  return new Set(rows.flatMap(({ user }) => user ?? []));
}

async function boundRows(rbac: RbacWatch, question: AccessQuestion, scopes: ReadonlySet<string>): Promise<Row[]> {
  const slices = new Slices();
  const allowing = new Map<readonly PolicyRule[], PolicyRule | undefined>();
  const rows: Row[] = [];
  for (const scope of scopes) {
    for (const binding of rbac.bindingsIn(scope)) {
      const rules = rbac.roleOf(binding)?.rules ?? [];
      if (!allowing.has(rules)) allowing.set(rules, await firstAllowing(rules, question, slices));
      const rule = allowing.get(rules);
      if (rule !== undefined) for (const subject of binding.subjects) rows.push({ subject, binding, rule });
      const turn = slices.end();
      if (turn !== undefined) await turn;
    }
  }
  return rows;
}

/** Roles of 10,000 rules are evaluated in slices. */
async function firstAllowing(rules: readonly PolicyRule[], question: AccessQuestion, slices: Slices): Promise<PolicyRule | undefined> {
  for (const rule of rules) {
    if (ruleAllows(rule, question)) return rule;
    const turn = slices.end();
    if (turn !== undefined) await turn;
  }
  return undefined;
}

const withRecords = ({ users: { accounts } }: ExplorerContext, rows: readonly Row[]): Row[] =>
  rows.map((row) => {
    const user = row.subject.kind === 'User' ? accounts.ofSubject(row.subject.name)?.name : undefined;
    return user === undefined ? row : { ...row, user };
  });

/** Groups of all users, whose members are not listed. */
const allUsers: ReadonlySet<string> = new Set(['system:authenticated', 'system:unauthenticated', 'system:masters']);

/** Returns a row for each user record in each of the groups, with the first binding of the group. */
async function memberRows(context: ExplorerContext, direct: readonly Row[]): Promise<Row[]> {
  const { accounts, records } = context.users;
  const groups = new Map<string, Row>();
  for (const row of direct) {
    const { kind, name } = row.subject;
    if (kind === 'Group' && !allUsers.has(name) && !groups.has(name)) groups.set(name, row);
  }
  const rows: Row[] = [];
  if (groups.size === 0) return rows;
  const slices = new Slices();
  for (const user of records.names()) {
    const account = accounts.get(user);
    for (const memberOf of account === undefined || account.subjectName === '' ? [] : groupsOf(context, account)) {
      const row = groups.get(memberOf);
      if (row !== undefined) rows.push({ ...row, subject: { kind: 'User', name: account?.subjectName ?? '' }, user, memberOf });
    }
    const turn = slices.end();
    if (turn !== undefined) await turn;
  }
  return rows;
}

async function described({ services }: ExplorerContext, rows: readonly Row[], asking: Asking): Promise<AccessSubject[]> {
  const roles = new VisibleRoles(services, asking);
  await roles.review(rows.map(({ binding }) => binding));
  return rows.map(({ subject, binding, rule, user, memberOf }) => ({
    subject: describedSubject(subject),
    ...(user !== undefined && { user }),
    ...(memberOf !== undefined && { memberOf }),
    ...describedBinding(binding),
    ...(roles.has(binding) && { rule: describedRule(rule) }),
  }));
}

/** Groups and ServiceAccounts come before users, and bound users before members of groups. */
function byOrder(left: Row, right: Row): number {
  const [a, b] = [orderOf(left), orderOf(right)];
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const orderOf = ({ subject: { kind, name }, memberOf = '', binding }: Row): string =>
  `${kind} ${name} ${memberOf} ${binding.namespace} ${binding.name}`;
