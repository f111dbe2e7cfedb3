/**
 * Evaluates the watched roles and bindings for a user. The result is a forecast, because other authorizers decide, too: it saves access
 * reviews and explains decisions, but never makes them.
 */
import type { Identity } from '@atrium/http/caller.ts';
import type { BoundSubject, RoleBinding } from './role-bindings.ts';
import { type AccessQuestion, isAboutResource, type PolicyRule, type ResourceQuestion, ruleAllows } from './rules.ts';
import type { NamedRole, RbacWatch } from './watch.ts';

/** A binding that allows a request, its subject, and the rule of its role. */
interface Grant {
  readonly binding: RoleBinding;
  readonly subject: BoundSubject;
  readonly rule: PolicyRule;
}

export type RbacSubject = Pick<Identity, 'name' | 'groups'>;

type Bindings = Pick<RbacWatch, 'bindingsOf' | 'roleOf'>;

/** The API server allows this group everything, before it evaluates any role. */
const masters = 'system:masters';

export const isMaster = ({ groups }: RbacSubject): boolean => groups.includes(masters);

/** Reports whether RBAC alone would allow a request, `system:masters` included. */
export const isGranted = (rbac: Bindings, who: RbacSubject, question: AccessQuestion): boolean =>
  isMaster(who) || grantOf(rbac, who, question) !== undefined;

/** Returns the grant that allows a request, undefined if no binding does. A ClusterRoleBinding comes first, then the first by name. */
export function grantOf(rbac: Bindings, who: RbacSubject, question: AccessQuestion): Grant | undefined {
  const namespace = 'path' in question ? '' : question.namespace;
  let found: Grant | undefined;
  for (const { binding, subject } of bindingsFor(rbac, who)) {
    if (binding.namespace !== '' && binding.namespace !== namespace) continue;
    if (found !== undefined && orderOf(found.binding) <= orderOf(binding)) continue;
    const rule = rulesOf(rbac, binding).find((one) => ruleAllows(one, question));
    if (rule !== undefined) found = { binding, subject, rule };
  }
  return found;
}

/** Namespaces in which a request is allowed. `all` includes namespaces that are created later. */
export type NamespaceForecast = 'all' | ReadonlySet<string>;

/** Returns the namespaces in which a user may do something, according to RBAC alone. */
export function allowedNamespaces(
  rbac: Bindings,
  who: RbacSubject,
  asked: Omit<ResourceQuestion, 'namespace' | 'name'>,
): NamespaceForecast {
  if (isMaster(who)) return 'all';
  const namespaces = new Set<string>();
  const fitting = new Map<readonly PolicyRule[], readonly PolicyRule[]>();
  for (const { binding } of bindingsFor(rbac, who)) {
    const all = rulesOf(rbac, binding);
    const rules = fitting.get(all) ?? all.filter((rule) => isAboutResource(rule, asked));
    fitting.set(all, rules);
    const { namespace } = binding;
    if (namespace === '') {
      if (rules.some(({ resourceNames }) => resourceNames.length === 0)) return 'all';
      if (isByOwnName(asked)) for (const name of rules.flatMap(({ resourceNames }) => resourceNames)) namespaces.add(name);
    } else if (rules.some((rule) => ruleAllows(rule, inNamespace(asked, namespace)))) namespaces.add(namespace);
  }
  return namespaces;
}

/** Returns the question for one namespace. The API server treats a request for a namespace by its name as a request in that namespace. */
export const inNamespace = (asked: Omit<ResourceQuestion, 'namespace' | 'name'>, namespace: string): ResourceQuestion => ({
  ...asked,
  namespace,
  name: isByOwnName(asked) ? namespace : '',
});

/** Verbs for many objects, or for an object that does not exist yet. */
const namelessVerbs = new Set(['list', 'watch', 'create', 'deletecollection']);

const isByOwnName = ({ verb, group, resource }: Pick<ResourceQuestion, 'verb' | 'group' | 'resource'>) =>
  group === '' && resource === 'namespaces' && !namelessVerbs.has(verb);

/** Returns the roles whose rules would allow a request to their subjects. */
export function rolesAllowing(rbac: Pick<RbacWatch, 'rolesFor'>, question: AccessQuestion): NamedRole[] {
  const namespace = 'path' in question ? '' : question.namespace;
  return Array.from(rbac.rolesFor(namespace)).filter(({ rules }) => rules.some((rule) => ruleAllows(rule, question)));
}

/** Returns the bindings of a user and the user's groups. A binding that names several of them comes once for each. */
export function* bindingsFor(
  rbac: Pick<RbacWatch, 'bindingsOf'>,
  { name, groups }: RbacSubject,
): IterableIterator<{ binding: RoleBinding; subject: BoundSubject }> {
  const subjects: BoundSubject[] = [
    { kind: 'User', name },
    { kind: 'ServiceAccount', name },
    ...[...new Set(groups)].map((group) => ({ kind: 'Group' as const, name: group })),
  ];
  for (const subject of subjects) for (const binding of rbac.bindingsOf(subject)) yield { binding, subject };
}

const rulesOf = (rbac: Bindings, binding: RoleBinding): readonly PolicyRule[] => rbac.roleOf(binding)?.rules ?? noRules;
const noRules: readonly PolicyRule[] = [];

const orderOf = ({ namespace, name }: RoleBinding) => `${namespace} ${name}`;

/** Grants in the form of answers: ServiceAccounts with their namespace, and rules without empty members. */
export const describedGrant = ({ binding, subject, rule }: Grant) => ({
  ...describedBinding(binding),
  subject: describedSubject(subject),
  rule: describedRule(rule),
});

/** Returns the binding and its role. */
export function describedBinding({ kind, name, namespace, role, userBinding }: RoleBinding) {
  return {
    binding: { kind, name, namespace, ...(userBinding !== undefined && { userBinding }) },
    role: { ...role, namespace: role.kind === 'Role' ? namespace : '' },
  };
}

export function describedSubject({ kind, name }: BoundSubject) {
  if (kind !== 'ServiceAccount') return { kind, name };
  const [, , namespace = '', account = ''] = name.split(':');
  return { kind, name: account, namespace };
}

/** Returns the rule of the role without empty members. */
export const describedRule = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule) => ({
  verbs: [...verbs],
  ...(apiGroups.length > 0 && { apiGroups: [...apiGroups] }),
  ...(resources.length > 0 && { resources: [...resources] }),
  ...(resourceNames.length > 0 && { resourceNames: [...resourceNames] }),
  ...(nonResourceURLs.length > 0 && { nonResourceURLs: [...nonResourceURLs] }),
});
