/** Validation of role bindings. rbac.ts decides what they grant; a rule without contents grants nothing there. */
import { isDeepStrictEqual } from 'node:util';
import { type FieldError, invalidValue, notSupported, required } from '@atrium/objects/field-error.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, type StoredObject } from './objects.ts';

const rbacGroup = 'rbac.authorization.k8s.io';
const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
/** Adds API groups that the client omits. */
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
  if (!kinds.includes(String(roleRef.kind))) errors.push(notSupported('roleRef.kind', roleRef.kind ?? '', kinds));
  if (!roleRef.name) errors.push(required('roleRef.name'));
  if (old && !isDeepStrictEqual(old.roleRef, object.roleRef))
    errors.push(invalidValue('roleRef', { APIGroup: roleRef.apiGroup, Kind: roleRef.kind, Name: roleRef.name }, 'cannot change roleRef'));
  const isNamespaced = object.kind === 'RoleBinding';
  return [...errors, ...objects(object.subjects).flatMap((subject, index) => subjectErrors(subject, `subjects[${index}]`, isNamespaced))];
}

function subjectErrors({ name, kind, namespace }: JsonObject, field: string, isNamespaced: boolean): FieldError[] {
  const errors = name ? [] : [required(`${field}.name`)];
  const kinds = ['ServiceAccount', 'User', 'Group'];
  if (!kinds.includes(String(kind))) errors.push(notSupported(`${field}.kind`, kind ?? '', kinds));
  if (kind === 'ServiceAccount' && !namespace && !isNamespaced) errors.push(required(`${field}.namespace`));
  return errors;
}
