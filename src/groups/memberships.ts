import { z } from 'zod';
import { badParameter } from '../api/status.ts';
import { type Operation, operation } from '../http/operation.ts';
import { compressed } from '../http/preparations.ts';
import { groupApiVersion, type LocalGroupLookup, requireCurrentGroups } from '../users/record/local-groups.ts';
import { type GroupsContext, requireGroupRight } from './rights.ts';

/** Bounds the length of the address: names of generated records have 32 characters. */
const maxNames = 100;

const membershipList = z
  .object({
    apiVersion: z.literal(groupApiVersion),
    kind: z.literal('MembershipList'),
    metadata: z.object({}),
    items: z.array(
      z.object({
        name: z.string().describe('Name of the User record.'),
        groups: z.array(z.string()).describe('Its local groups as Kubernetes sees them, sorted.'),
      }),
    ),
  })
  .meta({
    id: 'MembershipList',
    examples: [
      {
        ...{ apiVersion: groupApiVersion, kind: 'MembershipList', metadata: {} },
        items: [{ name: '8c87b489ce35cf2e2f39f80e282cb2e8', groups: ['local:dev'] }],
      },
    ],
  });

/** Creates the operation that lists the local groups of many users, from the index that issues tokens. */
export const listMemberships = (context: GroupsContext, localGroups: LocalGroupLookup): Operation =>
  operation({
    id: 'ListMemberships',
    method: 'GET',
    paths: ['/auth/v1/memberships'],
    tag: 'groups',
    summary: 'Lists the local groups of users, for callers who may list groups',
    credential: 'required',
    before: [compressed],
    query: z.object({ names: z.array(z.string()).describe(`Names of User records, 1-${maxNames}; repeated, or with commas.`) }),
    answers: {
      200: {
        description: 'One item for each name, in the order asked. A user without local groups, and a name without a record, has none.',
        content: { 'application/json': membershipList },
      },
      403: { description: 'The API server says no.' },
    },
    async handle({ ctx, caller, query, signal }) {
      await requireGroupRight(context, caller, 'list', undefined, signal);
      const names = [...new Set(query.names.flatMap((text) => text.split(',')))].filter((name) => name !== '');
      if (names.length === 0) throw badParameter('names', 'must hold at least one name', 'FieldValueRequired');
      if (names.length > maxNames) throw badParameter('names', `must hold at most ${maxNames} names`, 'FieldValueTooMany');
      requireCurrentGroups(localGroups);
      const items = names.map((name) => ({ name, groups: localGroups.of(name) }));
      ctx.body = { apiVersion: groupApiVersion, kind: 'MembershipList', metadata: {}, items };
    },
  });
