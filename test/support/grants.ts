import type { Person } from './api-server.ts';
import type { ClusterAdmin } from './cluster-admin.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';

/** Binds a ClusterRole to a person, everywhere. */
export const grant = (kubernetes: ClusterAdmin, person: Person, clusterRole: string): Promise<void> =>
  kubernetes.apply({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: `${person}-${clusterRole}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: clusterRole },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: person }],
  });

/** Takes it back. */
export const revoke = (kubernetes: ClusterAdmin, person: Person, clusterRole: string): Promise<void> =>
  kubernetes.remove(`${rbac}/${person}-${clusterRole}`);
