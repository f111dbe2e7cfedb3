/** Operations on Groups. The API server decides who may see and change them; changes are made with the caller's rights. */

import type { Context } from 'koa';
import { z } from 'zod';
import { describedPatch, jsonPatchType, patchTypes } from '../api/json-patch.ts';
import { objectName } from '../api/object-schemas.ts';
import { badRequest } from '../api/status.ts';
import { deleteOptions, deletionOf, dryRun, warningHeaders, writeQuery } from '../api/write-options.ts';
import { sendJson, sendPage } from '../collection/page.ts';
import { listAnswer, listQuery, listSchema } from '../collection/schema.ts';
import { auditWrite } from '../http/audit.ts';
import { type AnswerDescription, type Caller, compressed, type Operation, operation } from '../http/operation.ts';
import { groupApiVersion } from '../users/record/local-groups.ts';
import { GroupMembers } from './members.ts';
import { groupProperties, servedGroup } from './row.ts';
import { groupPatchBody, groupSchema, memberNames, membersResult, newGroupBody } from './schema.ts';
import { createGroup, deleteGroup, type GroupsContext, patchGroup, requireGroupRight, type Written } from './writer.ts';

const tag = 'groups';
const json = 'application/json';
const params = z.object({ name: objectName.describe('Name of the Group.') });
const forbidden: AnswerDescription = { description: 'RBAC denies it, also if the group does not exist.' };
const notFound: AnswerDescription = { description: 'The group does not exist.' };
const invalid: AnswerDescription = { description: 'The object is invalid. Causes name every violation.' };
const etag = { ETag: 'The resource version.' };
const group: AnswerDescription = { description: 'The group.', content: { [json]: groupSchema }, headers: etag };

export function groupOperations(context: GroupsContext): Operation[] {
  const members = new GroupMembers(context);
  return [
    listOperation(context),
    getOperation(context),
    createOperation(context),
    patchOperation(context),
    deleteOperation(context),
    addMembers(context, members),
    removeMembers(context, members),
  ];
}

const listOperation = (context: GroupsContext) =>
  operation({
    id: 'ListGroups',
    method: 'GET',
    paths: ['/auth/v1/groups'],
    tag,
    summary: 'Lists groups, filtered, sorted and in pages',
    credential: 'required',
    before: [compressed],
    query: listQuery(groupProperties),
    answers: {
      200: listAnswer(listSchema(groupSchema, { apiVersion: groupApiVersion, kind: 'GroupList' })),
      403: { description: 'RBAC denies it.' },
      410: { description: '`continue` is older than an hour.' },
    },
    async handle({ ctx, caller, query, signal }) {
      await requireGroupRight(context, caller, 'list', undefined, signal);
      sendPage(ctx, await context.groups.lister.list(query, signal));
    },
  });

const getOperation = (context: GroupsContext) =>
  operation({
    id: 'GetGroup',
    method: 'GET',
    paths: ['/auth/v1/groups/:name'],
    tag,
    summary: 'Shows a group with its members',
    credential: 'required',
    params,
    answers: { 200: group, 403: forbidden, 404: notFound },
    async handle({ ctx, caller, params: { name }, signal }) {
      await requireGroupRight(context, caller, 'get', name, signal);
      const { text, resourceVersion } = await context.groups.get(name, signal);
      ctx.set({ ETag: `"${resourceVersion}"`, 'Cache-Control': 'private, no-cache' });
      sendJson(ctx, text);
    },
  });

const createOperation = (context: GroupsContext) =>
  operation({
    id: 'CreateGroup',
    method: 'POST',
    paths: ['/auth/v1/groups'],
    tag,
    summary: 'Creates a group',
    description: 'With members, requires the right to impersonate the group `local:NAME`, because members gain its roles.',
    credential: 'required',
    query: writeQuery,
    body: z.unknown(),
    described: { body: { [json]: newGroupBody } },
    answers: {
      201: { ...group, headers: { Location: 'Path of the group.', ...etag } },
      403: { description: 'RBAC denies it, or an access token would add members.' },
      409: { description: 'A group of this name exists.' },
      422: invalid,
    },
    async handle({ ctx, caller, query, body, signal }) {
      const isDryRun = query.dryRun !== undefined;
      const written = await createGroup(context, { body, isDryRun, fieldValidation: query.fieldValidation }, caller, signal);
      const { name, uid } = written.group.metadata;
      if (written.isChanged) context.services.audit.record({ audit: 'GroupCreated', ...auditWrite(ctx, caller, { name, uid }), code: 201 });
      ctx.status = 201;
      ctx.set('Location', `${context.services.basePath}/auth/v1/groups/${name}`);
      sendGroup(ctx, written);
    },
  });

const patchOperation = (context: GroupsContext) =>
  operation({
    id: 'PatchGroup',
    method: 'PATCH',
    paths: ['/auth/v1/groups/:name'],
    tag,
    summary: 'Changes the texts, labels and annotations of a group',
    description:
      'A JSON Patch may add, replace and test. Separate operations add and remove members, so that no concurrent change is lost.',
    credential: 'required',
    params,
    query: writeQuery,
    bodyTypes: patchTypes,
    body: z.unknown(),
    described: {
      headers: { 'If-Match': 'ETag of the expected version. Another version is a conflict.' },
      body: describedPatch(groupPatchBody, [{ op: 'replace', path: '/spec/displayName', value: 'On call' }]),
    },
    answers: {
      200: group,
      403: forbidden,
      404: notFound,
      409: { description: 'The version differs from the expected one.' },
      422: invalid,
    },
    async handle({ ctx, caller, params: { name }, query, body, signal }) {
      const isJsonPatch = ctx.is(jsonPatchType) !== false;
      const ifMatch = ctx.get('If-Match') || undefined;
      const { fieldValidation } = query;
      const asked = { name, body, isJsonPatch, ifMatch, isDryRun: query.dryRun !== undefined, fieldValidation };
      const written = await patchGroup(context, asked, caller, signal);
      if (written.isChanged)
        context.services.audit.record({ audit: 'GroupPatched', ...auditWrite(ctx, caller, written.group.metadata), code: 200 });
      sendGroup(ctx, written);
    },
  });

const deleteOperation = (context: GroupsContext) =>
  operation({
    id: 'DeleteGroup',
    method: 'DELETE',
    paths: ['/auth/v1/groups/:name'],
    tag,
    summary: 'Deletes a group, whose members lose its roles',
    description: 'Role bindings that name the group `local:NAME` stay. Members of a later group of that name would gain their roles.',
    credential: 'required',
    params,
    query: z.object({ dryRun }),
    body: deleteOptions,
    answers: {
      204: { description: 'Gone.' },
      403: forbidden,
      404: notFound,
      409: { description: 'The object does not match the preconditions.' },
    },
    async handle({ ctx, caller, params: { name }, query, body, signal }) {
      const deletion = deletionOf(query, body);
      const uid = await deleteGroup(context, { name, ...deletion }, caller, signal);
      if (!deletion.isDryRun)
        context.services.audit.record({ audit: 'GroupDeleted', ...auditWrite(ctx, caller, { name, uid }), code: 204 });
      ctx.status = 204;
    },
  });

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
    services.audit.record({
      audit: 'GroupMembersChanged',
      ...auditWrite(ctx, caller, { name: request.group, uid }),
      code: 200,
      members: { added, removed, names: changed.slice(0, maxAudited) },
    });
  const succeeded = items.filter(({ status }) => status === 'Success').length;
  const result = { total: items.length, succeeded, failed: items.length - succeeded, items };
  ctx.body = { apiVersion: groupApiVersion, kind: 'GroupMembersResult', ...result };
}

function sendGroup(ctx: Context, { group, warnings }: Written): void {
  if (warnings.length > 0) ctx.set('Warning', warningHeaders(warnings));
  ctx.set('ETag', `"${group.metadata.resourceVersion}"`);
  ctx.body = servedGroup(group);
}
