/** The built-in kinds: names, defaults and the checks that clients notice. */
import { type FieldError, invalidValue } from '@atrium/objects/field-error.ts';
import { dnsLabelProblems, subdomainProblems } from '@atrium/objects/labels.ts';
import { validatePolicy, validatePolicyBinding } from './admission.ts';
import {
  admissionPolicyBindingSchema,
  admissionPolicySchema,
  bindingSchema,
  certificateRequestSchema,
  clusterRoleSchema,
  configMapSchema,
  definitionSchema,
  eventSchema,
  leaseSchema,
  namespaceSchema,
  roleSchema,
  secretSchema,
  serviceAccountSchema,
} from './builtin-schemas.ts';
import { certificateRequestRules } from './certificate-requests.ts';
import { columnsOf } from './columns.ts';
import { prepareConfigMap, prepareSecret, validateConfigMap, validateSecret } from './config-kinds.ts';
import { type Defaults, fill } from './defaults.ts';
import { type JsonObject, type KubernetesObject, type StoredObject, valueAt } from './objects.ts';
import { prepareBinding, validateBinding } from './rbac-kinds.ts';
import { pathSegmentProblems } from './request-info.ts';
import { type ResourceType, storedVerbs, type WriteRequest } from './resources.ts';
import { compileSchema } from './schema.ts';
import { serviceAccountToken } from './virtual-resources.ts';

export interface KindRules extends Partial<ResourceType> {
  /** Filled in before `prepare`. */
  defaults?: Defaults;
  /** Returns the status of a new object, after `prepare`. */
  firstStatus?(object: KubernetesObject, request: WriteRequest): JsonObject;
}

/** @param path group, as in paths, and plural: `/events`, `coordination.k8s.io/leases` */
export function builtin(path: string, kind: string, openAPISchema: JsonObject, rules: KindRules = {}): ResourceType {
  const [group = '', resource = ''] = path.split('/');
  const { defaults = {}, firstStatus, prepare, ...given } = rules;
  return {
    ...{ group, resource, kind, openAPISchema, version: 'v1', singular: kind.toLowerCase(), shortNames: [], categories: [] },
    ...{ namespaced: true, isCustom: false, hasStatus: false, subresources: [], hasGeneration: false },
    ...{ allowsUnconditionalUpdate: true, allowsCreateOnUpdate: false, selectableFields: [] },
    schema: compileSchema(openAPISchema),
    columns: rules.columns ?? columnsOf(kind),
    verbs: storedVerbs,
    nameProblems: subdomainProblems,
    ...given,
    prepare(object, old, request) {
      fill(object, defaults);
      prepare?.(object, old, request);
      if (firstStatus && old === undefined) object.status = firstStatus(object, request);
    },
  };
}

const clusterWide = { namespaced: false } as const;
const rbac = { allowsCreateOnUpdate: true, nameProblems: pathSegmentProblems };
const binding = { ...rbac, prepare: prepareBinding, validate: validateBinding };
const admission = { ...clusterWide, hasGeneration: true, allowsUnconditionalUpdate: false } as const;
const reference = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

const rbacTypes = [
  builtin('rbac.authorization.k8s.io/roles', 'Role', roleSchema, rbac),
  builtin('rbac.authorization.k8s.io/clusterroles', 'ClusterRole', clusterRoleSchema, {
    ...{ ...rbac, ...clusterWide },
  }),
  builtin('rbac.authorization.k8s.io/rolebindings', 'RoleBinding', bindingSchema, binding),
  builtin('rbac.authorization.k8s.io/clusterrolebindings', 'ClusterRoleBinding', bindingSchema, { ...binding, ...clusterWide }),
];

const coreTypes = [
  builtin('/namespaces', 'Namespace', namespaceSchema, {
    ...clusterWide,
    shortNames: ['ns'],
    hasStatus: true,
    selectableFields: ['status.phase'],
    nameProblems: dnsLabelProblems,
    verbs: storedVerbs.filter((verb) => verb !== 'deletecollection'),
    prepare: prepareNamespace,
    firstStatus: () => ({ phase: 'Active' }),
  }),
  builtin('/configmaps', 'ConfigMap', configMapSchema, { shortNames: ['cm'], prepare: prepareConfigMap, validate: validateConfigMap }),
  builtin('/secrets', 'Secret', secretSchema, {
    selectableFields: ['type'],
    defaults: { type: 'Opaque' },
    prepare: prepareSecret,
    validate: validateSecret,
  }),
  builtin('/serviceaccounts', 'ServiceAccount', serviceAccountSchema, { shortNames: ['sa'], answers: { token: serviceAccountToken } }),
  builtin('/events', 'Event', eventSchema, {
    shortNames: ['ev'],
    allowsCreateOnUpdate: true,
    selectableFields: [...reference.map((field) => `involvedObject.${field}`), 'reason', 'reportingComponent', 'source', 'type'],
    validate: validateEvent,
  }),
];

/** The definition of definitions is passed in, as it needs the registry. */
export const builtinTypes = (definition: Pick<ResourceType, 'prepare' | 'validate'>): ResourceType[] => [
  ...coreTypes,
  ...rbacTypes,
  builtin('coordination.k8s.io/leases', 'Lease', leaseSchema, {
    allowsUnconditionalUpdate: false,
    allowsCreateOnUpdate: true,
  }),
  builtin('admissionregistration.k8s.io/validatingadmissionpolicies', 'ValidatingAdmissionPolicy', admissionPolicySchema, {
    ...{ ...admission, hasStatus: true, validate: validatePolicy },
  }),
  builtin(
    'admissionregistration.k8s.io/validatingadmissionpolicybindings',
    'ValidatingAdmissionPolicyBinding',
    admissionPolicyBindingSchema,
    { ...admission, validate: validatePolicyBinding },
  ),
  builtin('certificates.k8s.io/certificatesigningrequests', 'CertificateSigningRequest', certificateRequestSchema, {
    ...clusterWide,
    shortNames: ['csr'],
    hasStatus: true,
    subresources: ['approval'],
    selectableFields: ['spec.signerName'],
    nameProblems: pathSegmentProblems,
    ...certificateRequestRules,
  }),
  builtin('apiextensions.k8s.io/customresourcedefinitions', 'CustomResourceDefinition', definitionSchema, {
    ...{ ...admission, hasStatus: true, shortNames: ['crd', 'crds'], categories: ['api-extensions'], ...definition },
  }),
];

function prepareNamespace(object: KubernetesObject, old?: StoredObject): void {
  const { name } = object.metadata;
  if (name) object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': name };
  if (!old) object.spec = { finalizers: ['kubernetes'] };
}

function validateEvent(object: KubernetesObject): FieldError[] {
  const { namespace } = object.metadata;
  const involved = valueAt(object, ['involvedObject', 'namespace']) ?? '';
  // Events about objects of no namespace are kept in `default`.
  if (involved === namespace || (involved === '' && namespace === 'default')) return [];
  return [invalidValue('involvedObject.namespace', involved, 'does not match event.namespace')];
}
