/** The operations on Groups. Who may see and change them, the API server decides; changes are made with the caller's rights. */
import type { Context } from 'koa';
import { z } from 'zod';
import { describedPatch, jsonPatchType, patchTypes } from '../api/json-patch.ts';
import { badRequest } from '../api/status.ts';
import { warningHeaders } from '../api/warning.ts';
import { deleteOptions, deletionOf, dryRun, writeQuery } from '../api/write-options.ts';
import { sendJson, sendPage } from '../collection/page.ts';
import { listAnswer, listQuery, listSchema } from '../collection/schema.ts';
import { type Audit, auditOrigin } from '../http/audit.ts';
import { type AnswerDescription, type Caller, type Operation, operation } from '../http/operation.ts';
import { groupApiVersion } from '../users/record/local-groups.ts';
import { groupProperties } from './list-properties.ts';
import type { GroupMembers } from './members.ts';
import { servedGroup } from './row.ts';
import { groupName, groupPatchBody, groupSchema, memberNames, membersResult, newGroupBody } from './schema.ts';
import type { GroupService } from './service.ts';
import type { GroupWriter, Written } from './writer.ts';

export interface GroupOperationsOptions {
  service: GroupService;
  writer: GroupWriter;
  members: GroupMembers;
  audit: Audit;
  /** Path below which everything is served, '' or without its last slash. */
  basePath: string;
}

const tag = 'groups';
const json = 'application/json';
const params = z.object({ name: groupName.describe('Name of the Group.') });
const forbidden: AnswerDescription = { description: 'The API server says no; the same whether or not there is such a group.' };
const notFound: AnswerDescription = { description: 'There is no such group.' };
const invalid: AnswerDescription = { description: 'With every violation.' };
const etag = { ETag: 'The resource version.' };
const group: AnswerDescription = { description: 'The group.', content: { [json]: groupSchema }, headers: etag };

export const groupOperations = (options: GroupOperationsOptions): Operation[] => [
  listGroups(options),
  getGroup(options),
  createGroup(options),
  patchGroup(options),
  deleteGroup(options),
  addMembers(options),
  removeMembers(options),
];

const listGroups = ({ service }: GroupOperationsOptions) =>
  operation({
    id: 'ListGroups',
    method: 'GET',
    paths: ['/auth/v1/groups'],
    tag,
    summary: 'Lists groups, filtered, sorted and in pages',
    credential: 'required',
    isCompressed: true,
    query: listQuery(groupProperties),
    answers: {
      200: listAnswer(listSchema(groupSchema, { apiVersion: groupApiVersion, kind: 'GroupList' })),
      403: { description: 'The API server says no.' },
      410: { description: '`continue` is older than an hour.' },
    },
    async handle({ ctx, caller, query, signal }) {
      sendPage(ctx, await service.list(query, caller, signal));
    },
  });

const getGroup = ({ service }: GroupOperationsOptions) =>
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
      const { text, resourceVersion } = await service.get(name, caller, signal);
      ctx.set({ ETag: `"${resourceVersion}"`, 'Cache-Control': 'private, no-cache' });
      sendJson(ctx, text);
    },
  });

const createGroup = ({ writer, audit, basePath }: GroupOperationsOptions) =>
  operation({
    id: 'CreateGroup',
    method: 'POST',
    paths: ['/auth/v1/groups'],
    tag,
    summary: 'Makes a group',
    description: 'With members, the caller must also be allowed to impersonate the group `local:NAME`, since they get what it has.',
    credential: 'required',
    query: writeQuery,
    body: z.unknown(),
    describedBody: { [json]: newGroupBody },
    answers: {
      201: { ...group, headers: { Location: 'Where the group is.', ...etag } },
      403: { description: 'The API server says no.' },
      409: { description: 'There is a group of this name.' },
      422: invalid,
    },
    async handle({ ctx, caller, query, body, signal }) {
      const isDryRun = query.dryRun !== undefined;
      const written = await writer.create({ body, isDryRun, fieldValidation: query.fieldValidation }, caller, signal);
      const { name, uid } = written.group.metadata;
      if (written.isChanged) audit.record({ audit: 'GroupCreated', ...about(ctx, caller, { name, uid }), code: 201 });
      ctx.status = 201;
      ctx.set('Location', `${basePath}/auth/v1/groups/${name}`);
      sendGroup(ctx, written);
    },
  });

const patchGroup = ({ writer, audit }: GroupOperationsOptions) =>
  operation({
    id: 'PatchGroup',
    method: 'PATCH',
    paths: ['/auth/v1/groups/:name'],
    tag,
    summary: 'Changes the texts, labels and annotations of a group',
    description: 'A JSON Patch may add, replace and test. Members have operations of their own, so that no concurrent change is lost.',
    credential: 'required',
    params,
    query: writeQuery,
    describedHeaders: { 'If-Match': 'An ETag: the change is made to that version or not at all.' },
    bodyTypes: patchTypes,
    body: z.unknown(),
    describedBody: describedPatch(groupPatchBody, [{ op: 'replace', path: '/spec/displayName', value: 'On call' }]),
    answers: {
      200: group,
      403: forbidden,
      404: notFound,
      409: { description: 'Another version than the caller has seen.' },
      422: invalid,
    },
    async handle({ ctx, caller, params: { name }, query, body, signal }) {
      const isJsonPatch = ctx.is(jsonPatchType) !== false;
      const ifMatch = ctx.get('If-Match') || undefined;
      const { fieldValidation } = query;
      const asked = { name, body, isJsonPatch, ifMatch, isDryRun: query.dryRun !== undefined, fieldValidation };
      const written = await writer.patch(asked, caller, signal);
      if (written.isChanged) audit.record({ audit: 'GroupPatched', ...about(ctx, caller, written.group.metadata), code: 200 });
      sendGroup(ctx, written);
    },
  });

const deleteGroup = ({ writer, audit }: GroupOperationsOptions) =>
  operation({
    id: 'DeleteGroup',
    method: 'DELETE',
    paths: ['/auth/v1/groups/:name'],
    tag,
    summary: 'Deletes a group: its members lose what is bound to it',
    description: 'Role bindings that name the group `local:NAME` stay: a group of that name that is made again gives them to its members.',
    credential: 'required',
    params,
    query: z.object({ dryRun }),
    body: deleteOptions,
    answers: {
      204: { description: 'Gone.' },
      403: forbidden,
      404: notFound,
      409: { description: 'Another object than the preconditions say.' },
    },
    async handle({ ctx, caller, params: { name }, query, body, signal }) {
      const deletion = deletionOf(query, body);
      const uid = await writer.delete({ name, ...deletion }, caller, signal);
      if (!deletion.isDryRun) audit.record({ audit: 'GroupDeleted', ...about(ctx, caller, { name, uid }), code: 204 });
      ctx.status = 204;
    },
  });

const membersBody = z.strictObject({ names: memberNames }).meta({ examples: [{ names: ['8c87b489ce35cf2e2f39f80e282cb2e8'] }] });

const membersAnswers: Record<number, AnswerDescription> = {
  200: { description: 'What became of each, in the order asked.', content: { [json]: membersResult } },
  403: { description: 'The API server says no to changing the group, or to acting as it; the same whether or not there is one.' },
  404: notFound,
  409: { description: 'Others change the group all the time.' },
  422: { description: 'The members are known by an issuer, or there would be too many.' },
};
const takesImpersonation = 'Members get what the group has, so the caller must also be allowed to impersonate the group `local:NAME`.';

const addMembers = (options: GroupOperationsOptions) =>
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
      changeMembers(options, { ctx, caller, signal, group: name, names: body.names, action: 'add', isDryRun: query.dryRun !== undefined }),
  });

const removeMembers = (options: GroupOperationsOptions) =>
  operation({
    id: 'RemoveGroupMembers',
    method: 'DELETE',
    paths: ['/auth/v1/groups/:name/members'],
    tag,
    summary: 'Takes users out of a local group',
    description: `${takesImpersonation} A token that was issued before keeps the group until it expires.`,
    credential: 'required',
    params,
    query: z.object({ dryRun, names: z.array(z.string()).optional().describe('As in the body; repeated, or with commas.') }),
    body: membersBody.optional(),
    answers: membersAnswers,
    handle({ ctx, caller, params: { name }, query, body, signal }) {
      const inQuery = query.names?.flatMap((text) => text.split(','));
      const names = body?.names ?? inQuery;
      if (names === undefined || (body !== undefined && inQuery !== undefined)) throw badRequest('give names in the body or in the query');
      return changeMembers(options, { ctx, caller, signal, group: name, names, action: 'remove', isDryRun: query.dryRun !== undefined });
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

/** As many as a line of the audit trail names. */
const maxAudited = 100;

async function changeMembers({ members, audit }: GroupOperationsOptions, { ctx, caller, signal, ...request }: MembersRequest) {
  const { uid, items, changed } = await members.change(request, caller, signal);
  const { length } = changed;
  const [added, removed] = request.action === 'add' ? [length, 0] : [0, length];
  if (length > 0)
    audit.record({
      audit: 'GroupMembersChanged',
      ...about(ctx, caller, { name: request.group, uid }),
      code: 200,
      members: { added, removed, names: changed.slice(0, maxAudited) },
    });
  const succeeded = items.filter(({ status }) => status === 'Success').length;
  const result = { total: items.length, succeeded, failed: items.length - succeeded, items };
  ctx.body = { apiVersion: groupApiVersion, kind: 'GroupMembersResult', ...result };
}

const about = (ctx: Context, { identity }: Caller, { name, uid }: { name: string; uid: string }) =>
  ({
    ...auditOrigin(ctx),
    actor: { name: identity.name, uid: identity.uid },
    target: { name, uid, kind: 'Group' },
    outcome: 'success',
  }) as const;

function sendGroup(ctx: Context, { group, warnings }: Written): void {
  if (warnings.length > 0) ctx.set('Warning', warningHeaders(warnings));
  ctx.set('ETag', `"${group.metadata.resourceVersion}"`);
  ctx.body = servedGroup(group);
}
