/** Bindings of a role, and those that name a ServiceAccount. Kubernetes API: rbac.authorization.k8s.io/v1. */

import type { ClusterObject } from '../../../../api/object-types.ts';

export interface Subject {
  kind: string;
  name: string;
  namespace?: string;
}

export interface RoleRef {
  kind: string;
  name: string;
}

export const subjectsOf = ({ subjects }: ClusterObject): readonly Subject[] => (Array.isArray(subjects) ? (subjects as Subject[]) : []);

export const roleRefOf = ({ roleRef }: ClusterObject): RoleRef => {
  const { kind = '', name = '' } = (roleRef ?? {}) as Partial<RoleRef>;
  return { kind, name };
};

export const bindsRole = (role: ClusterObject, binding: ClusterObject): boolean => {
  const { kind, name } = roleRefOf(binding);
  return kind === role.kind && name === role.metadata.name;
};

/** Returns the subject by which a binding applies to a ServiceAccount: the account itself or one of its groups. */
export function subjectForAccount({ metadata }: ClusterObject, binding: ClusterObject): Subject | undefined {
  const { name, namespace = '' } = metadata;
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const subjects = subjectsOf(binding);
  return (
    subjects.find((it) => it.kind === 'ServiceAccount' && it.name === name && (it.namespace ?? binding.metadata.namespace) === namespace) ??
    subjects.find((it) => it.kind === 'User' && it.name === `system:serviceaccount:${namespace}:${name}`) ??
    subjects.find((it) => it.kind === 'Group' && groups.includes(it.name))
  );
}
