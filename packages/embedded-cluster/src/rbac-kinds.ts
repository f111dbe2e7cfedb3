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
  if (roleRef.apiGroup !== rbacGroup) errors.push(notSupported('roleRef.apiGroup', roleRef.apiGroup ?? '', [rbacGroup]));
  if (!roleRef.name) errors.push(required('roleRef.name'));
  if (old && !isDeepStrictEqual(old.roleRef, object.roleRef))
    errors.push(invalidValue('roleRef', { APIGroup: roleRef.apiGroup, Kind: roleRef.kind, Name: roleRef.name }, 'cannot change roleRef'));
  const isNamespaced = object.kind === 'RoleBinding';
  return [...errors, ...objects(object.subjects).flatMap((subject, index) => subjectErrors(subject, `subjects[${index}]`, isNamespaced))];
}

function subjectErrors({ name, kind, namespace, apiGroup }: JsonObject, field: string, isNamespaced: boolean): FieldError[] {
  const errors = name ? [] : [required(`${field}.name`)];
  const kinds = ['ServiceAccount', 'User', 'Group'];
  if (!kinds.includes(String(kind))) errors.push(notSupported(`${field}.kind`, kind ?? '', kinds));
  else if ((apiGroup ?? '') !== (kind === 'ServiceAccount' ? '' : rbacGroup))
    errors.push(notSupported(`${field}.apiGroup`, apiGroup, [kind === 'ServiceAccount' ? '' : rbacGroup]));
  if (kind === 'ServiceAccount' && !namespace && !isNamespaced) errors.push(required(`${field}.namespace`));
  return errors;
}

/** Refuses a rule that grants nothing, or two things at once. */
export const validateRules = ({ kind, rules }: KubernetesObject): FieldError[] =>
  objects(rules).flatMap(({ apiGroups, resources, resourceNames, nonResourceURLs }, index) => {
    const [path, has] = [`rules[${index}]`, (list: unknown) => Array.isArray(list) && list.length > 0];
    if (!has(nonResourceURLs)) {
      const errors = has(apiGroups) ? [] : [required(`${path}.apiGroups`, 'resource rules must supply at least one api group')];
      return has(resources) ? errors : [...errors, required(`${path}.resources`, 'resource rules must supply at least one resource')];
    }
    const refusal = (detail: string) => invalidValue(`${path}.nonResourceURLs`, nonResourceURLs, detail);
    const errors = kind === 'Role' ? [refusal('namespaced rules cannot apply to non-resource URLs')] : [];
    const isBoth = [apiGroups, resources, resourceNames].some(has);
    return isBoth ? [...errors, refusal('rules cannot apply to both regular resources and non-resource URLs')] : errors;
  });
