/** Operations that create and change User records. */
import type { Context } from 'koa';
import { z } from 'zod';
import { describedPatch, jsonPatchType, patchTypes } from '../api/json-patch.ts';
import { warningHeaders, writeQuery } from '../api/write-options.ts';
import { auditOrigin, auditWrite } from '../http/audit.ts';
import { type AnswerDescription, type Caller, type Operation, operation } from '../http/operation.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import type { UsersContext } from './context.ts';
import { UserCreator } from './create.ts';
import { UserPatcher } from './patch.ts';
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
      if (!isDryRun) audit.record({ audit: 'UserCreated', ...auditWrite(ctx, caller, user.metadata), code: 201 });
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
      const asked = { name, body, isJsonPatch, ifMatch, isDryRun: dryRun !== undefined, fieldValidation, origin: auditOrigin(ctx) };
      const { user, warnings, password, isUserChanged } = await patcher.patch(asked, caller, signal);
      const event = { ...auditWrite(ctx, caller, user.metadata), code: 200 };
      if (isUserChanged) audit.record({ audit: 'UserPatched', ...event });
      if (password !== undefined) audit.record({ audit: `Password${password}`, ...event });
      if (password === 'Changed') await keepSession(ctx, caller, signal);
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
