/**
 * What the fields of Kubernetes' protobuf messages are called in JSON, by number: of the kinds that `kubectl create` and `kubectl auth`
 * send. A field that is not here is skipped. That is meant for what an API server takes from no client: times, `managedFields`, `status`.
 *
 * @see https://github.com/kubernetes/api generated.proto of each group
 * @see https://github.com/kubernetes/apimachinery pkg/apis/meta/v1/generated.proto
 */

export type Message = Readonly<Record<number, Field>>;

export interface Field {
  name: string;
  type: 'text' | 'bytes' | 'flag' | 'integer' | Message;
  /** In a map, the type is the message of an entry. */
  label?: 'list' | 'map';
}

const marks: Readonly<Record<string, Omit<Field, 'name'>>> = {
  '*': { type: 'text', label: 'list' },
  '?': { type: 'flag' },
  '#': { type: 'integer' },
};

/** As `1:name 2:groups* 3:isOn? 4:count#`: a text, a list of texts, a flag, a number. */
const fields = (text: string): Message =>
  Object.fromEntries(
    text.split(' ').map((part): [string, Field] => {
      const [number = '', name = ''] = part.split(':');
      const marked = marks[name.slice(-1)];
      return [number, marked ? { name: name.slice(0, -1), ...marked } : { name, type: 'text' }];
    }),
  );
const message = (name: string, type: Message): Field => ({ name, type });
const list = (name: string, type: Message): Field => ({ name, type, label: 'list' });
const map = (name: string, type: Field['type']): Field => ({
  name,
  type: { 1: { name: 'key', type: 'text' }, 2: { name: 'value', type } },
  label: 'map',
});

const metadata = message('metadata', {
  ...fields('1:name 2:generateName 3:namespace 5:uid 6:resourceVersion 14:finalizers*'),
  11: map('labels', 'text'),
  12: map('annotations', 'text'),
  13: list('ownerReferences', fields('1:kind 3:name 4:uid 5:apiVersion 6:controller? 7:blockOwnerDeletion?')),
});

const rules = list('rules', fields('1:verbs* 2:apiGroups* 3:resources* 4:resourceNames* 5:nonResourceURLs*'));
const labelSelector: Message = { 1: map('matchLabels', 'text'), 2: list('matchExpressions', fields('1:key 2:operator 3:values*')) };
const binding: Message = {
  1: metadata,
  2: list('subjects', fields('1:kind 2:apiGroup 3:name 4:namespace')),
  3: message('roleRef', fields('1:apiGroup 2:kind 3:name')),
};
const accessSpec: Message = {
  1: message('resourceAttributes', fields('1:namespace 2:verb 3:group 4:version 5:resource 6:subresource 7:name')),
  2: message('nonResourceAttributes', fields('1:path 2:verb')),
};
const tokenRequestSpec: Message = {
  ...fields('1:audiences* 4:expirationSeconds#'),
  3: message('boundObjectRef', fields('1:kind 2:apiVersion 3:name 4:uid')),
};
const deleteOptions: Message = {
  ...fields('1:gracePeriodSeconds# 3:orphanDependents? 4:propagationPolicy 5:dryRun*'),
  2: message('preconditions', fields('1:uid 2:resourceVersion')),
};

const objectReference = fields('1:kind 2:namespace 3:name 4:uid 5:apiVersion 6:resourceVersion 7:fieldPath');

const messages: ReadonlyMap<string, Message> = new Map<string, Message>([
  ['v1 ConfigMap', { ...fields('4:immutable?'), 1: metadata, 2: map('data', 'text'), 3: map('binaryData', 'bytes') }],
  ['v1 Secret', { ...fields('3:type 5:immutable?'), 1: metadata, 2: map('data', 'bytes'), 4: map('stringData', 'text') }],
  ['v1 Namespace', { 1: metadata, 2: message('spec', fields('1:finalizers*')) }],
  [
    'v1 ServiceAccount',
    {
      ...fields('4:automountServiceAccountToken?'),
      1: metadata,
      2: list('secrets', objectReference),
      3: list('imagePullSecrets', fields('1:name')),
    },
  ],
  ['rbac.authorization.k8s.io/v1 Role', { 1: metadata, 2: rules }],
  [
    'rbac.authorization.k8s.io/v1 ClusterRole',
    { 1: metadata, 2: rules, 3: message('aggregationRule', { 1: list('clusterRoleSelectors', labelSelector) }) },
  ],
  ['rbac.authorization.k8s.io/v1 RoleBinding', binding],
  ['rbac.authorization.k8s.io/v1 ClusterRoleBinding', binding],
  ['authorization.k8s.io/v1 SelfSubjectAccessReview', { 1: metadata, 2: message('spec', accessSpec) }],
  ['authorization.k8s.io/v1 SelfSubjectRulesReview', { 1: metadata, 2: message('spec', fields('1:namespace')) }],
  ['authentication.k8s.io/v1 SelfSubjectReview', { 1: metadata }],
  ['authentication.k8s.io/v1 TokenRequest', { 1: metadata, 2: message('spec', tokenRequestSpec) }],
]);

/** Undefined for a kind that is not known here. DeleteOptions belong to every group and version. */
export const messageOf = (apiVersion: string, kind: string): Message | undefined =>
  kind === 'DeleteOptions' ? deleteOptions : messages.get(`${apiVersion} ${kind}`);

/** What stands before every message. */
export const typeMetaEnvelope: Message = { 1: message('typeMeta', fields('1:apiVersion 2:kind')) };
export const rawEnvelope = (raw: Message): Message => ({ 2: message('raw', raw) });
