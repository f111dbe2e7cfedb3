import { z } from 'zod';
import type { ClusterAdmin } from '../../support/cluster-admin.ts';
import type { TokenHolder } from './installation.ts';

/** Where all of them work. */
export const namespace = 'shared';
export const resources = ['configmaps', 'secrets', 'pods', 'services', 'events', 'endpoints', 'podtemplates', 'limitranges'] as const;

/** Who may `get` which of `resources`: no two may the same. */
const rights: Record<TokenHolder, string> = {
  alice: '10110010',
  bob: '01101001',
  carol: '11000111',
  dave: '00011100',
  erin: '10101101',
};

/** Whether that person may get the n-th of `resources`. */
export const may = (person: TokenHolder, n: number): boolean => rights[person][n] === '1';

const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { namespace } };

/** Gives the people their rights, by ordinary roles and bindings. */
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

/** Body of a review: may I get this? */
export const question = (attributes: { resource: string; group?: string; verb?: string; namespace?: string; name?: string }) => ({
  spec: { resourceAttributes: { verb: 'get', ...attributes } },
});

const reviewed = z.object({ kind: z.literal('SelfSubjectAccessReview'), status: z.object({ allowed: z.boolean() }) });

/** What a review said. @throws ZodError for anything else than a review */
export const isAllowed = (text: string): boolean => reviewed.parse(JSON.parse(text)).status.allowed;
