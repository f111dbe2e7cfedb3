import { objectName } from '@atrium/objects/object-schemas.ts';
import type { StandardResource } from '../collection/resource-declaration.ts';
import { type GroupRow, groupProperties } from './row.ts';
import { type GroupPatch, groupKind, groupSchema, type NewGroup } from './schema.ts';
import { type GroupsContext, groupStrategy } from './strategy.ts';

export const groupName = objectName.describe('Name of the Group.');

/** Groups as a resource with the standard operations. */
export const groupDefinition = (context: GroupsContext): StandardResource<GroupRow, NewGroup, GroupPatch> => ({
  kind: groupKind,
  path: '/auth/v1/groups',
  tag: 'groups',
  ids: { one: 'Group', many: 'Groups' },
  nouns: { one: 'group', many: 'groups' },
  name: groupName,
  schema: groupSchema,
  properties: groupProperties,
  strategy: groupStrategy(context),
  get: { summary: 'Shows a group with its members' },
  create: {
    summary: 'Creates a group',
    description: 'With members, requires the right to impersonate the group `local:NAME`, because members gain its roles.',
    answers: { 403: { description: 'RBAC denies it, or an access token would add members.' } },
    audit: 'GroupCreated',
  },
  patch: {
    summary: 'Changes the texts, labels and annotations of a group',
    description:
      'A JSON Patch may add, replace and test. Separate operations add and remove members, so that no concurrent change is lost.',
    audit: 'GroupPatched',
    example: { op: 'replace', path: '/spec/displayName', value: 'On call' },
  },
  delete: {
    summary: 'Deletes a group, whose members lose its roles',
    description: 'Role bindings that name the group `local:NAME` stay. Members of a later group of that name would gain their roles.',
    audit: 'GroupDeleted',
  },
});
