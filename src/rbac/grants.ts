/**
 * What the watched roles and bindings give a user. A forecast of the API server's answer, which also other authorizers have a say in: it
 * spares asking, and it explains; it never decides.
 */
import type { Identity } from '../http/operation.ts';
import type { BoundSubject, RoleBinding } from './role-bindings.ts';
import { type AccessQuestion, isAboutResource, type PolicyRule, type ResourceQuestion, ruleAllows } from './rules.ts';
import type { NamedRole, RbacWatch } from './watch.ts';

/** One binding that allows something, its subject, and by which rule of its role. */
export interface Grant {
  readonly binding: RoleBinding;
  readonly subject: BoundSubject;
  readonly rule: PolicyRule;
}

export type Who = Pick<Identity, 'name' | 'groups'>;

type Bindings = Pick<RbacWatch, 'bindingsOf' | 'roleOf'>;

/** The API server lets this group do everything, before it looks at any role. */
const masters = 'system:masters';

export const isMaster = ({ groups }: Who): boolean => groups.includes(masters);

/** As RBAC alone would answer: `system:masters` included. */
export const isGranted = (rbac: Bindings, who: Who, question: AccessQuestion): boolean =>
  isMaster(who) || grantOf(rbac, who, question) !== undefined;

/** Of several grants one that holds everywhere, then the first by name; undefined if no binding allows it. */
export function grantOf(rbac: Bindings, who: Who, question: AccessQuestion): Grant | undefined {
  const namespace = 'path' in question ? '' : question.namespace;
  let found: Grant | undefined;
  for (const { binding, subject } of bindingsOf(rbac, who)) {
    if (binding.namespace !== '' && binding.namespace !== namespace) continue;
    if (found !== undefined && orderOf(found.binding) <= orderOf(binding)) continue;
    const rule = rulesOf(rbac, binding).find((one) => ruleAllows(one, question));
    if (rule !== undefined) found = { binding, subject, rule };
  }
  return found;
}

/** In which namespaces something is allowed; the ones to come, too, for `all`. */
export type NamespaceForecast = 'all' | ReadonlySet<string>;

/** `namespace` of the question does not count. */
export function allowedNamespaces(rbac: Bindings, who: Who, asked: Omit<ResourceQuestion, 'namespace' | 'name'>): NamespaceForecast {
  if (isMaster(who)) return 'all';
  const namespaces = new Set<string>();
  const fitting = new Map<readonly PolicyRule[], readonly PolicyRule[]>();
  for (const { binding } of bindingsOf(rbac, who)) {
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

/** The question about one namespace: of what a namespace itself is asked for by its name, the API server takes it to be in itself. */
export const inNamespace = (asked: Omit<ResourceQuestion, 'namespace' | 'name'>, namespace: string): ResourceQuestion => ({
  ...asked,
  namespace,
  name: isByOwnName(asked) ? namespace : '',
});

/** These are about many at once, or about none that is there. */
const namelessVerbs = new Set(['list', 'watch', 'create', 'deletecollection']);

const isByOwnName = ({ verb, group, resource }: Pick<ResourceQuestion, 'verb' | 'group' | 'resource'>) =>
  group === '' && resource === 'namespaces' && !namelessVerbs.has(verb);

/** The roles whose rules would allow it to their subjects. */
export function rolesAllowing(rbac: Pick<RbacWatch, 'rolesFor'>, question: AccessQuestion): NamedRole[] {
  const namespace = 'path' in question ? '' : question.namespace;
  return Array.from(rbac.rolesFor(namespace)).filter(({ rules }) => rules.some((rule) => ruleAllows(rule, question)));
}

function* bindingsOf(rbac: Bindings, { name, groups }: Who): IterableIterator<{ binding: RoleBinding; subject: BoundSubject }> {
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
