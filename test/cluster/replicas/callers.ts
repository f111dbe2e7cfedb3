import { z } from 'zod';
import type { ClusterAdmin } from '../../support/cluster-admin.ts';
import type { TokenHolder } from './installation.ts';

/** Namespace of all callers. */
export const namespace = 'shared';
export const resources = ['configmaps', 'secrets', 'pods', 'services', 'events', 'endpoints', 'podtemplates', 'limitranges'] as const;

/** Flags for `get` on each of `resources`. All callers have different rights. */
const rights: Record<TokenHolder, string> = {
  alice: '10110010',
  bob: '01101001',
  carol: '11000111',
  dave: '00011100',
  erin: '10101101',
};

/** Reports whether a caller may get the n-th of `resources`. */
export const may = (person: TokenHolder, n: number): boolean => rights[person][n] === '1';

const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { namespace } };

/** Grants the callers their rights, by Roles and RoleBindings. */
export async function grantRights(admin: ClusterAdmin): Promise<void> {
  await admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  for (const [person, allowed] of Object.entries(rights)) {
    const metadata = { name: person, namespace };
    const rules = [{ apiGroups: [''], resources: resources.filter((_resource, n) => allowed[n] === '1'), verbs: ['get'] }];
    await admin.apply({ ...role, kind: 'Role', metadata, rules });
    await admin.apply({
      ...role,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: person },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: person }],
    });
  }
}

/** Path of an access review. */
export const reviews = '/auth/v1/selfsubjectaccessreviews';

/** Returns the body of an access review, by default for `get`. */
export const question = (attributes: { resource: string; group?: string; verb?: string; namespace?: string; name?: string }) => ({
  spec: { resourceAttributes: { verb: 'get', ...attributes } },
});

const reviewed = z.object({ kind: z.literal('SelfSubjectAccessReview'), status: z.object({ allowed: z.boolean() }) });

/** Returns the verdict of a review. @throws ZodError for text that is no review */
export const isAllowed = (text: string): boolean => reviewed.parse(JSON.parse(text)).status.allowed;
