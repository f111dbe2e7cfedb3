/** Roles and their bindings: what makes one acceptable. What they grant is decided in rbac.ts. */

import { isDeepStrictEqual } from 'node:util';
import { type FieldError, invalidValue, notSupported, required } from '../../../src/api/field-error.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, type StoredObject } from './objects.ts';

const rbacGroup = 'rbac.authorization.k8s.io';
const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const isEmpty = (value: unknown) => !Array.isArray(value) || value.length === 0;

export const validateRole = (object: KubernetesObject) =>
  objects(object.rules).flatMap((rule, index) => ruleErrors(rule, `rules[${index}]`, true));

export const validateClusterRole = (object: KubernetesObject) =>
  objects(object.rules).flatMap((rule, index) => ruleErrors(rule, `rules[${index}]`, false));

function ruleErrors(rule: JsonObject, field: string, isNamespaced: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (isEmpty(rule.verbs)) errors.push(required(`${field}.verbs`, 'verbs must contain at least one value'));
  if (!isEmpty(rule.nonResourceURLs)) {
    if (isNamespaced)
      errors.push(invalidValue(`${field}.nonResourceURLs`, rule.nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs'));
    if (!isEmpty(rule.apiGroups) || !isEmpty(rule.resources) || !isEmpty(rule.resourceNames)) {
      errors.push(
        invalidValue(
          `${field}.nonResourceURLs`,
          rule.nonResourceURLs,
          'rules cannot apply to both regular resources and non-resource URLs',
        ),
      );
    }
    return errors;
  }
  if (isEmpty(rule.apiGroups)) errors.push(required(`${field}.apiGroups`, 'resource rules must supply at least one api group'));
  if (isEmpty(rule.resources)) errors.push(required(`${field}.resources`, 'resource rules must supply at least one resource'));
  return errors;
}

/** Fills in the API groups that people leave out. */
export function prepareBinding(object: KubernetesObject): void {
  if (isJsonObject(object.roleRef)) object.roleRef.apiGroup ||= rbacGroup;
  for (const subject of objects(object.subjects)) {
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= rbacGroup;
  }
}

export function validateBinding(object: KubernetesObject, old?: StoredObject): FieldError[] {
  const roleRef = isJsonObject(object.roleRef) ? object.roleRef : {};
  const errors: FieldError[] = [];
  const kinds = object.kind === 'ClusterRoleBinding' ? ['ClusterRole'] : ['Role', 'ClusterRole'];
  if ((roleRef.apiGroup ?? rbacGroup) !== rbacGroup) errors.push(notSupported('roleRef.apiGroup', roleRef.apiGroup, [rbacGroup]));
  if (!kinds.includes(String(roleRef.kind))) errors.push(notSupported('roleRef.kind', roleRef.kind ?? '', kinds));
  if (!roleRef.name) errors.push(required('roleRef.name'));
  if (old && !isDeepStrictEqual(old.roleRef, object.roleRef))
    errors.push(invalidValue('roleRef', { APIGroup: roleRef.apiGroup, Kind: roleRef.kind, Name: roleRef.name }, 'cannot change roleRef'));
  const isNamespaced = object.kind === 'RoleBinding';
  return [...errors, ...objects(object.subjects).flatMap((subject, index) => subjectErrors(subject, `subjects[${index}]`, isNamespaced))];
}

function subjectErrors(subject: JsonObject, field: string, isNamespaced: boolean): FieldError[] {
  const errors = subject.name ? [] : [required(`${field}.name`)];
  switch (subject.kind) {
    case 'ServiceAccount':
      if (subject.apiGroup) errors.push(notSupported(`${field}.apiGroup`, subject.apiGroup, ['']));
      if (!subject.namespace && !isNamespaced) errors.push(required(`${field}.namespace`));
      break;
    case 'User':
    case 'Group':
      if (subject.apiGroup !== rbacGroup) errors.push(notSupported(`${field}.apiGroup`, subject.apiGroup, [rbacGroup]));
      break;
    default:
      errors.push(notSupported(`${field}.kind`, subject.kind ?? '', ['ServiceAccount', 'User', 'Group']));
  }
  return errors;
}
