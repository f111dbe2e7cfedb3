import { hash } from 'node:crypto';
import { isReservedName } from '@atrium/kubernetes/impersonation.ts';
import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import { duplicate, type FieldError, forbidden, invalidValue, required } from '@atrium/objects/field-error.ts';
import { labelPattern, subdomainPattern } from '@atrium/objects/labels.ts';
import { byService, conditions, kept, marks, objectMeta, objectName } from '@atrium/objects/object-schemas.ts';
import { partsOf, reader } from '@atrium/objects/reader.ts';
import { z } from 'zod';

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

const maxSubjects = 100;
const maxPlaces = 100;

const text = (max: number) => z.string().min(1, 'must not be empty').max(max, `may not be longer than ${max} characters`);
const dnsLabel = text(63).regex(labelPattern, 'must be a DNS label: lower-case letters, digits and -');
const labelValue = text(63).regex(/^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/, 'must be a label value: letters, digits, -, _ and .');
const notTime = 'must be a time such as 2026-12-31T23:59:59Z (RFC 3339)';

const givenSubject = z.strictObject({
  kind: z.enum(['User', 'Group']),
  name: text(512)
    .refine((name) => !isReservedName(name), 'names that begin with system: belong to Kubernetes')
    .describe('Name of a User record or a Group, or a name as Kubernetes sees it. Records and Groups take precedence.'),
});

const place = z.strictObject({
  cluster: z.string().max(253, 'may not be longer than 253 characters').optional().describe('Stored and not used.'),
  project: labelValue.optional().describe('Selects namespaces whose label console.platform.io/project has this value.'),
  namespace: dnsLabel.optional(),
});

/** Format of times in the custom resource definition. */
const timeForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;
const givenTime = z.string().refine((text) => timeForm.test(text) && !Number.isNaN(Date.parse(text)), notTime);

/** A UserBinding to create. Known fields that may not be set are forbidden; other fields are unknown. */
export const newBindingBody = z
  .strictObject({
    apiVersion: z.literal(userBindingApiVersion).optional(),
    kind: z.literal('UserBinding').optional(),
    metadata: z
      .strictObject({
        name: objectName.optional().describe('Optional. Default: a generated name.'),
        generateName: z
          .string()
          .max(240, 'may not be longer than 240 characters')
          .regex(/^[a-z0-9][-a-z0-9.]*$/, 'must be the beginning of a DNS subdomain')
          .optional()
          .describe('Prefix of a generated name. Default: `binding-`.'),
        labels: marks(z.string()).optional(),
        annotations: marks(z.string()).optional(),
        namespace: kept('a UserBinding has no namespace'),
        ownerReferences: kept('a UserBinding has no owner'),
        finalizers: kept(byService),
        uid: kept(byService),
        resourceVersion: kept('must not be set when an object is created'),
        creationTimestamp: z.null(byService).optional(),
      })
      .optional(),
    spec: z.strictObject({
      subjects: z
        .array(givenSubject)
        .min(1, 'must hold at least one subject')
        .max(maxSubjects, `may not hold more than ${maxSubjects} subjects`)
        .describe(`Subjects of the role: 1 to ${maxSubjects}, without duplicates.`),
      roleRef: text(253).describe('Name of a ClusterRole. Requires the right to bind it.'),
      scope: z.enum(['platform', 'project', 'namespace']).describe('Scope: the cluster, the namespaces of projects, or single namespaces.'),
      request: kept('is set by the service, for access requests'),
      notBefore: givenTime.optional().describe('Start of the role. Default: now.'),
      expiresAt: givenTime.optional().describe('End of the role. Default: never. The UserBinding stays.'),
      constraint: z
        .array(place)
        .max(maxPlaces, `may not hold more than ${maxPlaces} places`)
        .optional()
        .describe('Projects or namespaces, for the scopes `project` and `namespace`.'),
    }),
    status: kept(byService),
  })
  .meta({
    examples: [
      {
        apiVersion: userBindingApiVersion,
        kind: 'UserBinding',
        metadata: { name: 'jane-edit-shop' },
        spec: {
          subjects: [{ kind: 'User', name: 'jane@example.com' }],
          roleRef: 'edit',
          scope: 'namespace',
          constraint: [{ namespace: 'shop' }],
        },
      },
    ],
  });

export type NewBinding = z.output<typeof newBindingBody>;

/** Reads an item of a list unchanged. */
const readItem = reader(z.object({ item: z.looseObject({}) }));

/** Checks the rules of the custom resource definition that span several members. */
export function bindingErrors(body: unknown): FieldError[] {
  const { spec = {} } = partsOf(body);
  return [...subjectErrors(spec.subjects), ...constraintErrors(spec), ...timeErrors(spec)];
}

function subjectErrors(subjects: unknown): FieldError[] {
  const seen = new Set<string>();
  return (Array.isArray(subjects) ? subjects : []).flatMap((one: unknown, index) => {
    const { item } = readItem({ item: one });
    if (item === undefined) return [];
    const key = `${item.kind} ${item.name}`;
    if (seen.has(key)) return [duplicate(`spec.subjects[${index}]`, item)];
    seen.add(key);
    return [];
  });
}

function timeErrors({ notBefore, expiresAt }: Record<string, unknown>): FieldError[] {
  const isTurned = Date.parse(String(notBefore)) >= Date.parse(String(expiresAt));
  return isTurned ? [invalidValue('spec.notBefore', notBefore, 'must be before spec.expiresAt')] : [];
}

function constraintErrors({ scope, constraint }: Record<string, unknown>): FieldError[] {
  const places: unknown[] = Array.isArray(constraint) ? constraint : [];
  if (scope === 'platform') return places.length > 0 ? [forbidden('spec.constraint', 'a binding for the platform has no constraint')] : [];
  if (scope !== 'namespace' && scope !== 'project') return [];
  if (constraint === undefined || (Array.isArray(constraint) && places.length === 0))
    return [required('spec.constraint', `a binding of scope ${scope} names each ${scope} in it`)];
  return places.flatMap((one, index) => {
    const { item } = readItem({ item: one });
    return item && item[scope] === undefined ? [required(`spec.constraint[${index}].${scope}`)] : [];
  });
}
