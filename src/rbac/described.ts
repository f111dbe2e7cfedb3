/** Grants in the form of answers: ServiceAccounts with their namespace, and rules without empty members. */
import type { Grant } from './grants.ts';
import type { BoundSubject, RoleBinding } from './role-bindings.ts';
import type { PolicyRule } from './rules.ts';

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
