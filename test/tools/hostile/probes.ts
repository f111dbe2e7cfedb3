import { nameOf } from '../../service/users/a-user.ts';
import { markers } from './people.ts';

interface Question {
  group?: string;
  resource: string;
  subresource?: string;
  verb: string;
  namespace?: string;
  name?: string;
}

const ours = 'auth.platform.io';
const rbac = 'rbac.authorization.k8s.io';
const chief = nameOf('chief@example.com');

const questions: Question[] = [
  ...markers.map((name) => ({ resource: 'configmaps', verb: 'get', namespace: 'default', name })),
  { resource: 'secrets', verb: 'get', namespace: 'kube-system', name: 'any' },
  { resource: 'secrets', verb: 'list', namespace: 'atrium-system' },
  { resource: 'configmaps', verb: 'create', namespace: 'atrium-system' },
  { resource: 'pods', subresource: 'exec', verb: 'create', namespace: 'default' },
  { resource: 'serviceaccounts', subresource: 'token', verb: 'create', namespace: 'atrium-system', name: 'atrium' },
  { resource: 'users', verb: 'impersonate', name: 'chief@example.com' },
  { resource: 'groups', verb: 'impersonate', name: 'local:crew' },
  { group: rbac, resource: 'clusterrolebindings', verb: 'create' },
  { group: rbac, resource: 'clusterroles', verb: 'bind', name: 'view' },
  { group: rbac, resource: 'clusterroles', verb: 'escalate', name: 'view' },
  { group: ours, resource: 'users', subresource: 'status', verb: 'patch', name: chief },
  { group: ours, resource: 'users', subresource: 'authorize', verb: 'create', name: chief },
  { group: ours, resource: 'users', subresource: 'password', verb: 'update', name: chief },
  { group: ours, resource: 'users', verb: 'patch', name: chief },
  { group: ours, resource: 'users', verb: 'delete', name: chief },
  { group: ours, resource: 'groups', verb: 'patch', name: 'crew' },
  { group: ours, resource: 'accesstokens', verb: 'create' },
  { group: ours, resource: 'sessions', verb: 'create', namespace: 'atrium-system' },
  { group: ours, resource: 'revokedtokens', verb: 'create' },
  { group: 'authentication.k8s.io', resource: 'tokenreviews', verb: 'create' },
  { group: 'certificates.k8s.io', resource: 'certificatesigningrequests', subresource: 'approval', verb: 'update' },
];

const whatOf = (question: Question) =>
  [question.verb, question.resource, question.subresource, question.namespace, question.name].filter(Boolean).join(' ');

/** Returns the probe of a marker. */
export const markerProbe = (name: string): string => whatOf({ resource: 'configmaps', verb: 'get', namespace: 'default', name });

/** Access reviews that show whether a caller has more rights than another. */
export const probes = questions.map((question) => ({
  what: whatOf(question),
  question,
}));
