/** AccessPolicies that exist before the attack, and the rights of the attacker over policies. */
import type { Manifest } from '../../support/cluster-admin.ts';
import { attacker, markerOf } from './people.ts';

/** Role that the attacker may bind, and so may get by a policy. */
export const grantable = markerOf('lent');
/** Role that the attacker may ask for. No honest approver ever gives it. */
export const unreachable = markerOf('held');
export const policyRoles = [grantable, unreachable, markerOf('pol'), markerOf('vic'), 'cluster-admin', 'view'];
/** User of a policy who has no record. */
export const phantom = 'phantom@example.com';
/** Policies that the attacker may write. `shell` is not among them. */
export const policyNames = ['held', 'lent', 'fresh-1', 'fresh-2'];

const rbac = 'rbac.authorization.k8s.io';

interface Subject {
  kind: 'User' | 'Group';
  name: string;
}

interface Policy {
  subjects: Subject[];
  roleRefs: string[];
  approvals: number;
  approvers: Subject[];
}

const policy = (name: string, spec: Policy): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'AccessPolicy',
  metadata: { name },
  spec: { ...spec, scope: { cluster: true }, maxSeconds: 3_600, requireReason: false },
});

const role = (name: string, rules: object[]): Manifest => ({ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules });

const ours = ['auth.platform.io'];

/** Names of roles that are lent to the attacker, so that their bindings are no gain. */
export const lentRoles = [grantable, 'lent-access', 'lent-bindings'];

const lend = (name: string): Manifest => ({
  apiVersion: `${rbac}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
  subjects: [{ apiGroup: rbac, kind: 'User', name: attacker }],
});

/** Writes of UserBindings, which the attacker has in some runs: they end guarantees for bindings of honest users. */
export const lentBindings = [
  role('lent-bindings', [{ apiGroups: ours, resources: ['userbindings'], verbs: ['get', 'list', 'create', 'patch'] }]),
  lend('lent-bindings'),
];

/** @param subjectOf returns the Kubernetes user name of an address */
export function policies(subjectOf: (email: string) => string): Manifest[] {
  const user = (name: string): Subject => ({ kind: 'User', name });
  const approvers = [user(subjectOf('apr@example.com'))];
  return [
    role('lent-access', [
      { apiGroups: ours, resources: ['accesspolicies'], verbs: ['get', 'list', 'create'] },
      {
        apiGroups: ours,
        resources: ['accesspolicies', 'accesspolicies/status'],
        resourceNames: policyNames,
        verbs: ['update', 'patch', 'delete'],
      },
      { apiGroups: ours, resources: ['accessrequests', 'accessrequests/status'], verbs: ['*'] },
      { apiGroups: [rbac], resources: ['clusterroles'], resourceNames: [grantable], verbs: ['bind'] },
    ]),
    lend('lent-access'),
    policy('shell', {
      subjects: [user(subjectOf('pol@example.com')), user(phantom)],
      roleRefs: [markerOf('pol')],
      approvals: 1,
      approvers: [...approvers, user(phantom)],
    }),
    policy('held', { subjects: [...new Set([attacker, subjectOf(attacker)])].map(user), roleRefs: [unreachable], approvals: 1, approvers }),
  ];
}
