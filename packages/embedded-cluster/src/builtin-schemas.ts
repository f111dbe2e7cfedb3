/** Schemas of the built-in kinds, for the fields that the embedded cluster uses. Fields of `open` schemas are stored as they are sent. */

import type { JsonObject } from './objects.ts';

const text = { type: 'string' };
const bool = { type: 'boolean' };
const int32 = { type: 'integer', format: 'int32' };
const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const list = (items: JsonObject) => ({ type: 'array', items });
const map = (values: JsonObject) => ({ type: 'object', additionalProperties: values });
const shape = (properties: JsonObject) => ({ type: 'object', properties });
/** Returns fields of one type by their names. */
const each = (names: string, type: JsonObject = text): JsonObject => Object.fromEntries(names.split(' ').map((name) => [name, type]));
const orNull = { ...text, nullable: true };

const kindSchema = (description: string, properties: JsonObject): JsonObject => ({
  type: 'object',
  description,
  properties: { apiVersion: text, kind: text, metadata: { type: 'object' }, ...properties },
});

const objectReference = shape(each('apiVersion kind namespace name uid resourceVersion fieldPath'));

const localReference = shape({ name: text });

const policyRules = list(shape(each('verbs apiGroups resources resourceNames nonResourceURLs', list(text))));

const labelSelector = shape({
  matchLabels: map(text),
  matchExpressions: list(shape({ ...each('key operator'), values: list(text) })),
});

const subjects = list(shape(each('apiGroup kind name namespace')));
const roleRef = shape(each('apiGroup kind name'));

export const namespaceSchema = kindSchema('A scope for names and for rights.', {
  spec: shape({ finalizers: list(text) }),
  status: shape({ phase: text, conditions: list(open) }),
});

export const configMapSchema = kindSchema('Configuration as text or bytes, by key.', {
  ...each('data binaryData', map(text)),
  immutable: bool,
});

export const secretSchema = kindSchema('Confidential bytes, by key.', {
  ...each('data stringData', map(text)),
  type: text,
  immutable: bool,
});

export const serviceAccountSchema = kindSchema('An identity for processes.', {
  secrets: list(objectReference),
  imagePullSecrets: list(localReference),
  automountServiceAccountToken: bool,
});

export const eventSchema = kindSchema('Something that happened to an object.', {
  ...each('involvedObject related', objectReference),
  ...each('reason message type action reportingComponent reportingInstance'),
  ...each('firstTimestamp lastTimestamp eventTime', orNull),
  count: int32,
  source: shape(each('component host')),
  series: shape({ count: int32, lastObservedTime: text }),
});

export const leaseSchema = kindSchema('A lock that expires unless its holder renews it.', {
  spec: shape({
    ...each('holderIdentity strategy preferredHolder'),
    ...each('leaseDurationSeconds leaseTransitions', int32),
    ...each('acquireTime renewTime', orNull),
  }),
});

export const roleSchema = kindSchema('Rights within one namespace.', { rules: { ...policyRules, nullable: true } });

export const clusterRoleSchema = kindSchema('Rights everywhere, or in a namespace by a RoleBinding.', {
  rules: { ...policyRules, nullable: true },
  aggregationRule: shape({ clusterRoleSelectors: list(labelSelector) }),
});

export const bindingSchema = kindSchema('Gives the rights of a role to subjects.', { subjects: { ...subjects, nullable: true }, roleRef });

const condition = shape({ ...each('type status reason message'), ...each('lastUpdateTime lastTransitionTime', orNull) });

export const certificateRequestSchema = kindSchema('Asks a signer for a certificate; an approver decides about it.', {
  spec: shape({
    ...each('request signerName username uid'),
    ...each('usages groups', list(text)),
    expirationSeconds: int32,
    extra: map(list(text)),
  }),
  status: shape({ conditions: list(condition), certificate: text }),
});

const names = shape({ ...each('plural singular kind listKind'), ...each('shortNames categories', list(text)) });
const version = shape({
  ...each('name deprecationWarning'),
  ...each('served storage deprecated', bool),
  schema: shape({ openAPIV3Schema: open }),
  subresources: shape({ status: shape({}), scale: open }),
  additionalPrinterColumns: list(shape({ ...each('name type format description jsonPath'), priority: int32 })),
  selectableFields: list(shape({ jsonPath: text })),
});

export const definitionSchema = kindSchema('Adds a resource to the API.', {
  spec: shape({ ...each('group scope'), preserveUnknownFields: bool, names, conversion: open, versions: list(version) }),
  status: shape({ acceptedNames: names, storedVersions: list(text), conditions: list(open) }),
});

/** The code that enforces policies also validates the fields that it uses. */
export const admissionPolicySchema = kindSchema('Refuses writes that an expression does not let through.', {
  spec: open,
  status: shape({ observedGeneration: { type: 'integer', format: 'int64' }, conditions: list(open), typeChecking: open }),
});

export const admissionPolicyBindingSchema = kindSchema('Puts a ValidatingAdmissionPolicy to work.', { spec: open });

/** Returns the schema of a kind whose members are stored as they are sent. */
export const openSchema = (members: readonly string[], description = ''): JsonObject =>
  kindSchema(description, {
    ...each(members.join(' '), { 'x-kubernetes-preserve-unknown-fields': true }),
    ...Object.fromEntries(members.filter((name) => name === 'spec' || name === 'status').map((name) => [name, open])),
  });
