import type { Person } from './api-server.ts';
import type { ClusterAdmin, Manifest } from './cluster-admin.ts';

const apiGroup = 'rbac.authorization.k8s.io';
const rbac = `/apis/${apiGroup}/v1/clusterrolebindings`;

/** The manifest that binds a ClusterRole to a user or a group, everywhere. */
export const clusterRoleBinding = (name: string, clusterRole: string, subject: { kind: 'User' | 'Group'; name: string }): Manifest => ({
  apiVersion: `${apiGroup}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup, kind: 'ClusterRole', name: clusterRole },
  subjects: [{ apiGroup, ...subject }],
});

/** Binds a ClusterRole to a person, everywhere. */
export const grant = (kubernetes: ClusterAdmin, person: Person, clusterRole: string): Promise<void> =>
  kubernetes.apply(clusterRoleBinding(`${person}-${clusterRole}`, clusterRole, { kind: 'User', name: person }));

/** Takes it back. */
export const revoke = (kubernetes: ClusterAdmin, person: Person, clusterRole: string): Promise<void> =>
  kubernetes.remove(`${rbac}/${person}-${clusterRole}`);
