/** Operations that create, change and delete User records. */
import type { Caller } from '@atrium/http/caller.ts';
import { type AnswerDescription, compressed, type Operation, operation } from '@atrium/http/operation.ts';
import { sleepUntil } from '@atrium/kubernetes/clock.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { describedPatch, jsonPatchType, patchTypes } from '@atrium/objects/json-patch.ts';
import { deleteOptions, deletionOf, dryRun, warningHeaders, writeQuery } from '@atrium/objects/write-options.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { type Audit, auditOrigin } from '../audit/audit.ts';
import { bulkAnswers, bulkBody, bulkDescription, bulkQuery, bulkResult } from '../collection/bulk-delete.ts';
import type { UsersContext } from './context.ts';
import { UserCreator } from './create.ts';
import { UserDeleter } from './delete.ts';
import { type PatchRequest, UserPatcher } from './patch.ts';
import { userName, userSchema } from './record/schema.ts';
import { servedText } from './row.ts';
import { newUserBody, userPatchBody } from './user-body.ts';

/** Creates a new session for users who have changed their own password, because the change has ended the old one. */
export type KeepSession = (ctx: Context, caller: Caller, signal: AbortSignal) => Promise<unknown>;

const tag = 'users';

const forbidden: AnswerDescription = {
  description: 'RBAC denies it, the caller would gain rights of another user, or an access token would set a password.',
};

export const writeOperations = (context: UsersContext, keepSession: KeepSession): Operation[] => [
  createOperation(context),
  patchOperation(context, keepSession),
];

function createOperation(context: UsersContext): Operation {
  const creator = new UserCreator(context);
  const { audit, basePath } = context.services;
  return operation({
    id: 'CreateUser',
    method: 'POST',
    paths: ['/auth/v1/users'],
    tag,
    summary: 'Creates a local user, who can log in at once',
    credential: 'required',
    query: writeQuery,
    body: z.unknown(),
    described: { body: { 'application/json': newUserBody } },
    answers: {
      201: {
        description: 'The user.',
        content: { 'application/json': userSchema },
        headers: { Location: 'Path of the user.', ETag: 'The resource version.' },
      },
      403: forbidden,
      409: { description: 'A user with this e-mail address exists. Case is ignored.' },
      422: { description: 'The object is invalid. Causes name every violation.' },
    },
    async handle({ ctx, caller, query: { dryRun, fieldValidation }, body, signal }) {
      const isDryRun = dryRun !== undefined;
      const { user, warnings } = await creator.create({ body, isDryRun, fieldValidation }, caller, signal);
      const { name } = user.metadata;
      if (!isDryRun) audit.recordWrite(ctx, caller, { audit: 'UserCreated', target: user.metadata, code: 201 });
      ctx.status = 201;
      ctx.set('Location', `${basePath}/auth/v1/users/${name}`);
      sendUser(ctx, user, warnings);
    },
  });
}

function patchOperation(context: UsersContext, keepSession: KeepSession): Operation {
  const patcher = new UserPatcher(context);
  const { audit } = context.services;
  return operation({
    id: 'PatchUser',
    method: 'PATCH',
    paths: ['/auth/v1/users/:name'],
    tag,
    summary: 'Changes a user: the own display name and password, or any field with the right to patch users',
    description:
      'A JSON Patch may add, replace and test. A new password and disabling end the sessions and tokens of the user. Users who change their own password keep their session.',
    credential: 'required',
    openToPasswordDue: true,
    params: z.object({ name: userName }),
    query: writeQuery,
    bodyTypes: patchTypes,
    body: z.unknown(),
    described: {
      headers: { 'If-Match': 'ETag of the expected version. Another version is a conflict.' },
      body: describedPatch(userPatchBody, [{ op: 'replace', path: '/spec/username', value: 'Jane Roe' }]),
    },
    answers: {
      200: { description: 'The user.', content: { 'application/json': userSchema }, headers: { ETag: 'The resource version.' } },
      403: forbidden,
      404: { description: 'The user does not exist.' },
      409: { description: 'The version differs from the expected one, or the user is the last administrator.' },
      422: { description: 'The object is invalid. Causes name every violation.' },
    },
    async handle({ ctx, caller, params: { name }, query: { dryRun, fieldValidation }, body, signal }) {
      const ifMatch = ctx.get('If-Match') || undefined;
      const isJsonPatch = ctx.is(jsonPatchType) !== false;
      const onWritten: PatchRequest['onWritten'] = (written, target) =>
        audit.recordWrite(ctx, caller, { audit: written, target, code: 200 });
      const asked = {
        name,
        body,
        isJsonPatch,
        ifMatch,
        isDryRun: dryRun !== undefined,
        fieldValidation,
        origin: auditOrigin(ctx),
        onWritten,
      };
      const { user, warnings, isOwnPassword } = await patcher.patch(asked, caller, signal);
      if (isOwnPassword) await keepSession(ctx, caller, signal);
      sendUser(ctx, user, warnings);
    },
  });
}

/** Answers with the User without secret members. */
function sendUser(ctx: Context, user: KubernetesObject, warnings: readonly string[] = []): void {
  if (warnings.length > 0) ctx.set('Warning', warningHeaders(warnings));
  ctx.set('ETag', `"${user.metadata.resourceVersion}"`);
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = servedText(user);
}

/** Bound of concurrent deletions. Most of them wait for a write that removes many members from a group. */
const deletedAtOnce = 40;

const resultKind = 'UserDeleteResult';

const deletionForbidden: AnswerDescription = { description: 'RBAC denies it, or the user is the caller.' };

export function deleteOperations(context: UsersContext): Operation[] {
  const deleter = new UserDeleter(context);
  return [deleteOne(context, deleter), deleteMany(context, deleter)];
}

const deleteOne = ({ services: { audit, now } }: UsersContext, deleter: UserDeleter) =>
  operation({
    id: 'DeleteUser',
    method: 'DELETE',
    paths: ['/auth/v1/users/:name'],
    tag,
    summary: 'Deletes a user with sessions, tokens, password and memberships',
    description:
      'Role bindings that name the user stay, and a warning reports their number. A later user of that name would gain their roles.',
    credential: 'required',
    params: z.object({ name: userName }),
    query: z.object({ dryRun }),
    body: deleteOptions,
    answers: {
      204: { description: 'Gone.', headers: { Warning: 'Number of role bindings that still name the user.' } },
      403: deletionForbidden,
      404: { description: 'The user does not exist.' },
      409: { description: 'The user is the last administrator, or does not match the preconditions.' },
    },
    async handle({ ctx, caller, params: { name }, query, body, signal }) {
      const { isDryRun, preconditions } = deletionOf(query, body);
      const deleted = await deleter.delete({ name, preconditions, isDryRun, asCaller: true }, caller, signal);
      if (!isDryRun) record(audit, ctx, caller, { name, uid: deleted.uid });
      if (!isDryRun) await sleepUntil(deleter.settledAt, now, signal);
      if (deleted.leftBindings > 0)
        ctx.append('Warning', `299 - "${deleted.leftBindings} role bindings still name this user: a later user of the name gets them"`);
      ctx.status = 204;
    },
  });

function deleteMany({ services: { audit, now }, users }: UsersContext, deleter: UserDeleter): Operation {
  const bulkDeleter = users.bulkDeleter({ deleter, uidOf: ({ account }) => account.uid, atOnce: deletedAtOnce });
  return operation({
    id: 'DeleteUsers',
    method: 'DELETE',
    paths: ['/auth/v1/users'],
    tag,
    summary: 'Deletes named or selected users',
    description: bulkDescription,
    credential: 'required',
    before: [compressed],
    query: bulkQuery,
    body: bulkBody,
    answers: bulkAnswers(resultKind),
    async handle(request) {
      const { ctx, caller, signal } = request;
      const items = await bulkDeleter.requested(request, (user) => record(audit, ctx, caller, user));
      await sleepUntil(deleter.settledAt, now, signal);
      ctx.body = bulkResult(resultKind, items);
    },
  });
}

function record(audit: Audit, ctx: Context, caller: Caller, target: { name: string; uid: string }): void {
  audit.recordWrite(ctx, caller, { audit: 'UserDeleted', target, code: 204 });
}
