/** Bodies that create and change a Group, and answers. Known fields that may not be set are forbidden. */
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import { conditions, givenTime, kept, shownLabel } from '@atrium/objects/object-schemas.ts';
import { reader } from '@atrium/objects/reader.ts';
import { z } from 'zod';
import { newObjectBody, objectPatchBody, servedObjectSchema } from '../collection/standard-bodies.ts';
import { groupApiVersion, groupResource } from '../users/record/local-groups.ts';

export const groupKind: ResourceKind = { type: groupResource, kind: 'Group' };

/** Bound of the custom resource definition. */
export const maxMembers = 5000;

const displayName = shownLabel(128).describe('Display name.');
const description = shownLabel(256).describe('Purpose of the group.');

const member = z.strictObject({
  name: z.string().min(1, 'must not be empty').max(253, 'may not be longer than 253 characters').describe('Name of a User record.'),
  importTime: givenTime.optional().describe('Time of joining. Default: now.'),
});

const connectorText = z.string().min(1, 'must not be empty').max(63, 'may not be longer than 63 characters');

/** A group to create. */
export const newGroupBody = newObjectBody(
  groupKind,
  'group',
  z
    .strictObject({
      displayName: displayName.optional(),
      description: description.optional(),
      refConnector: z
        .strictObject({ id: connectorText.describe('Id of the connector.'), type: connectorText.describe('Kind of the connector.') })
        .optional()
        .describe('Set for a group that an issuer defines: its members are not stored here.'),
      users: z
        .array(member)
        .max(maxMembers, `may not hold more than ${maxMembers} members`)
        .optional()
        .describe('The first members. Requires the right to impersonate the group.'),
    })
    .default({}),
).meta({
  examples: [
    {
      metadata: { name: 'oncall' },
      spec: { displayName: 'On call', users: [{ name: '8c87b489ce35cf2e2f39f80e282cb2e8' }] },
    },
  ],
});

export type NewGroup = z.output<typeof newGroupBody>;

/** A change of a group. Null deletes a field. */
export const groupPatchBody = objectPatchBody(
  groupKind,
  'group',
  z.strictObject({
    displayName: displayName.nullable().optional(),
    description: description.nullable().optional(),
    refConnector: kept('a group stays local, or of its issuer'),
    users: kept('members are changed by POST and DELETE /auth/v1/groups/{name}/members'),
  }),
).meta({ id: 'GroupPatch' });

export type GroupPatch = z.output<typeof groupPatchBody>;

/** A Group in answers. */
export const groupSchema = servedObjectSchema(
  groupKind,
  z.object({
    displayName: z.string().optional(),
    description: z.string().optional(),
    refConnector: z.object({ id: z.string(), type: z.string() }).optional(),
    users: z.array(z.object({ name: z.string().describe('Name of a User record.'), importTime: z.iso.datetime().optional() })).optional(),
  }),
)
  .extend({
    status: z
      .object({
        memberCount: z.int().optional(),
        members: z
          .array(z.object({ name: z.string(), email: z.string() }))
          .optional()
          .describe('The first 500 members, by the e-mail address or login name of their records.'),
        conditions: conditions.optional(),
        observedGeneration: z.int().optional(),
      })
      .optional(),
  })
  .meta({
    id: 'Group',
    examples: [
      {
        apiVersion: groupApiVersion,
        kind: 'Group',
        metadata: {
          name: 'oncall',
          uid: '5b3c0a44-2f0e-4d0e-8a43-6f8f4f1d1c55',
          resourceVersion: '51930',
          creationTimestamp: '2026-02-02T09:00:00Z',
        },
        spec: {
          displayName: 'On call',
          description: 'The people on duty this week.',
          users: [{ name: '8c87b489ce35cf2e2f39f80e282cb2e8', importTime: '2026-03-01T11:00:00Z' }],
        },
        status: { memberCount: 1, members: [{ name: '8c87b489ce35cf2e2f39f80e282cb2e8', email: 'jane@example.com' }] },
      },
    ],
  });

/** Reads a Group, also an invalid one that was written with kubectl. `setConditions` reads its conditions. */
export const readGroup = reader(groupSchema.pick({ spec: true }).extend({ status: z.object({ memberCount: z.int() }) }));

/** Members to add or remove. The handler checks their number and duplicates. */
export const memberNames = z.array(z.string()).describe(`Names of User records: 1 to ${maxMembers}, without duplicates.`);

const memberItem = z.object({
  name: z.string(),
  status: z.enum(['Success', 'Failure']),
  code: z.int().describe('201: added. 204: removed. 200: already a member. 404: the user does not exist or is not a member.'),
  reason: z.string().optional(),
  message: z.string().optional(),
});

export type MemberItem = z.output<typeof memberItem>;

export const membersResult = z
  .object({
    apiVersion: z.literal(groupApiVersion),
    kind: z.literal('GroupMembersResult'),
    total: z.int(),
    succeeded: z.int(),
    failed: z.int(),
    items: z.array(memberItem),
  })
  .meta({
    id: 'GroupMembersResult',
    examples: [
      {
        apiVersion: groupApiVersion,
        kind: 'GroupMembersResult',
        total: 1,
        succeeded: 1,
        failed: 0,
        items: [{ name: '8c87b489ce35cf2e2f39f80e282cb2e8', status: 'Success', code: 201 }],
      },
    ],
  });

/** An item of `spec.users`. */
export interface Member {
  name: string;
  importTime?: string;
}

/** Returns the members of a local group, without duplicates. */
export function membersOf(object: KubernetesObject): Member[] {
  const members = new Map<string, Member>();
  for (const { name, ...rest } of readGroup(object).spec?.users ?? []) {
    if (name !== undefined && !members.has(name)) members.set(name, { name, ...rest });
  }
  return [...members.values()];
}

/** Reports whether the service stores the members, rather than an issuer. */
export const isLocalGroup = (object: KubernetesObject): boolean => readGroup(object).spec?.refConnector === undefined;
