/** The built-in kinds: names, defaults and the checks that clients notice. */

import { type FieldError, invalidValue } from '../../../src/api/field-error.ts';
import { dnsLabelProblems, subdomainProblems } from '../../../src/api/label-syntax.ts';
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
import { ageColumn, columnsOf, nameColumn } from './columns.ts';
import { prepareConfigMap, prepareSecret, validateConfigMap, validateSecret } from './config-kinds.ts';
import { pathSegmentProblems } from './metadata.ts';
import { isJsonObject, type KubernetesObject, type StoredObject, valueAt } from './objects.ts';
import { prepareBinding, validateBinding, validateClusterRole, validateRole } from './rbac-kinds.ts';
import { type ResourceType, storedVerbs } from './resources.ts';
import { compileSchema } from './schema.ts';

const metadataLists = { 'metadata.ownerReferences': 'uid', 'metadata.finalizers': '' };

type Given = Pick<ResourceType, 'resource' | 'kind' | 'openAPISchema'> & Partial<ResourceType>;

function builtin(given: Given): ResourceType {
  return {
    group: '',
    version: 'v1',
    singular: given.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    namespaced: true,
    isCustom: false,
    hasStatus: false,
    subresources: [],
    hasGeneration: false,
    allowsUnconditionalUpdate: true,
    allowsCreateOnUpdate: false,
    schema: compileSchema(given.openAPISchema),
    columns: [nameColumn, ageColumn],
    selectableFields: [],
    mergedLists: metadataLists,
    verbs: storedVerbs,
    nameProblems: subdomainProblems,
    ...given,
  };
}

const admission = {
  group: 'admissionregistration.k8s.io',
  namespaced: false,
  hasGeneration: true,
  allowsUnconditionalUpdate: false,
} as const;

const rbac = { group: 'rbac.authorization.k8s.io', allowsCreateOnUpdate: true, nameProblems: pathSegmentProblems };

/** The definition of definitions is passed in, as it needs the registry. */
export function builtinTypes(definition: Pick<ResourceType, 'prepare' | 'validate'>): ResourceType[] {
  return [
    builtin({
      resource: 'namespaces',
      kind: 'Namespace',
      shortNames: ['ns'],
      namespaced: false,
      hasStatus: true,
      openAPISchema: namespaceSchema,
      columns: columnsOf('namespaces'),
      selectableFields: ['status.phase'],
      nameProblems: dnsLabelProblems,
      verbs: storedVerbs.filter((verb) => verb !== 'deletecollection'),
      prepare: prepareNamespace,
      validate: validateNamespace,
    }),
    builtin({
      resource: 'configmaps',
      kind: 'ConfigMap',
      shortNames: ['cm'],
      openAPISchema: configMapSchema,
      columns: columnsOf('configmaps'),
      prepare: prepareConfigMap,
      validate: validateConfigMap,
    }),
    builtin({
      resource: 'secrets',
      kind: 'Secret',
      openAPISchema: secretSchema,
      columns: columnsOf('secrets'),
      selectableFields: ['type'],
      prepare: prepareSecret,
      validate: validateSecret,
    }),
    builtin({
      resource: 'serviceaccounts',
      kind: 'ServiceAccount',
      shortNames: ['sa'],
      openAPISchema: serviceAccountSchema,
      columns: columnsOf('serviceaccounts'),
      mergedLists: { ...metadataLists, secrets: 'name', imagePullSecrets: 'name' },
    }),
    builtin({
      resource: 'events',
      kind: 'Event',
      shortNames: ['ev'],
      openAPISchema: eventSchema,
      allowsCreateOnUpdate: true,
      columns: columnsOf('events'),
      selectableFields: [
        ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((field) => `involvedObject.${field}`),
        'reason',
        'reportingComponent',
        'source',
        'type',
      ],
      validate: validateEvent,
    }),
    builtin({
      group: 'coordination.k8s.io',
      resource: 'leases',
      kind: 'Lease',
      openAPISchema: leaseSchema,
      allowsUnconditionalUpdate: false,
      allowsCreateOnUpdate: true,
      columns: columnsOf('leases'),
      validate: validateLease,
    }),
    builtin({ ...rbac, resource: 'roles', kind: 'Role', openAPISchema: roleSchema, columns: columnsOf('roles'), validate: validateRole }),
    builtin({
      ...rbac,
      resource: 'clusterroles',
      kind: 'ClusterRole',
      namespaced: false,
      openAPISchema: clusterRoleSchema,
      columns: columnsOf('clusterroles'),
      validate: validateClusterRole,
    }),
    builtin({
      ...rbac,
      resource: 'rolebindings',
      kind: 'RoleBinding',
      openAPISchema: bindingSchema,
      columns: columnsOf('rolebindings'),
      prepare: prepareBinding,
      validate: validateBinding,
    }),
    builtin({
      ...rbac,
      resource: 'clusterrolebindings',
      kind: 'ClusterRoleBinding',
      namespaced: false,
      openAPISchema: bindingSchema,
      columns: columnsOf('clusterrolebindings'),
      prepare: prepareBinding,
      validate: validateBinding,
    }),
    builtin({
      ...admission,
      resource: 'validatingadmissionpolicies',
      kind: 'ValidatingAdmissionPolicy',
      hasStatus: true,
      openAPISchema: admissionPolicySchema,
      columns: columnsOf('validatingadmissionpolicies'),
      validate: validatePolicy,
    }),
    builtin({
      ...admission,
      resource: 'validatingadmissionpolicybindings',
      kind: 'ValidatingAdmissionPolicyBinding',
      openAPISchema: admissionPolicyBindingSchema,
      columns: columnsOf('validatingadmissionpolicybindings'),
      validate: validatePolicyBinding,
    }),
    builtin({
      group: 'certificates.k8s.io',
      resource: 'certificatesigningrequests',
      kind: 'CertificateSigningRequest',
      shortNames: ['csr'],
      namespaced: false,
      hasStatus: true,
      subresources: ['approval'],
      openAPISchema: certificateRequestSchema,
      columns: columnsOf('certificatesigningrequests'),
      selectableFields: ['spec.signerName'],
      nameProblems: pathSegmentProblems,
      ...certificateRequestRules,
    }),
    builtin({
      group: 'apiextensions.k8s.io',
      resource: 'customresourcedefinitions',
      kind: 'CustomResourceDefinition',
      shortNames: ['crd', 'crds'],
      categories: ['api-extensions'],
      namespaced: false,
      hasStatus: true,
      hasGeneration: true,
      allowsUnconditionalUpdate: false,
      openAPISchema: definitionSchema,
      columns: columnsOf('customresourcedefinitions'),
      ...definition,
    }),
  ];
}

function prepareNamespace(object: KubernetesObject, old?: StoredObject): void {
  const { name } = object.metadata;
  if (name) object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': name };
  if (old) return;
  object.spec = { finalizers: ['kubernetes'] };
  object.status = { phase: 'Active' };
}

function validateNamespace({ metadata, status }: KubernetesObject): FieldError[] {
  const phase = valueAt(status, ['phase']);
  const wanted = metadata.deletionTimestamp ? 'Terminating' : 'Active';
  if (phase === wanted) return [];
  const state = metadata.deletionTimestamp ? 'not empty' : 'empty';
  return [invalidValue('status.Phase', phase ?? '', `may only be '${wanted}' if \`deletionTimestamp\` is ${state}`)];
}

function validateEvent(object: KubernetesObject): FieldError[] {
  const { namespace } = object.metadata;
  const involved = valueAt(object, ['involvedObject', 'namespace']) ?? '';
  // Events about objects of no namespace are kept in `default`.
  if (involved === namespace || (involved === '' && namespace === 'default')) return [];
  return [invalidValue('involvedObject.namespace', involved, 'does not match event.namespace')];
}

function validateLease({ spec }: KubernetesObject): FieldError[] {
  const { leaseDurationSeconds: duration, leaseTransitions: transitions } = isJsonObject(spec) ? spec : {};
  const errors: FieldError[] = [];
  if (typeof duration === 'number' && duration <= 0)
    errors.push(invalidValue('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
  if (typeof transitions === 'number' && transitions < 0) {
    errors.push(invalidValue('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  return errors;
}
