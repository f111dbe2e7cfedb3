import { z } from 'zod';
import type { Person } from './api-server.ts';
import { type ClusterAdmin, eventually, type Manifest } from './cluster-admin.ts';

const apiGroup = 'rbac.authorization.k8s.io';
const rbac = `/apis/${apiGroup}/v1/clusterrolebindings`;

const some = z.array(z.string()).default([]);
const role = z.object({ rules: z.array(z.object({ apiGroups: some, resources: some, resourceNames: some, verbs: some })) });
const review = z.object({ status: z.object({ allowed: z.boolean() }) });

type Attributes = Partial<Record<'verb' | 'group' | 'resource' | 'subresource' | 'name', string | undefined>>;

/**
 * Reports whether the API server authorizes the user, by a SubjectAccessReview. Roles and bindings take effect a moment after they are
 * written.
 */
export async function isAllowed(kubernetes: ClusterAdmin, user: string, resourceAttributes: Attributes): Promise<boolean> {
  const asked = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: { user, resourceAttributes } };
  const { body } = await kubernetes.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', asked);
  return review.parse(body).status.allowed;
}

/** Returns a ClusterRoleBinding of a user or a group. */
export const clusterRoleBinding = (name: string, clusterRole: string, subject: { kind: 'User' | 'Group'; name: string }): Manifest => ({
  apiVersion: `${apiGroup}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup, kind: 'ClusterRole', name: clusterRole },
  subjects: [{ apiGroup, ...subject }],
});

/** Binds a ClusterRole to a person in all namespaces, and waits until the API server authorizes by it. */
export async function grant(kubernetes: ClusterAdmin, person: Person, clusterRole: string): Promise<void> {
  await kubernetes.apply(clusterRoleBinding(`${person}-${clusterRole}`, clusterRole, { kind: 'User', name: person }));
  const { body } = await kubernetes.call('GET', `/apis/${apiGroup}/v1/clusterroles/${clusterRole}`);
  const rule = role.safeParse(body).data?.rules.find(({ resources }) => resources.length > 0);
  if (rule === undefined) return;
  const [resource, subresource] = rule.resources[0]?.split('/') ?? [];
  const attributes = { verb: rule.verbs[0], group: rule.apiGroups[0], resource, subresource, name: rule.resourceNames[0] };
  await eventually(() => isAllowed(kubernetes, person, attributes), Boolean);
}

/** Deletes the binding of `grant`. */
export const revoke = (kubernetes: ClusterAdmin, person: Person, clusterRole: string): Promise<void> =>
  kubernetes.remove(`${rbac}/${person}-${clusterRole}`);
