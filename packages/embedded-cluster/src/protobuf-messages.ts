/**
 * What the fields of Kubernetes' protobuf messages are called in JSON, by number: of the kinds that the embedded cluster serves.
 * A field that is not here is skipped. That is meant for `managedFields`, `selfLink` and the `status` of reviews, which an API server
 * takes from no client.
 *
 * @see https://github.com/kubernetes/api generated.proto of each group
 * @see https://github.com/kubernetes/apimachinery pkg/apis/meta/v1/generated.proto
 */

export type Message = Readonly<Record<number, Field>>;

export interface Field {
  name: string;
  /** `texts` is a message that is a list of texts in JSON; times are messages, too. */
  type: 'text' | 'bytes' | 'flag' | 'integer' | 'time' | 'microTime' | 'texts' | Message;
  /** In a map, the type is the message of an entry. */
  label?: 'list' | 'map';
  /** Empty text and zero are in the JSON as well: the Go field is a pointer, or has no `omitempty`. */
  isKeptEmpty?: boolean;
}

const field =
  (type: Field['type']) =>
  (name: string): Field => ({ name, type });
const text = field('text');
const flag = field('flag');
const integer = field('integer');
const time = field('time');
const microTime = field('microTime');
const message = (name: string, type: Message): Field => ({ name, type });

const kept = (given: Field): Field => ({ ...given, isKeptEmpty: true });
const list = (given: Field): Field => ({ ...given, label: 'list' });
const map = (name: string, type: Field['type']): Field => ({
  name,
  type: { 1: kept(text('key')), 2: kept({ name: 'value', type }) },
  label: 'map',
});

const ownerReference: Message = {
  1: kept(text('kind')),
  3: kept(text('name')),
  4: kept(text('uid')),
  5: kept(text('apiVersion')),
  6: flag('controller'),
  7: flag('blockOwnerDeletion'),
};
const metadata = message('metadata', {
  1: text('name'),
  2: text('generateName'),
  3: text('namespace'),
  5: text('uid'),
  6: text('resourceVersion'),
  7: integer('generation'),
  8: time('creationTimestamp'),
  9: time('deletionTimestamp'),
  10: kept(integer('deletionGracePeriodSeconds')),
  11: map('labels', 'text'),
  12: map('annotations', 'text'),
  13: list(message('ownerReferences', ownerReference)),
  14: list(text('finalizers')),
});

const objectReference: Message = {
  1: text('kind'),
  2: text('namespace'),
  3: text('name'),
  4: text('uid'),
  5: text('apiVersion'),
  6: text('resourceVersion'),
  7: text('fieldPath'),
};
const namespaceCondition: Message = {
  1: kept(text('type')),
  2: kept(text('status')),
  4: time('lastTransitionTime'),
  5: text('reason'),
  6: text('message'),
};
const event: Message = {
  1: metadata,
  2: message('involvedObject', objectReference),
  3: text('reason'),
  4: text('message'),
  5: message('source', { 1: text('component'), 2: text('host') }),
  6: time('firstTimestamp'),
  7: time('lastTimestamp'),
  8: integer('count'),
  9: text('type'),
  10: microTime('eventTime'),
  11: message('series', { 1: integer('count'), 2: microTime('lastObservedTime') }),
  12: text('action'),
  13: message('related', objectReference),
  14: kept(text('reportingComponent')),
  15: kept(text('reportingInstance')),
};
const leaseSpec: Message = {
  1: kept(text('holderIdentity')),
  2: kept(integer('leaseDurationSeconds')),
  3: microTime('acquireTime'),
  4: microTime('renewTime'),
  5: kept(integer('leaseTransitions')),
  6: kept(text('strategy')),
  7: kept(text('preferredHolder')),
};

const requirement: Message = { 1: kept(text('key')), 2: kept(text('operator')), 3: list(text('values')) };
const labelSelector: Message = { 1: map('matchLabels', 'text'), 2: list(message('matchExpressions', requirement)) };
const rules = list(
  message('rules', {
    1: list(text('verbs')),
    2: list(text('apiGroups')),
    3: list(text('resources')),
    4: list(text('resourceNames')),
    5: list(text('nonResourceURLs')),
  }),
);
const subject: Message = { 1: kept(text('kind')), 2: text('apiGroup'), 3: kept(text('name')), 4: text('namespace') };
const binding: Message = {
  1: metadata,
  2: list(message('subjects', subject)),
  3: message('roleRef', { 1: kept(text('apiGroup')), 2: kept(text('kind')), 3: kept(text('name')) }),
};

const selector: Message = { 1: text('rawSelector'), 2: list(message('requirements', requirement)) };
const accessSpec: Message = {
  1: message('resourceAttributes', {
    1: text('namespace'),
    2: text('verb'),
    3: text('group'),
    4: text('version'),
    5: text('resource'),
    6: text('subresource'),
    7: text('name'),
    8: message('fieldSelector', selector),
    9: message('labelSelector', selector),
  }),
  2: message('nonResourceAttributes', { 1: text('path'), 2: text('verb') }),
};
const subjectAccessReview: Message = {
  1: metadata,
  2: message('spec', { ...accessSpec, 3: text('user'), 4: list(text('groups')), 5: map('extra', 'texts'), 6: text('uid') }),
};
const boundObjectReference: Message = { 1: text('kind'), 2: text('apiVersion'), 3: text('name'), 4: text('uid') };
const tokenRequestSpec: Message = {
  1: list(text('audiences')),
  3: message('boundObjectRef', boundObjectReference),
  4: kept(integer('expirationSeconds')),
};

const deleteOptions: Message = {
  1: kept(integer('gracePeriodSeconds')),
  2: message('preconditions', { 1: kept(text('uid')), 2: kept(text('resourceVersion')) }),
  3: flag('orphanDependents'),
  4: kept(text('propagationPolicy')),
  5: list(text('dryRun')),
  6: flag('ignoreStoreReadErrorWithClusterBreakingPotential'),
};

const messages: ReadonlyMap<string, Message> = new Map<string, Message>([
  ['v1 ConfigMap', { 1: metadata, 2: map('data', 'text'), 3: map('binaryData', 'bytes'), 4: flag('immutable') }],
  ['v1 Secret', { 1: metadata, 2: map('data', 'bytes'), 3: text('type'), 4: map('stringData', 'text'), 5: flag('immutable') }],
  [
    'v1 Namespace',
    {
      1: metadata,
      2: message('spec', { 1: list(text('finalizers')) }),
      3: message('status', { 1: text('phase'), 2: list(message('conditions', namespaceCondition)) }),
    },
  ],
  [
    'v1 ServiceAccount',
    {
      1: metadata,
      2: list(message('secrets', objectReference)),
      3: list(message('imagePullSecrets', { 1: text('name') })),
      4: flag('automountServiceAccountToken'),
    },
  ],
  ['v1 Event', event],
  ['coordination.k8s.io/v1 Lease', { 1: metadata, 2: message('spec', leaseSpec) }],
  ['rbac.authorization.k8s.io/v1 Role', { 1: metadata, 2: rules }],
  [
    'rbac.authorization.k8s.io/v1 ClusterRole',
    { 1: metadata, 2: rules, 3: message('aggregationRule', { 1: list(message('clusterRoleSelectors', labelSelector)) }) },
  ],
  ['rbac.authorization.k8s.io/v1 RoleBinding', binding],
  ['rbac.authorization.k8s.io/v1 ClusterRoleBinding', binding],
  ['authorization.k8s.io/v1 SelfSubjectAccessReview', { 1: metadata, 2: message('spec', accessSpec) }],
  ['authorization.k8s.io/v1 SelfSubjectRulesReview', { 1: metadata, 2: message('spec', { 1: text('namespace') }) }],
  ['authorization.k8s.io/v1 SubjectAccessReview', subjectAccessReview],
  ['authorization.k8s.io/v1 LocalSubjectAccessReview', subjectAccessReview],
  ['authentication.k8s.io/v1 SelfSubjectReview', { 1: metadata }],
  ['authentication.k8s.io/v1 TokenReview', { 1: metadata, 2: message('spec', { 1: text('token'), 2: list(text('audiences')) }) }],
  ['authentication.k8s.io/v1 TokenRequest', { 1: metadata, 2: message('spec', tokenRequestSpec) }],
]);

/** Undefined for a kind that is not known here. DeleteOptions belong to every group and version. */
export const messageOf = (apiVersion: string, kind: string): Message | undefined =>
  kind === 'DeleteOptions' ? deleteOptions : messages.get(`${apiVersion} ${kind}`);

/** What stands before every message. */
export const typeMetaEnvelope: Message = { 1: message('typeMeta', { 1: text('apiVersion'), 2: text('kind') }) };
export const rawEnvelope = (raw: Message): Message => ({ 2: message('raw', raw) });

export const timeMessage: Message = { 1: integer('seconds'), 2: integer('nanos') };
export const textsMessage: Message = { 1: list(text('items')) };
