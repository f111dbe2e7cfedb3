import { hash } from 'node:crypto';
import { z } from 'zod';
import { subdomainPattern } from '../api/labels.ts';
import { conditions, objectMeta } from '../api/object-schemas.ts';
import { reader } from '../api/reader.ts';
import type { ResourceType } from '../kubernetes/resource.ts';
import type { ResourceKind } from '../kubernetes/resource-client.ts';

/** The custom resource UserBinding; deploy/manifests holds its definition. */
export const userBindingResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'userbindings' };

export const userBindingKind: ResourceKind = { type: userBindingResource, kind: 'UserBinding' };

export const userBindingApiVersion = `${userBindingResource.group}/${userBindingResource.version}`;

/** Finalizer that keeps a UserBinding until its managed bindings are deleted. */
export const bindingFinalizer = 'auth.platform.io/userbinding';

/** Key on managed bindings: the annotation holds the UserBinding's name, the label the name or its hash. */
export const bindingLabel = 'auth.platform.io/userbinding';

/** Returns the label value for a name: labels hold 63 characters, names up to 253. */
export const bindingLabelValue = (name: string): string => (name.length <= 63 ? name : hash('sha256', name).slice(0, 40));

export const bindingName = z.string().max(253).regex(subdomainPattern).describe('Name of the UserBinding.');

const subject = z.object({ kind: z.enum(['User', 'Group']), name: z.string() });
const constraint = z.object({ cluster: z.string().optional(), project: z.string().optional(), namespace: z.string().optional() });

const time = z.iso.datetime({ offset: true });

const spec = z.object({
  subjects: z.array(subject),
  roleRef: z.string(),
  scope: z.enum(['platform', 'project', 'namespace']),
  constraint: z.array(constraint).optional(),
  request: z
    .object({ name: z.string(), uid: z.string(), recordUID: z.string() })
    .optional()
    .describe('AccessRequest to which the binding belongs. Set by the service.'),
  notBefore: time.optional().describe('Start of the role.'),
  expiresAt: time.optional().describe('End of the role. The UserBinding stays, in phase Expired.'),
});

const status = z.object({
  phase: z.enum(['Pending', 'Synced', 'Failed', 'Expired']).optional(),
  conditions: conditions.optional(),
  observedGeneration: z.int().optional(),
  subjects: z
    .array(subject.extend({ uid: z.string() }))
    .optional()
    .describe('Bound records and Groups, with their UIDs.'),
  subjectNames: z.array(z.string()).optional().describe('Display names of the subjects: kind and name, or the e-mail address of a user.'),
  bindingsCreated: z.object({ clusterRoleBindings: z.int().optional(), roleBindings: z.int().optional() }).optional(),
});

/** Reads a UserBinding, also an invalid one that was written with kubectl. */
export const readUserBinding = reader(z.object({ spec, status: status.pick({ phase: true, subjects: true }) }));

/** A UserBinding in answers, with the members of the custom resource definition. */
export const userBindingSchema = z
  .object({
    apiVersion: z.literal(userBindingApiVersion),
    kind: z.literal('UserBinding'),
    metadata: objectMeta,
    spec,
    status: status.optional(),
  })
  .meta({
    id: 'UserBinding',
    examples: [
      {
        apiVersion: userBindingApiVersion,
        kind: 'UserBinding',
        metadata: {
          name: 'jane-edit-shop',
          uid: '9a0e5f3c-7b1d-4a53-8a0e-1f2b8f6f5d10',
          resourceVersion: '52011',
          creationTimestamp: '2026-03-01T11:00:00Z',
        },
        spec: {
          subjects: [{ kind: 'User', name: 'jane@example.com' }],
          roleRef: 'edit',
          scope: 'namespace',
          constraint: [{ namespace: 'shop' }],
        },
        status: { phase: 'Synced', subjectNames: ['User jane@example.com'], bindingsCreated: { clusterRoleBindings: 0, roleBindings: 1 } },
      },
    ],
  });
