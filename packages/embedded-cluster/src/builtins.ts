/** The built-in kinds: names, defaults and the checks that clients notice. */
import { type FieldError, invalidValue } from '@atrium/objects/field-error.ts';
import { dnsLabelProblems, subdomainProblems } from '@atrium/objects/labels.ts';
import { validatePolicy, validatePolicyBinding } from './admission.ts';
import { certificateRequestRules } from './certificate-requests.ts';
import { columnsOf } from './columns.ts';
import { prepareSecret, validateConfigMap, validateSecret } from './config-kinds.ts';
import { type Defaults, fill } from './defaults.ts';
import { kindSchema } from './kind-schema.ts';
import { shapeNamed } from './kind-shapes.ts';
import { schemaNameOf } from './kubernetes-api.ts';
import { type JsonObject, type KubernetesObject, type StoredObject, valueAt } from './objects.ts';
import { prepareBinding, validateBinding, validateRules } from './rbac-kinds.ts';
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
export function builtin(path: string, kind: string, rules: KindRules = {}): ResourceType {
  const [group = '', resource = ''] = path.split('/');
  const { defaults = {}, firstStatus, prepare, version = 'v1', ...given } = rules;
  return {
    ...{ group, resource, kind, version, singular: kind.toLowerCase(), shortNames: [], categories: [] },
    ...{ namespaced: true, isCustom: false, subresources: [], hasGeneration: false },
    ...{ allowsUnconditionalUpdate: true, allowsCreateOnUpdate: false, selectableFields: [] },
    ...publishedSchema({ group, version, kind }),
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

/** Returns the schema that Kubernetes publishes of a kind. Kinds that it does not publish are never written. */
function publishedSchema(
  kind: Pick<ResourceType, 'group' | 'version' | 'kind'>,
): Pick<ResourceType, 'openAPISchema' | 'schema' | 'hasStatus'> {
  const name = schemaNameOf(kind);
  if (name === undefined) return { openAPISchema: {}, schema: compileSchema({ type: 'object' }), hasStatus: false };
  const shape = shapeNamed(name);
  return { openAPISchema: {}, schema: kindSchema(shape), hasStatus: shape.members.has('status') };
}

const clusterWide = { namespaced: false } as const;
const rbac = { allowsCreateOnUpdate: true, nameProblems: pathSegmentProblems };
const binding = { ...rbac, prepare: prepareBinding, validate: validateBinding };
const admission = { ...clusterWide, hasGeneration: true, allowsUnconditionalUpdate: false } as const;
const reference = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

const rbacTypes = [
  builtin('rbac.authorization.k8s.io/roles', 'Role', { ...rbac, validate: validateRules }),
  builtin('rbac.authorization.k8s.io/clusterroles', 'ClusterRole', { ...rbac, ...clusterWide, validate: validateRules }),
  builtin('rbac.authorization.k8s.io/rolebindings', 'RoleBinding', binding),
  builtin('rbac.authorization.k8s.io/clusterrolebindings', 'ClusterRoleBinding', { ...binding, ...clusterWide }),
];

const coreTypes = [
  builtin('/namespaces', 'Namespace', {
    ...clusterWide,
    shortNames: ['ns'],
    selectableFields: ['status.phase'],
    nameProblems: dnsLabelProblems,
    verbs: storedVerbs.filter((verb) => verb !== 'deletecollection'),
    prepare: prepareNamespace,
    firstStatus: () => ({ phase: 'Active' }),
  }),
  builtin('/configmaps', 'ConfigMap', { shortNames: ['cm'], validate: validateConfigMap }),
  builtin('/secrets', 'Secret', {
    selectableFields: ['type'],
    defaults: { type: 'Opaque' },
    prepare: prepareSecret,
    validate: validateSecret,
  }),
  builtin('/serviceaccounts', 'ServiceAccount', { shortNames: ['sa'], answers: { token: serviceAccountToken } }),
  builtin('/events', 'Event', {
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
  builtin('coordination.k8s.io/leases', 'Lease', {
    allowsUnconditionalUpdate: false,
    allowsCreateOnUpdate: true,
  }),
  builtin('admissionregistration.k8s.io/validatingadmissionpolicies', 'ValidatingAdmissionPolicy', {
    ...{ ...admission, validate: validatePolicy },
  }),
  builtin('admissionregistration.k8s.io/validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding', {
    ...admission,
    validate: validatePolicyBinding,
  }),
  builtin('certificates.k8s.io/certificatesigningrequests', 'CertificateSigningRequest', {
    ...clusterWide,
    shortNames: ['csr'],
    subresources: ['approval'],
    selectableFields: ['spec.signerName'],
    nameProblems: pathSegmentProblems,
    ...certificateRequestRules,
  }),
  builtin('apiextensions.k8s.io/customresourcedefinitions', 'CustomResourceDefinition', {
    ...{ ...admission, shortNames: ['crd', 'crds'], categories: ['api-extensions'], ...definition },
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
