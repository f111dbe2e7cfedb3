/** Bindings that hold for good: no access request made them, and they have no end. */
import { isReservedGroup, isReservedName } from '@atrium/kubernetes/impersonation.ts';
import type { BoundSubject, RoleBinding } from '@atrium/kubernetes/rbac/role-bindings.ts';
import type { PolicyRule } from '@atrium/kubernetes/rbac/rules.ts';
import { Slices } from '@atrium/kubernetes/slices.ts';
import { sortInSlices } from '@atrium/lists/sort.ts';
import type { Asking, ExplorerContext } from '../explorer/rights.ts';
import { userBindingOf, VisibleRoles } from '../explorer/rights.ts';
import { type Reach, type Risk, reachOf, type Severity, severities, severityOf } from './findings.ts';
import type { StandingQuery } from './schema.ts';

/** A binding with the rules of its role. */
export interface Standing {
  readonly binding: RoleBinding;
  /** Undefined for a role that the caller may not get; empty for one that does not exist. */
  readonly rules: readonly PolicyRule[] | undefined;
  readonly hasRole: boolean;
  readonly risk: Risk;
  readonly severity: Severity;
}

const everyone: ReadonlySet<string> = new Set(['Group system:authenticated', 'Group system:unauthenticated', 'User system:anonymous']);
/** Roles that Kubernetes gives to everyone. Another role is no role of Kubernetes, whatever its name is. */
const rolesOfEveryone: ReadonlySet<string> = new Set(['system:basic-user', 'system:discovery', 'system:public-info-viewer']);

/** Returns the standing bindings of the question, the highest severity first. @throws StatusError 429, 503, 504 */
export async function standingBindings(
  context: ExplorerContext,
  { namespace, holders, name, role }: Pick<StandingQuery, 'namespace' | 'holders' | 'name' | 'role'>,
  hasClusterWide: boolean,
  asking: Asking,
): Promise<Standing[]> {
  const { rbac } = context.services;
  const slices = new Slices();
  const bindings: RoleBinding[] = [];
  for (const binding of rbac.allBindings()) {
    const isInPlace = namespace === undefined ? hasClusterWide || binding.namespace !== '' : binding.namespace === namespace;
    const isNamed = [binding.name, binding.userBinding].includes(name ?? binding.name) && (role ?? binding.role.name) === binding.role.name;
    if (isInPlace && isNamed && isForGood(context, binding) && (holders === 'All' || namesPeople(binding))) bindings.push(binding);
    const turn = slices.end();
    if (turn !== undefined) await turn;
  }
  const roles = new VisibleRoles(context.services, asking);
  await roles.review(bindings);
  // Many bindings share a role.
  const reaches = new Map<readonly PolicyRule[], Reach>();
  const found: Standing[] = [];
  for (const binding of bindings) {
    found.push(standing(binding, roles.has(binding), { rbac, reaches }));
    const turn = slices.end();
    if (turn !== undefined) await turn;
  }
  return await sortInSlices(found, byOrder);
}

/** Returns the standing bindings of a namespace that name people, those of the cluster for ''. */
export function* standingIn(context: ExplorerContext, namespace: string): Iterable<RoleBinding> {
  for (const binding of context.services.rbac.bindingsIn(namespace)) if (isForGood(context, binding) && namesPeople(binding)) yield binding;
}

const noRules: readonly PolicyRule[] = [];

function standing(
  binding: RoleBinding,
  isVisible: boolean,
  { rbac, reaches }: { rbac: ExplorerContext['services']['rbac']; reaches: Map<readonly PolicyRule[], Reach> },
): Standing {
  const role = rbac.roleOf(binding);
  const rules = isVisible ? (role?.rules ?? noRules) : undefined;
  const reach = rules && (reaches.get(rules) ?? reachOf(rules));
  if (rules && reach) reaches.set(rules, reach);
  const risk = { reach, isClusterWide: binding.namespace === '', isForEveryone: binding.subjects.some(isEveryone) };
  return { binding, rules, hasRole: role !== undefined, risk, severity: severityOf(risk) };
}

function isForGood(context: ExplorerContext, binding: RoleBinding): boolean {
  const row = userBindingOf(context, binding);
  return row === undefined || (row.expiresAt === undefined && row.request === undefined);
}

/** Reports whether a binding names users or groups, and is none that Kubernetes makes for all of its users. */
const namesPeople = ({ role, subjects }: RoleBinding): boolean => {
  if (subjects.every(({ kind }) => kind === 'ServiceAccount')) return false;
  const isOfKubernetes = isReservedName(role.name) && subjects.every(isOfCluster);
  return !isOfKubernetes || (subjects.some(isEveryone) && !rolesOfEveryone.has(role.name));
};

const isEveryone = ({ kind, name }: BoundSubject): boolean => everyone.has(`${kind} ${name}`);

const isOfCluster = ({ kind, name }: BoundSubject): boolean => (kind === 'Group' ? isReservedGroup(name) : isReservedName(name));

function byOrder(left: Standing, right: Standing): number {
  const [a, b] = [orderOf(left), orderOf(right)];
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const orderOf = ({ severity, binding: { namespace, name } }: Standing): string => `${severities.indexOf(severity)} ${namespace} ${name}`;
