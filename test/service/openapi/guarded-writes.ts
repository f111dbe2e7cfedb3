/** Operations that create a credential or a permission, for the suites that try them with each kind of credential. */
import { nameOf } from '../users/a-user.ts';

export const chief = 'chief@example.com';
export const jane = 'jane@example.com';
const rbac = '/api/kubernetes/apis/rbac.authorization.k8s.io/v1';

export interface Guarded {
  operation: string;
  request: readonly [method: string, path: string, body?: unknown];
  /** Cause of the refusal of an access token; undefined if it is accepted. */
  token: 'AccessTokenNotAllowed' | 'StepUpNotPossible' | undefined;
  /** True if a session needs a recent login. */
  needsRecentLogin: boolean;
}

const refused = { token: 'AccessTokenNotAllowed', needsRecentLogin: true } as const;
/** Answer of operations on factors and links, which require a login from each credential; an access token has none. */
const ofLogin = { token: 'StepUpNotPossible', needsRecentLogin: true } as const;

const binding = { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' }, subjects: [] };
const kubernetesBinding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'stolen' },
  ...binding,
};
const userBinding = {
  metadata: { name: 'stolen' },
  spec: { subjects: [{ kind: 'User', name: nameOf(jane) }], scope: 'platform', roleRef: 'view' },
};
const factor = `t-${'0'.repeat(64)}`;
const proposal = `cp-${'0'.repeat(32)}`;
/** Answer of operations that no agent and no access token gets past, and each session. */
const ofPeople = { token: 'AccessTokenNotAllowed', needsRecentLogin: false } as const;

export const guarded: readonly Guarded[] = [
  {
    operation: 'CreateUser',
    request: ['POST', '/auth/v1/users', { spec: { email: 'new@example.com', password: 'another horse battery' } }],
    ...refused,
  },
  {
    operation: 'PatchUser',
    request: ['PATCH', `/auth/v1/users/${nameOf(jane)}`, { spec: { password: 'another horse battery' } }],
    ...refused,
  },
  {
    // The old password replaces a recent login.
    operation: 'PatchUser',
    request: ['PATCH', `/auth/v1/users/${nameOf(chief)}`, { spec: { password: 'another horse battery', old_password: 'wrong' } }],
    ...ofPeople,
  },
  { operation: 'DeleteUserSubjects', request: ['DELETE', `/auth/v1/users/${nameOf(jane)}/subjects`], ...refused },
  { operation: 'PatchUserFactor', request: ['PATCH', `/auth/v1/users/${nameOf(chief)}/factors/${factor}`, { name: 'phone' }], ...ofLogin },
  { operation: 'DeleteUserFactor', request: ['DELETE', `/auth/v1/users/${nameOf(chief)}/factors/${factor}`], ...ofLogin },
  { operation: 'DeleteUserFactors', request: ['DELETE', `/auth/v1/users/${nameOf(jane)}/factors`], ...ofLogin },
  { operation: 'CreateUserLink', request: ['POST', `/auth/v1/users/${nameOf(jane)}/links`, { kind: 'password' }], ...ofLogin },
  { operation: 'DeleteUserLinks', request: ['DELETE', `/auth/v1/users/${nameOf(jane)}/links`], ...ofLogin },
  { operation: 'LinkAccount', request: ['POST', '/auth/v1/links', { issuer: 'corp' }], ...refused },
  { operation: 'UnlinkAccount', request: ['DELETE', `/auth/v1/links/${'f'.repeat(32)}`], ...refused },
  {
    operation: 'CreateGroup',
    request: ['POST', '/auth/v1/groups', { metadata: { name: 'stolen' }, spec: { users: [{ name: nameOf(jane) }] } }],
    ...refused,
  },
  { operation: 'AddGroupMembers', request: ['POST', '/auth/v1/groups/oncall/members', { names: [nameOf(jane)] }], ...refused },
  { operation: 'CreateUserBinding', request: ['POST', '/auth/v2/userbindings', userBinding], ...refused },
  { operation: 'Authorize', request: ['POST', '/auth/v1/authorize', { spec: {} }], ...refused },
  { operation: 'CreateAccessToken', request: ['POST', '/auth/v1/accesstoken', { description: 'stolen' }], ...refused },
  { operation: 'ConfirmChangeProposal', request: ['POST', `/auth/v1/changeproposals/${proposal}/confirmation`, {}], ...ofPeople },
  { operation: 'RejectChangeProposal', request: ['POST', `/auth/v1/changeproposals/${proposal}/rejection`, {}], ...ofPeople },
  { operation: 'PostKubernetes', request: ['POST', `${rbac}/clusterrolebindings`, kubernetesBinding], ...refused },
  { operation: 'PutKubernetes', request: ['PUT', `${rbac}/clusterrolebindings/stolen`, kubernetesBinding], ...refused },
  { operation: 'PatchKubernetes', request: ['PATCH', `${rbac}/clusterroles/view`, { rules: [] }], ...refused },
  { operation: 'DeleteKubernetes', request: ['DELETE', '/api/kubernetes/api/v1/namespaces/atrium-system/secrets'], ...refused },
];
