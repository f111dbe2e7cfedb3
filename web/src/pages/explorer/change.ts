/** The change of the form, as simulations take it. */
import { typedText } from '@atrium/objects/typed-text.ts';
import type { Signal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { apiPath } from '../../api/kinds';
import { getJson } from '../../api/objects';
import { asProblem } from '../../api/problem';
import { bindingBody, type Place } from '../../ui/role-choice';
import { rightOf } from '../access/right-of.ts';
import type { SubjectSignals } from './subject-fields';

export const changeTypes = ['userBinding', 'member', 'rule', 'delete'] as const;
export const deletable = ['UserBinding', 'RoleBinding', 'ClusterRoleBinding', 'Role', 'ClusterRole'] as const;

export interface ChangeFields {
  type: Signal<string>;
  subject: SubjectSignals;
  role: Signal<string>;
  place: Signal<Place>;
  group: Signal<string>;
  action: Signal<string>;
  /** Kind, name and namespace of the role or of the deleted object. */
  kind: Signal<string>;
  name: Signal<string>;
  namespace: Signal<string>;
  verb: Signal<string>;
  resource: Signal<string>;
}

type Change = Schemas['SimulationRequest']['changes'][number];

export async function changeOf(fields: ChangeFields): Promise<Change> {
  const { type, subject, role, place, kind, name, namespace } = fields;
  if (type.value === 'member') return memberOf(fields);
  if (type.value === 'rule') return roleOf(fields);
  if (type.value === 'delete') {
    const found = deletable.find((one) => one === kind.value) ?? 'UserBinding';
    return {
      type: 'delete',
      kind: found,
      name: typedText(name.value),
      ...(isNamespaced(found) && { namespace: typedText(namespace.value) }),
    };
  }
  const named = { kind: subject.kind.value === 'group' ? ('Group' as const) : ('User' as const), name: typedText(subject.name.value) };
  return { type: 'userBinding', userBinding: bindingBody(named, typedText(role.value), place.value) };
}

export const isNamespaced = (kind: string): boolean => kind === 'Role' || kind === 'RoleBinding';

/** Members are named by their records. */
async function memberOf({ group, action, subject }: ChangeFields): Promise<Change> {
  const { user } = await bodyOf(api.GET('/auth/v1/usersroles', { params: { query: { email: typedText(subject.name.value), limit: 1 } } }));
  return { type: 'member', group: typedText(group.value), user: user.name, action: action.value === 'remove' ? 'remove' : 'add' };
}

/** Adds a rule to the rules that the role has. */
async function roleOf({ kind, name, namespace, verb, resource }: ChangeFields): Promise<Change> {
  const isLocal = kind.value === 'Role';
  const place = { name: typedText(name.value), ...(isLocal && { namespace: typedText(namespace.value) }) };
  const right = rightOf({ verb, resource, namespace, name });
  const added = {
    verbs: verb.value.split(/[\s,]+/).filter(Boolean),
    apiGroups: [right.group],
    resources: [right.subresource ? `${right.resource}/${right.subresource}` : right.resource],
  };
  const rules = [...(await rulesOf(isLocal ? 'roles' : 'clusterroles', place)), added];
  return { type: 'role', role: { kind: isLocal ? 'Role' : 'ClusterRole', metadata: place, rules } };
}

async function rulesOf(resource: string, place: { name: string; namespace?: string }): Promise<NewRule[]> {
  const kind = { group: 'rbac.authorization.k8s.io', version: 'v1', resource };
  try {
    const { rules } = await getJson<{ rules?: NewRule[] | null }>(apiPath(kind, place));
    return rules ?? [];
  } catch (error) {
    if (asProblem(error).isGone(place.name)) return [];
    throw error;
  }
}

type NewRule = Extract<Change, { type: 'role' }>['role']['rules'][number];
