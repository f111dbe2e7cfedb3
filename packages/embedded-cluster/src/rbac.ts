/**
 * Role based access control, decided from the Role, ClusterRole and binding objects of the embedded cluster like in the API server. Rules
 * only grant: a request that no rule allows is refused. An object that cannot be parsed grants nothing.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
import { z } from 'zod';
import type { UserInfo } from './tokens.ts';

/** Attributes of a request. With `path` they are those of a path that is no resource, otherwise those of a resource. */
export interface AccessAttributes {
  verb: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  namespace?: string;
  name?: string;
  path?: string;
}

/** Access to the four kinds of objects; `revision` grows with every change of any of them. */
export interface RbacObjects {
  list(resource: 'roles' | 'clusterroles' | 'rolebindings' | 'clusterrolebindings'): readonly unknown[];
  revision(): number;
}

interface ResourceRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
}

interface NonResourceRule {
  verbs: string[];
  nonResourceURLs?: string[];
}

/** `status` of a SelfSubjectRulesReview. */
export interface Rules {
  resourceRules: ResourceRule[];
  nonResourceRules: NonResourceRule[];
  incomplete: boolean;
  evaluationError?: string;
}

const texts = z
  .array(z.string())
  .nullish()
  .transform((list) => list ?? []);

const policyRule = z.object({ verbs: texts, apiGroups: texts, resources: texts, resourceNames: texts, nonResourceURLs: texts });
type PolicyRule = z.infer<typeof policyRule>;

const role = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string().default('') }),
  rules: z.array(policyRule).nullish(),
});
type Role = z.infer<typeof role>;

const binding = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string().default('') }),
  subjects: z.array(z.object({ kind: z.string(), name: z.string(), namespace: z.string().nullish() })).nullish(),
  roleRef: z.object({ kind: z.enum(['Role', 'ClusterRole']), name: z.string() }),
});
type Binding = z.infer<typeof binding>;
type Subject = NonNullable<Binding['subjects']>[number];

/** Rules that a binding grants to one of its subjects. */
interface Grant {
  /** Position of the binding in its list and of the subject in the binding. The first grant that applies is named as the reason. */
  order: readonly [binding: number, subject: number];
  /** Computed on demand: there are as many as there are subjects. */
  source: () => string;
  rules: readonly PolicyRule[];
  error?: string;
}

interface Index {
  revision: number;
  /** Grants by namespace (empty: cluster-wide), then by subject. */
  grants: Map<string, Map<string | undefined, Grant[]>>;
}

/** Authorizes requests. Its index by subject is rebuilt when the objects have changed. */
export class Rbac {
  readonly #objects: RbacObjects;
  #index: Index | undefined;

  constructor(objects: RbacObjects) {
    this.#objects = objects;
  }

  /**
   * Authorizes a request. `reason` is the API server's text: the binding that allowed it, or the failure to resolve a binding; otherwise
   * empty.
   */
  authorize(user: UserInfo, attributes: AccessAttributes): { allowed: boolean; reason: string } {
    if (user.groups.includes('system:masters')) return { allowed: true, reason: '' };
    const grants = this.#grantsOf(user, attributes.namespace);
    for (const { rules, source } of grants) {
      if (rules.some((rule) => allows(rule, attributes))) return { allowed: true, reason: `RBAC: allowed by ${source()}` };
    }
    const errors = errorsOf(grants);
    return { allowed: false, reason: errors ? `RBAC: ${errors}` : '' };
  }

  /** Returns every rule that applies to the user in the namespace, including cluster-wide rules. */
  rulesFor(user: UserInfo, namespace: string): Rules {
    const grants = this.#grantsOf(user, namespace);
    const rules = grants.flatMap((grant) => grant.rules);
    const evaluationError = errorsOf(grants);
    return {
      resourceRules: rules
        .filter((rule) => rule.resources.length)
        .map(({ verbs, apiGroups, resources, resourceNames }) => ({
          verbs,
          ...(apiGroups.length && { apiGroups }),
          resources,
          ...(resourceNames.length && { resourceNames }),
        })),
      nonResourceRules: rules
        .filter((rule) => rule.nonResourceURLs.length)
        .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
      incomplete: false,
      ...(evaluationError && { evaluationError }),
    };
  }

  #grantsOf(user: UserInfo, namespace?: string): Grant[] {
    const { grants } = this.#currentIndex();
    const subjects = [`User ${user.username}`, ...new Set(user.groups.map((group) => `Group ${group}`))];
    const scopes = namespace ? ['', namespace] : [''];
    return scopes.flatMap((scope) => firstOfEachBinding(subjects.flatMap((subject) => grants.get(scope)?.get(subject) ?? [])));
  }

  #currentIndex(): Index {
    const revision = this.#objects.revision();
    if (this.#index?.revision !== revision) this.#index = { revision, grants: indexGrants(this.#objects) };
    return this.#index;
  }
}

function indexGrants(objects: RbacObjects): Index['grants'] {
  const rulesOf = roleResolver(readable(role, objects.list('roles')), readable(role, objects.list('clusterroles')));
  const grantsOf = (kind: string, namespace: string, at: number, { metadata, subjects, roleRef }: Binding) => {
    const resolved = rulesOf(roleRef, namespace);
    const name = namespace ? `${metadata.name}/${namespace}` : metadata.name;
    return (subjects ?? []).map((subject, subjectAt) => ({
      namespace,
      holder: userOrGroup(subject, namespace),
      order: [at, subjectAt] as const,
      source: () => `${kind} "${name}" of ${roleRef.kind} "${roleRef.name}" to ${describe(subject, namespace)}`,
      ...resolved,
    }));
  };
  const everywhere = readable(binding, objects.list('clusterrolebindings')).flatMap((one, at) =>
    grantsOf('ClusterRoleBinding', '', at, one),
  );
  const inNamespaces = readable(binding, objects.list('rolebindings')).flatMap((one, at) =>
    one.metadata.namespace ? grantsOf('RoleBinding', one.metadata.namespace, at, one) : [],
  );
  const byNamespace = Map.groupBy([...everywhere, ...inNamespaces], ({ namespace }) => namespace);
  return new Map([...byNamespace].map(([namespace, grants]) => [namespace, Map.groupBy(grants, ({ holder }) => holder)]));
}

/** Resolves references to rules of roles. The rules of an aggregated ClusterRole are written into it (aggregation.ts). */
function roleResolver(roles: readonly Role[], clusterRoles: readonly Role[]) {
  const rolesByName = new Map(roles.map((one) => [`${one.metadata.namespace}/${one.metadata.name}`, one]));
  const clusterRolesByName = new Map(clusterRoles.map((one) => [one.metadata.name, one]));
  return ({ kind, name }: Binding['roleRef'], namespace: string): { rules: readonly PolicyRule[]; error?: string } => {
    const found = kind === 'Role' ? rolesByName.get(`${namespace}/${name}`) : clusterRolesByName.get(name);
    if (found) return { rules: found.rules ?? [] };
    return { rules: [], error: `${kind.toLowerCase()}.rbac.authorization.k8s.io "${name}" not found` };
  };
}

function allows(rule: PolicyRule, { verb, path, group = '', resource = '', subresource = '', name = '' }: AccessAttributes): boolean {
  if (!includesOrAll(rule.verbs, verb)) return false;
  if (path !== undefined) return rule.nonResourceURLs.some((url) => pathMatches(url, path));
  const combined = subresource ? `${resource}/${subresource}` : resource;
  return (
    includesOrAll(rule.apiGroups, group) &&
    rule.resources.some((one) => one === '*' || one === combined || (subresource !== '' && one === `*/${subresource}`)) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  );
}

const includesOrAll = (list: readonly string[], value: string) => list.includes('*') || list.includes(value);

const pathMatches = (url: string, path: string) => url === path || (url.endsWith('*') && path.startsWith(url.replace(/\*{1,8}$/, '')));

/** Returns the subject in the index. A service account is the user of its name; without a namespace it is in that of the binding. */
function userOrGroup({ kind, name, namespace }: Subject, bindingNamespace: string): string | undefined {
  if (kind === 'User' || kind === 'Group') return `${kind} ${name}`;
  const accountNamespace = namespace || bindingNamespace;
  return kind === 'ServiceAccount' && accountNamespace ? `User system:serviceaccount:${accountNamespace}:${name}` : undefined;
}

const describe = ({ kind, name, namespace }: Subject, bindingNamespace: string) =>
  kind === 'ServiceAccount' ? `${kind} "${name}/${namespace || bindingNamespace}"` : `${kind} "${name}"`;

function firstOfEachBinding(grants: Grant[]): Grant[] {
  const sorted = grants.toSorted((a, b) => a.order[0] - b.order[0] || a.order[1] - b.order[1]);
  return sorted.filter((grant, at) => grant.order[0] !== sorted[at - 1]?.order[0]);
}

function errorsOf(grants: readonly Grant[]): string {
  const errors = [...new Set(grants.flatMap(({ error }) => error ?? []))];
  return errors.length > 1 ? `[${errors.join(', ')}]` : (errors[0] ?? '');
}

/** Cache of parsed objects. Stored objects never change, and most are the same when the index is rebuilt. */
const read = new WeakMap<object, { object: unknown }>();

function readable<T>(schema: z.ZodType<T>, objects: readonly unknown[]): T[] {
  return objects.flatMap((object) => {
    if (typeof object !== 'object' || object === null) return [];
    const known = read.get(object) ?? { object: schema.safeParse(object).data };
    read.set(object, known);
    return (known.object as T | undefined) ?? [];
  });
}
