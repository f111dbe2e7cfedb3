/** Operations that delete User records, one or many. */
import type { Context } from 'koa';
import { z } from 'zod';
import { deleteOptions, deletionOf, dryRun } from '../api/write-options.ts';
import { bulkBody, bulkQuery, bulkResult, bulkResultSchema, selectionOf } from '../collection/bulk-delete.ts';
import { type Audit, auditCaller } from '../http/audit.ts';
import { type AnswerDescription, type Caller, compressed, type Operation, operation } from '../http/operation.ts';
import type { UsersContext } from './context.ts';
import { UserDeleter } from './delete.ts';
import { userName } from './record/schema.ts';

/** Bound of concurrent deletions. Most of them wait for a write that removes many members from a group. */
const deletedAtOnce = 40;

const tag = 'users';

const resultKind = 'UserDeleteResult';
const deleteResult = bulkResultSchema(resultKind);

const forbidden: AnswerDescription = { description: 'RBAC denies it, or the user is the caller.' };

export function deleteOperations(context: UsersContext): Operation[] {
  const deleter = new UserDeleter(context);
  return [deleteOne(context, deleter), deleteMany(context, deleter)];
}

const deleteOne = ({ services: { audit } }: UsersContext, deleter: UserDeleter) =>
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
      403: forbidden,
      404: { description: 'The user does not exist.' },
      409: { description: 'The user is the last administrator, or does not match the preconditions.' },
    },
    async handle({ ctx, caller, params: { name }, query, body, signal }) {
      const { isDryRun, preconditions } = deletionOf(query, body);
      const deleted = await deleter.delete({ name, preconditions, isDryRun, asCaller: true }, caller, signal);
      if (!isDryRun) record(audit, ctx, caller, { name, uid: deleted.uid });
      if (!isDryRun) await deleter.whenSettled(signal);
      if (deleted.leftBindings > 0)
        ctx.append('Warning', `299 - "${deleted.leftBindings} role bindings still name this user: a later user of the name gets them"`);
      ctx.status = 204;
    },
  });

function deleteMany({ services: { audit }, users }: UsersContext, deleter: UserDeleter): Operation {
  const bulkDeleter = users.bulkDeleter({ deleter, uidOf: ({ account }) => account.uid, atOnce: deletedAtOnce });
  return operation({
    id: 'DeleteUsers',
    method: 'DELETE',
    paths: ['/auth/v1/users'],
    tag,
    summary: 'Deletes named or selected users',
    description:
      'Takes either names or a selector, in body or query. Continues after a failure, and returns a result for each object. Objects that were not reached in time have the result 504.',
    credential: 'required',
    before: [compressed],
    query: bulkQuery,
    body: bulkBody,
    answers: {
      200: { description: 'A result for each object, in the requested order.', content: { 'application/json': deleteResult } },
      403: { description: 'RBAC denies all of them.' },
    },
    async handle({ ctx, caller, query, body, signal }) {
      const deletion = { ...selectionOf(query, body), isDryRun: query.dryRun !== undefined };
      const asking = { signal, leftMs: ctx.state.leftMs() };
      const items = await bulkDeleter.delete(deletion, caller, (user) => record(audit, ctx, caller, user), asking);
      await deleter.whenSettled(signal);
      ctx.body = bulkResult(resultKind, items);
    },
  });
}

function record(audit: Audit, ctx: Context, caller: Caller, target: { name: string; uid: string }): void {
  audit.record({ audit: 'UserDeleted', ...auditCaller(ctx, caller), target, outcome: 'success', code: 204 });
}
