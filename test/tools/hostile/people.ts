/** Users that exist before the attack, and their rights. */

import { aUser, nameOf } from '../../service/users/a-user.ts';
import type { Manifest } from '../../support/cluster-admin.ts';

export const attacker = 'manager';
export const attackersPassword = 'known to the attacker';
export const honestPassword = 'known to honest people alone';

interface Honest {
  email: string;
  isAdmin?: boolean;
  connector?: string;
  groups?: string[];
}

/** Users with a record. All but `ord`, `pol` and `apr` have rights that are bound to a name. */
export const honest: readonly Honest[] = [
  { email: 'chief@example.com', isAdmin: true },
  { email: 'deputy@example.com', isAdmin: true },
  { email: 'vic@example.com' },
  { email: 'gil@example.com', groups: ['dev'] },
  { email: 'lou@example.com' },
  { email: 'una@example.com' },
  { email: 'ivy@example.com' },
  { email: 'dir@example.com', connector: 'corp-ldap' },
  { email: 'ord@example.com' },
  // A policy alone names these two: a requester and an approver.
  { email: 'pol@example.com' },
  { email: 'apr@example.com' },
  // The API servers of the tests issue a token for this user.
  { email: 'alice' },
];

/** Subjects of bindings that have no user record. */
export const ghosts = ['ghost@example.com', 'nova', 'phantom@example.com'];

export const administrators = honest.filter(({ isAdmin }) => isAdmin).map(({ email }) => nameOf(email));

/** Returns the user record. The name in Kubernetes depends on the issuer. */
export function honestRecord({ email, isAdmin = false, connector, groups = [] }: Honest): Manifest {
  const user = aUser(email, { is_admin: isAdmin, groups });
  const source = { connector_type: 'ldap', connector_id: connector, connector_name: 'Corporate' };
  return connector === undefined ? user : { ...user, spec: { ...(user.spec as object), ...source } };
}

const rbac = 'rbac.authorization.k8s.io';

/** Returns the name of a right that only one user has, so that it identifies the caller. */
export const markerOf = (who: string) => `marker-${who.split('@')[0]}`;

const marked = ['vic', 'gil', 'lou', 'una', 'ivy', 'ghost', 'nova', 'dir', 'alice', 'pol', 'held', 'lent'];
export const markers = marked.map(markerOf);

const markerRole = (name: string): Manifest => ({
  apiVersion: `${rbac}/v1`,
  kind: 'ClusterRole',
  metadata: { name },
  rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get'] }],
});

const bound = (name: string, role: string, ...subjects: { kind: 'User' | 'Group'; name: string }[]): Manifest => ({
  apiVersion: `${rbac}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
  subjects: subjects.map((subject) => ({ apiGroup: rbac, ...subject })),
});

const group = (name: string, ...emails: string[]): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'Group',
  metadata: { name },
  spec: { displayName: name, users: emails.map((email) => ({ name: nameOf(email) })) },
});

const userBinding = (who: string, subject: { kind: 'User' | 'Group'; name: string }): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'UserBinding',
  metadata: { name: `binding-of-${who}` },
  spec: { scope: 'platform', roleRef: markerOf(who), subjects: [subject] },
});

/** Allows the service account to bind the roles of UserBindings, as the chart's values do. */
const serviceMayBind: Manifest[] = [
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'bind-markers' },
    rules: [{ apiGroups: [rbac], resources: ['clusterroles'], resourceNames: markers, verbs: ['bind'] }],
  },
  {
    ...bound('bind-markers', 'bind-markers'),
    subjects: [{ kind: 'ServiceAccount', name: 'atrium', namespace: 'atrium-system' }],
  },
];

/** @param subjectOf returns the Kubernetes user name of an address */
export function rights(subjectOf: (email: string) => string): Manifest[] {
  const user = (email: string) => ({ kind: 'User' as const, name: subjectOf(email) });
  return [
    ...markers.map(markerRole),
    ...serviceMayBind,
    bound('of-manager', 'atrium-users-admin', { kind: 'User', name: attacker }, user(attacker)),
    bound('of-administrators', 'cluster-admin', user('chief@example.com'), user('deputy@example.com')),
    bound('of-vic', markerOf('vic'), user('vic@example.com')),
    bound('of-dir', markerOf('dir'), user('dir@example.com')),
    bound('of-ghost', markerOf('ghost'), user('ghost@example.com')),
    bound('of-gil', markerOf('gil'), { kind: 'Group', name: 'dev' }),
    bound('of-lou', markerOf('lou'), { kind: 'Group', name: 'local:crew' }),
    group('crew', 'lou@example.com'),
    group('team', 'ivy@example.com'),
    userBinding('una', { kind: 'User', name: nameOf('una@example.com') }),
    userBinding('ivy', { kind: 'Group', name: 'team' }),
    userBinding('nova', { kind: 'User', name: 'nova' }),
    userBinding('alice', { kind: 'User', name: 'alice' }),
  ];
}
