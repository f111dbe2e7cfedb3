import type { Person } from './api-server.ts';
import type { ClusterAdmin, Manifest } from './cluster-admin.ts';

const apiGroup = 'rbac.authorization.k8s.io';
const rbac = `/apis/${apiGroup}/v1/clusterrolebindings`;

type Attributes = Partial<Record<'verb' | 'group' | 'resource' | 'subresource' | 'name', string | undefined>>;

/**
 * Reports whether the API server authorizes the user, by a SubjectAccessReview. Roles and bindings take effect a moment after they are
 * written.
 */
export const isAllowed = (kubernetes: ClusterAdmin, user: string, resourceAttributes: Attributes): Promise<boolean> =>
  kubernetes.isAllowed({ user }, resourceAttributes);

/** Returns a ClusterRoleBinding of a user or a group. */
export const clusterRoleBinding = (name: string, clusterRole: string, subject: { kind: 'User' | 'Group'; name: string }): Manifest => ({
  apiVersion: `${apiGroup}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup, kind: 'ClusterRole', name: clusterRole },
  subjects: [{ apiGroup, ...subject }],
});

/** Binds a ClusterRole to a person in all namespaces, and waits until the API server authorizes by it. */
export const grant = (kubernetes: ClusterAdmin, person: Person, clusterRole: string): Promise<void> =>
  kubernetes.apply(clusterRoleBinding(`${person}-${clusterRole}`, clusterRole, { kind: 'User', name: person }));

/** Deletes the binding of `grant`. */
export const revoke = (kubernetes: ClusterAdmin, person: Person, clusterRole: string): Promise<void> =>
  kubernetes.remove(`${rbac}/${person}-${clusterRole}`);
