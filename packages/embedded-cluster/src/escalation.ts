/**
 * Prevention of privilege escalation: the author of a role must hold its rules (or may `escalate`), the author of a binding must hold the
 * rules of the role (or may `bind` it).
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */
import { isDeepStrictEqual } from 'node:util';
import { StatusError } from '@atrium/objects/status.ts';
import type { WriteContext } from './backend.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, type StoredObject } from './objects.ts';
import type { AccessAttributes } from './rbac.ts';
import type { ResourceType } from './resources.ts';

const rbacGroup = 'rbac.authorization.k8s.io';

interface Rule {
  verbs: string[];
  apiGroups: string[];
  resources: string[];
  resourceNames: string[];
  nonResourceURLs: string[];
}

/** @throws StatusError 403 */
export function refuseEscalation(context: WriteContext, type: ResourceType, object: StoredObject, old?: StoredObject): void {
  if (type.group !== rbacGroup || context.user.groups.includes('system:masters')) return;
  const { name, namespace } = object.metadata;
  if (type.kind === 'Role' || type.kind === 'ClusterRole') {
    if (old && isDeepStrictEqual(old.rules, object.rules) && isDeepStrictEqual(old.aggregationRule, object.aggregationRule)) return;
    if (may(context, { verb: 'escalate', resource: type.resource, name, namespace })) return;
    // The rules of an aggregated role are not known yet, so only a caller who holds everything may create one.
    const rules = object.aggregationRule ? [everything] : rulesOf(object);
    refuseUncovered(context, type, object, rules);
    return;
  }
  if (old && isDeepStrictEqual(old.subjects, object.subjects)) return;
  const roleRef = isJsonObject(object.roleRef) ? object.roleRef : {};
  const resource = roleRef.kind === 'Role' ? 'roles' : 'clusterroles';
  if (may(context, { verb: 'bind', resource, name: String(roleRef.name), namespace })) return;
  refuseUncovered(context, type, object, grantedRules(context, type, roleRef, namespace));
}

const everything: Rule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [], nonResourceURLs: [] };

function may(
  { backend, user }: WriteContext,
  { namespace, ...rest }: { verb: string; resource: string; name: string; namespace: string | undefined },
) {
  return backend.rbac.authorize(user, { ...rest, group: rbacGroup, version: 'v1', ...(namespace && { namespace }) }).allowed;
}

const texts = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);

function rulesOf({ rules }: KubernetesObject): Rule[] {
  return (Array.isArray(rules) ? rules : []).filter(isJsonObject).map((rule) => ({
    verbs: texts(rule.verbs),
    apiGroups: texts(rule.apiGroups),
    resources: texts(rule.resources),
    resourceNames: texts(rule.resourceNames),
    nonResourceURLs: texts(rule.nonResourceURLs),
  }));
}

/** Returns the rules of a role. If the role is missing, the API server reports a missing binding, with the name of the role. */
function grantedRules(
  { backend }: WriteContext,
  { resource }: ResourceType,
  { kind, name }: JsonObject,
  namespace: string | undefined,
): Rule[] {
  const isRole = kind === 'Role';
  const role = backend.store.get(`${rbacGroup}/${isRole ? 'roles' : 'clusterroles'}`, isRole ? `${namespace}/${name}` : String(name));
  if (!role) {
    throw new StatusError(404, 'NotFound', `${resource}.${rbacGroup} "${name}" not found`, {
      details: { name: String(name), group: rbacGroup, kind: resource },
    });
  }
  return rulesOf(role);
}

function refuseUncovered(context: WriteContext, type: ResourceType, { metadata }: StoredObject, rules: readonly Rule[]): void {
  const missing = rules.flatMap(questionsOf).find((question) => !covers(context, question, metadata.namespace));
  if (!missing) return;
  const { username, groups } = context.user;
  const what =
    missing.path === undefined
      ? `{APIGroups:["${missing.group}"], Resources:["${missing.resource}"], Verbs:["${missing.verb}"]}`
      : `{NonResourceURLs:["${missing.path}"], Verbs:["${missing.verb}"]}`;
  throw new StatusError(
    403,
    'Forbidden',
    `${type.resource}.${type.group} "${metadata.name}" is forbidden: user "${username}" (groups=${JSON.stringify(groups)}) is attempting to grant RBAC permissions not currently held:\n${what}`,
    { details: { name: metadata.name, group: type.group, kind: type.resource } },
  );
}

/** Splits a rule into single questions. A `*` is a question of its own, which only a `*` answers. */
function questionsOf(rule: Rule): AccessAttributes[] {
  return rule.verbs.flatMap((verb) => [
    ...rule.nonResourceURLs.map((path) => ({ verb, path })),
    ...rule.apiGroups.flatMap((group) =>
      rule.resources.flatMap((combined) => {
        const [resource = '', subresource] = combined.split('/', 2);
        const names = rule.resourceNames.length > 0 ? rule.resourceNames : [''];
        return names.map((name) => ({ verb, group, resource, ...(subresource && { subresource }), name }));
      }),
    ),
  ]);
}

function covers({ backend, user }: WriteContext, question: AccessAttributes, namespace: string | undefined): boolean {
  return backend.rbac.authorize(user, { ...question, ...(namespace && question.path === undefined && { namespace }) }).allowed;
}
