/** The shapes of the built-in kinds, as far as the embedded cluster looks into them; what is open is stored as it came. */

import type { JsonObject } from './objects.ts';

const text = { type: 'string' };
const bool = { type: 'boolean' };
const int32 = { type: 'integer', format: 'int32' };
const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const list = (items: JsonObject) => ({ type: 'array', items });
const map = (values: JsonObject) => ({ type: 'object', additionalProperties: values });
const shape = (properties: JsonObject) => ({ type: 'object', properties });

const kindSchema = (description: string, properties: JsonObject): JsonObject => ({
  type: 'object',
  description,
  properties: { apiVersion: text, kind: text, metadata: { type: 'object' }, ...properties },
});

const objectReference = shape({
  apiVersion: text,
  kind: text,
  namespace: text,
  name: text,
  uid: text,
  resourceVersion: text,
  fieldPath: text,
});

const localReference = shape({ name: text });

const policyRules = list(
  shape({
    verbs: list(text),
    apiGroups: list(text),
    resources: list(text),
    resourceNames: list(text),
    nonResourceURLs: list(text),
  }),
);

const labelSelector = shape({
  matchLabels: map(text),
  matchExpressions: list(shape({ key: text, operator: text, values: list(text) })),
});

const subjects = list(shape({ apiGroup: text, kind: text, name: text, namespace: text }));
const roleRef = shape({ apiGroup: text, kind: text, name: text });

export const namespaceSchema = kindSchema('A scope for names and for rights.', {
  spec: shape({ finalizers: list(text) }),
  status: shape({ phase: text, conditions: list(open) }),
});

export const configMapSchema = kindSchema('Configuration as text or bytes, by key.', {
  data: map(text),
  binaryData: map(text),
  immutable: bool,
});

export const secretSchema = kindSchema('Confidential bytes, by key.', {
  data: map(text),
  stringData: map(text),
  type: text,
  immutable: bool,
});

export const serviceAccountSchema = kindSchema('An identity for processes.', {
  secrets: list(objectReference),
  imagePullSecrets: list(localReference),
  automountServiceAccountToken: bool,
});

export const eventSchema = kindSchema('Something that happened to an object.', {
  involvedObject: objectReference,
  related: objectReference,
  reason: text,
  message: text,
  type: text,
  action: text,
  count: int32,
  firstTimestamp: { ...text, nullable: true },
  lastTimestamp: { ...text, nullable: true },
  eventTime: { ...text, nullable: true },
  source: shape({ component: text, host: text }),
  series: shape({ count: int32, lastObservedTime: text }),
  reportingComponent: text,
  reportingInstance: text,
});

export const leaseSchema = kindSchema('A lock that expires unless its holder renews it.', {
  spec: shape({
    holderIdentity: text,
    leaseDurationSeconds: int32,
    acquireTime: { ...text, nullable: true },
    renewTime: { ...text, nullable: true },
    leaseTransitions: int32,
    strategy: text,
    preferredHolder: text,
  }),
});

export const roleSchema = kindSchema('Rights within one namespace.', { rules: { ...policyRules, nullable: true } });

export const clusterRoleSchema = kindSchema('Rights everywhere, or in a namespace by a RoleBinding.', {
  rules: { ...policyRules, nullable: true },
  aggregationRule: shape({ clusterRoleSelectors: list(labelSelector) }),
});

export const bindingSchema = kindSchema('Gives the rights of a role to subjects.', { subjects: { ...subjects, nullable: true }, roleRef });

const condition = shape({
  type: text,
  status: text,
  reason: text,
  message: text,
  lastUpdateTime: { ...text, nullable: true },
  lastTransitionTime: { ...text, nullable: true },
});

export const certificateRequestSchema = kindSchema('Asks a signer for a certificate; an approver decides about it.', {
  spec: shape({
    request: text,
    signerName: text,
    expirationSeconds: int32,
    usages: list(text),
    username: text,
    uid: text,
    groups: list(text),
    extra: map(list(text)),
  }),
  status: shape({ conditions: list(condition), certificate: text }),
});

export const definitionSchema = kindSchema('Adds a resource to the API.', {
  spec: {
    type: 'object',
    properties: {
      group: text,
      scope: text,
      preserveUnknownFields: bool,
      names: shape({ plural: text, singular: text, kind: text, listKind: text, shortNames: list(text), categories: list(text) }),
      conversion: open,
      versions: list(
        shape({
          name: text,
          served: bool,
          storage: bool,
          deprecated: bool,
          deprecationWarning: text,
          schema: shape({ openAPIV3Schema: open }),
          subresources: shape({ status: shape({}), scale: open }),
          additionalPrinterColumns: list(
            shape({ name: text, type: text, format: text, description: text, priority: int32, jsonPath: text }),
          ),
          selectableFields: list(shape({ jsonPath: text })),
        }),
      ),
    },
  },
  status: shape({
    acceptedNames: shape({ plural: text, singular: text, kind: text, listKind: text, shortNames: list(text), categories: list(text) }),
    storedVersions: list(text),
    conditions: list(open),
  }),
});

/** What is looked into is checked by the code that enforces it. */
export const admissionPolicySchema = kindSchema('Refuses writes that an expression does not let through.', {
  spec: open,
  status: shape({ observedGeneration: { type: 'integer', format: 'int64' }, conditions: list(open), typeChecking: open }),
});

export const admissionPolicyBindingSchema = kindSchema('Puts a ValidatingAdmissionPolicy to work.', { spec: open });
