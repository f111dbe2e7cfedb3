/** Operations on the members of Groups. The others are the standard ones (`definition.ts`). */
import type { Caller } from '@atrium/http/caller.ts';
import { type AnswerDescription, type Operation, operation } from '@atrium/http/operation.ts';
import { badRequest } from '@atrium/objects/status.ts';
import { dryRun } from '@atrium/objects/write-options.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { groupApiVersion } from '../users/record/local-groups.ts';
import { groupName } from './definition.ts';
import { GroupMembers } from './members.ts';
import { memberNames, membersResult } from './schema.ts';
import type { GroupsContext } from './strategy.ts';

const tag = 'groups';
const json = 'application/json';
const params = z.object({ name: groupName });
const notFound: AnswerDescription = { description: 'The group does not exist.' };

export function memberOperations(context: GroupsContext): Operation[] {
  const members = new GroupMembers(context);
  return [addMembers(context, members), removeMembers(context, members)];
}

const membersBody = z.strictObject({ names: memberNames }).meta({ examples: [{ names: ['8c87b489ce35cf2e2f39f80e282cb2e8'] }] });

const membersAnswers: Record<number, AnswerDescription> = {
  200: { description: 'A result for each object, in the requested order.', content: { [json]: membersResult } },
  403: {
    description: 'RBAC denies changing or impersonating the group, also if it does not exist, or an access token would add members.',
  },
  404: notFound,
  409: { description: 'Concurrent changes of the group prevented this one.' },
  422: { description: 'An issuer defines the members, or the group would have too many.' },
};
const takesImpersonation =
  'Members gain the roles of the group, so that the caller also needs the right to impersonate the group `local:NAME`.';

const addMembers = (context: GroupsContext, members: GroupMembers) =>
  operation({
    id: 'AddGroupMembers',
    method: 'POST',
    paths: ['/auth/v1/groups/:name/members'],
    tag,
    summary: 'Adds users to a local group',
    description: takesImpersonation,
    credential: 'required',
    params,
    query: z.object({ dryRun }),
    body: membersBody,
    answers: membersAnswers,
    handle: ({ ctx, caller, params: { name }, query, body, signal }) =>
      changeMembers(context, members, {
        ctx,
        caller,
        signal,
        group: name,
        names: body.names,
        action: 'add',
        isDryRun: query.dryRun !== undefined,
      }),
  });

const removeMembers = (context: GroupsContext, members: GroupMembers) =>
  operation({
    id: 'RemoveGroupMembers',
    method: 'DELETE',
    paths: ['/auth/v1/groups/:name/members'],
    tag,
    summary: 'Removes users from a local group',
    description: `${takesImpersonation} Tokens that were issued before contain the group until they expire.`,
    credential: 'required',
    params,
    query: z.object({ dryRun, names: z.array(z.string()).optional().describe('Names as in the body, repeated or separated by commas.') }),
    body: membersBody.optional(),
    answers: membersAnswers,
    handle({ ctx, caller, params: { name }, query, body, signal }) {
      const inQuery = query.names?.flatMap((text) => text.split(','));
      const names = body?.names ?? inQuery;
      if (names === undefined || (body !== undefined && inQuery !== undefined)) throw badRequest('give names in the body or in the query');
      return changeMembers(context, members, {
        ctx,
        caller,
        signal,
        group: name,
        names,
        action: 'remove',
        isDryRun: query.dryRun !== undefined,
      });
    },
  });

interface MembersRequest {
  ctx: Context;
  caller: Caller;
  signal: AbortSignal;
  group: string;
  names: readonly string[];
  action: 'add' | 'remove';
  isDryRun: boolean;
}

/** Names in an audit event at most. */
const maxAudited = 100;

async function changeMembers({ services }: GroupsContext, members: GroupMembers, { ctx, caller, signal, ...request }: MembersRequest) {
  const { uid, items, changed } = await members.change(request, caller, signal);
  const { length } = changed;
  const [added, removed] = request.action === 'add' ? [length, 0] : [0, length];
  if (length > 0)
    services.audit.recordWrite(ctx, caller, {
      audit: 'GroupMembersChanged',
      target: { name: request.group, uid },
      code: 200,
      members: { added, removed, names: changed.slice(0, maxAudited) },
    });
  const succeeded = items.filter(({ status }) => status === 'Success').length;
  const result = { total: items.length, succeeded, failed: items.length - succeeded, items };
  ctx.body = { apiVersion: groupApiVersion, kind: 'GroupMembersResult', ...result };
}
