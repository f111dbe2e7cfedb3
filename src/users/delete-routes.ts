/** Deleting User records, one or many. */
import type { Context } from 'koa';
import { z } from 'zod';
import { type Audit, auditOrigin } from '../http/audit.ts';
import { type AnswerDescription, type Caller, type Operation, operation } from '../http/operation.ts';
import { badRequest } from '../http/status.ts';
import type { BulkDeleter } from './bulk-delete.ts';
import type { UserDeleter } from './delete.ts';
import { userName } from './resource.ts';

export interface DeleteOperationsOptions {
  deleter: UserDeleter;
  bulkDeleter: BulkDeleter;
  audit: Audit;
}

const tag = 'users';

const dryRun = z.enum(['All'], 'must be All').optional().describe('Everything is checked and nothing changes.');

/** @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/ */
const deleteOptions = z
  .looseObject({
    preconditions: z.object({ uid: z.string().nullish(), resourceVersion: z.string().nullish() }).nullish(),
    dryRun: z.array(z.literal('All')).nullish(),
  })
  .optional();

const names = z.array(z.string()).describe('1-500 names, each once.');
const selector = (kind: string) => z.string().describe(`Kubernetes ${kind} selector.`);

const bulkBody = z
  .strictObject({
    names: names.optional(),
    labelSelector: selector('label').optional(),
    fieldSelector: selector('field').optional(),
  })
  .optional();

const bulkQuery = z.object({
  dryRun,
  names: z.array(z.string()).optional().describe('As in the body; repeated, or with commas.'),
  labelSelector: selector('label').optional(),
  fieldSelector: selector('field').optional(),
});

const item = z.object({
  name: z.string(),
  status: z.enum(['Success', 'Failure']),
  code: z.int(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

const deleteResult = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('UserDeleteResult'),
    total: z.int(),
    succeeded: z.int(),
    failed: z.int(),
    items: z.array(item),
  })
  .meta({ id: 'UserDeleteResult' });

const forbidden: AnswerDescription = { description: 'The API server says no; nobody deletes their own account.' };

export const deleteOperations = (options: DeleteOperationsOptions): Operation[] => [deleteOne(options), deleteMany(options)];

const deleteOne = ({ deleter, audit }: DeleteOperationsOptions) =>
  operation({
    id: 'DeleteUser',
    method: 'DELETE',
    paths: ['/auth/v1/users/:name'],
    tag,
    summary: 'Deletes a user, with the sessions, tokens, password and memberships',
    description: 'Role bindings that name the user stay, and a warning says how many: whoever gets that name again gets them.',
    credential: 'required',
    params: z.object({ name: userName }),
    query: z.object({ dryRun }),
    body: deleteOptions,
    answers: {
      204: { description: 'Gone.', headers: { Warning: 'How many role bindings still name the user.' } },
      403: forbidden,
      404: { description: 'There is no such user.' },
      409: { description: 'The last administrator, or another record than the preconditions say.' },
    },
    async handle({ ctx, caller, params: { name }, query, body, signal }) {
      const isDryRun = query.dryRun !== undefined || (body?.dryRun?.length ?? 0) > 0;
      const { uid, resourceVersion } = body?.preconditions ?? {};
      const preconditions = { uid: uid ?? undefined, resourceVersion: resourceVersion ?? undefined };
      const deleted = await deleter.delete({ name, preconditions, isDryRun, asCaller: true }, caller, signal);
      if (!isDryRun) record(audit, ctx, caller, { name, uid: deleted.uid });
      if (deleted.leftBindings > 0)
        ctx.append('Warning', `299 - "${deleted.leftBindings} role bindings still name this user: whoever gets the name again gets them"`);
      ctx.status = 204;
    },
  });

const deleteMany = ({ bulkDeleter, audit }: DeleteOperationsOptions) =>
  operation({
    id: 'DeleteUsers',
    method: 'DELETE',
    paths: ['/auth/v1/users'],
    tag,
    summary: 'Deletes named or selected users',
    description: 'Exactly one of names and a selector, in body or query. It goes on after a failure, and tells what became of each.',
    credential: 'required',
    query: bulkQuery,
    body: bulkBody,
    answers: {
      200: { description: 'What became of each, in the order asked.', content: { 'application/json': deleteResult } },
      403: { description: 'The API server says no for all of them.' },
    },
    async handle({ ctx, caller, query, body, signal }) {
      const deletion = { ...oneOf(query, body), isDryRun: query.dryRun !== undefined };
      const items = await bulkDeleter.delete(deletion, caller, (user) => record(audit, ctx, caller, user), signal);
      const succeeded = items.filter(({ status }) => status === 'Success').length;
      const result = { total: items.length, succeeded, failed: items.length - succeeded, items };
      ctx.body = { apiVersion: 'auth.platform.io/v1', kind: 'UserDeleteResult', ...result };
    },
  });

interface Selection {
  names?: readonly string[] | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

/** @throws StatusError 400 for none, or more than one */
function oneOf(query: Selection, body: Selection = {}): Selection {
  const queryNames = query.names?.flatMap((text) => text.split(','));
  const inQuery = { ...query, ...(queryNames && { names: queryNames }) };
  const given = [
    ...[inQuery.names, body.names].flatMap((found) => (found === undefined ? [] : [{ names: found }])),
    ...[inQuery, body].flatMap(({ labelSelector, fieldSelector }) =>
      labelSelector === undefined && fieldSelector === undefined ? [] : [{ labelSelector, fieldSelector }],
    ),
  ];
  const [selection, more] = given;
  if (selection === undefined || more !== undefined)
    throw badRequest('name users in names, or select them by labelSelector and fieldSelector: one of the two, in the body or in the query');
  return selection;
}

function record(audit: Audit, ctx: Context, { identity }: Caller, target: { name: string; uid: string }): void {
  const actor = { name: identity.name, uid: identity.uid };
  audit.record({ audit: 'UserDeleted', ...auditOrigin(ctx), actor, target, outcome: 'success', code: 204 });
}
