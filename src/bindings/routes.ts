/**
 * Operations on UserBindings, which grant ClusterRoles to users and groups. Reads come from a watch cache once the API server allows them;
 * writes use the caller's identity. UserBindings can be edited with kubectl. The controller creates the resulting RBAC.
 */
import type { Context } from 'koa';
import { z } from 'zod';
import { deleteOptions, deletionOf, dryRun, warningHeaders, writeQuery } from '../api/write-options.ts';
import { bulkAnswers, bulkBody, bulkDescription, bulkQuery, bulkResult, selectionOf } from '../collection/bulk-delete.ts';
import type { Collection } from '../collection/collection.ts';
import { answerList } from '../collection/lister.ts';
import { sendJson } from '../collection/page.ts';
import { listAnswer, listQuery, listSchema } from '../collection/schema.ts';
import { auditCaller } from '../http/audit.ts';
import { type AnswerDescription, type Caller, compressed, type Operation, operation } from '../http/operation.ts';
import type { Services } from '../services.ts';
import { bindableRoleList, listBindableRoles } from './bindable-roles.ts';
import { bindingProperties, type UserBindingRow, userBindingRow } from './row.ts';
import { bindingName, newBindingBody, userBindingApiVersion, userBindingResource, userBindingSchema } from './schema.ts';
import { createUserBinding, deleteUserBinding } from './writer.ts';

const json = 'application/json';
const tag = 'userbindings';
const resultKind = 'UserBindingDeleteResult';
const forbidden: AnswerDescription = { description: 'RBAC denies it.' };
const absent: AnswerDescription = { description: 'The UserBinding does not exist.' };

type Bindings = Collection<UserBindingRow>;

export const bindingOperations = (services: Services, bindings: Bindings): Operation[] => [
  listOperation(services, bindings),
  listRolesOperation(services),
  createOperation(services, bindings),
  deleteManyOperation(services, bindings),
  getOperation(services, bindings),
  deleteOperation(services, bindings),
];

function listOperation({ access }: Services, { lister }: Bindings) {
  const list = { access, right: Object.freeze({ ...userBindingResource, verb: 'list' }), lister };
  return operation({
    id: 'ListUserBindings',
    method: 'GET',
    paths: ['/auth/v2/userbindings'],
    tag,
    summary: 'Lists UserBindings, filtered, sorted and in pages',
    credential: 'required',
    before: [compressed],
    query: listQuery(bindingProperties),
    answers: {
      200: listAnswer(listSchema(userBindingSchema, { apiVersion: userBindingApiVersion, kind: 'UserBindingList' })),
      403: forbidden,
      410: { description: '`continue` is older than an hour.' },
    },
    handle: (request) => answerList(list, request),
  });
}

const listRolesOperation = (services: Services) =>
  operation({
    id: 'ListBindableRoles',
    method: 'GET',
    paths: ['/auth/v2/bindableroles'],
    tag,
    summary: 'Lists ClusterRoles, and reports which of them UserBindings can name',
    description: 'A role that is not `isBindable` may still work if the service holds all of its rules. A dry run decides.',
    credential: 'required',
    before: [compressed],
    answers: {
      200: { description: 'All ClusterRoles.', content: { [json]: bindableRoleList } },
      403: forbidden,
    },
    async handle({ ctx, caller, signal }) {
      ctx.body = await listBindableRoles(services, caller, signal);
    },
  });

const getOperation = ({ access }: Services, bindings: Bindings) =>
  operation({
    id: 'GetUserBinding',
    method: 'GET',
    paths: ['/auth/v2/userbindings/:name'],
    tag,
    summary: 'Shows a UserBinding with its status',
    credential: 'required',
    params: z.object({ name: bindingName }),
    answers: {
      200: { description: 'The UserBinding.', content: { [json]: userBindingSchema }, headers: { ETag: 'The resource version.' } },
      403: { description: 'RBAC denies it, also if the UserBinding does not exist.' },
      404: absent,
    },
    async handle({ ctx, caller, params: { name }, signal }) {
      await access.require(caller, { ...userBindingResource, verb: 'get', name }, signal);
      const { text, resourceVersion } = await bindings.get(name, signal);
      ctx.set({ ETag: `"${resourceVersion}"`, 'Cache-Control': 'private, no-cache' });
      sendJson(ctx, text);
    },
  });

const createOperation = (services: Services, { cache }: Bindings) =>
  operation({
    id: 'CreateUserBinding',
    method: 'POST',
    paths: ['/auth/v2/userbindings'],
    tag,
    summary: 'Binds a ClusterRole to users and groups, for callers who may bind it',
    description: 'The role takes effect when `status.phase` becomes `Synced`, within seconds.',
    credential: 'required',
    query: writeQuery,
    body: z.unknown(),
    described: { body: { [json]: newBindingBody } },
    answers: {
      201: {
        description: 'The UserBinding.',
        content: { [json]: userBindingSchema },
        headers: { Location: 'Path of the UserBinding.', ETag: 'The resource version.' },
      },
      403: { description: 'RBAC denies creating UserBindings or binding that role, or the caller uses an access token.' },
      409: { description: 'A UserBinding of that name exists.' },
      422: {
        description:
          'The UserBinding is invalid, or the ClusterRole does not exist or cannot be bound by the service. Causes name every violation.',
      },
    },
    async handle({ ctx, caller, query: { dryRun: dry, fieldValidation }, body, signal }) {
      const isDryRun = dry !== undefined;
      const { binding, warnings } = await createUserBinding(services, cache, { body, isDryRun, fieldValidation }, caller, signal);
      const { name, uid, resourceVersion } = binding.metadata;
      if (!isDryRun) record(services, ctx, caller, { audit: 'UserBindingCreated', name, uid, code: 201 });
      ctx.status = 201;
      if (warnings.length > 0) ctx.set('Warning', warningHeaders(warnings));
      ctx.set({ Location: `${services.basePath}/auth/v2/userbindings/${name}`, ETag: `"${resourceVersion}"` });
      sendJson(ctx, userBindingRow(binding).text);
    },
  });

const deleteOperation = (services: Services, { cache }: Bindings) =>
  operation({
    id: 'DeleteUserBinding',
    method: 'DELETE',
    paths: ['/auth/v2/userbindings/:name'],
    tag,
    summary: 'Deletes a UserBinding and its role bindings',
    credential: 'required',
    params: z.object({ name: bindingName }),
    query: z.object({ dryRun }),
    body: deleteOptions,
    answers: {
      204: { description: 'The UserBinding is deleted, or exists until its role bindings are deleted.' },
      403: forbidden,
      404: absent,
      409: { description: 'The object does not match the preconditions.' },
    },
    async handle({ ctx, caller, params: { name }, query, body, signal }) {
      const deletion = deletionOf(query, body);
      const { uid } = await deleteUserBinding(services, cache, { name, ...deletion, asCaller: true }, caller, signal);
      if (!deletion.isDryRun) record(services, ctx, caller, { audit: 'UserBindingDeleted', name, uid, code: 204 });
      ctx.status = 204;
    },
  });

function deleteManyOperation(services: Services, bindings: Bindings): Operation {
  const bulkDeleter = bindings.bulkDeleter({
    deleter: { delete: (deletion, caller, signal) => deleteUserBinding(services, bindings.cache, deletion, caller, signal) },
    uidOf: ({ uid }) => uid,
  });
  return operation({
    id: 'DeleteUserBindings',
    method: 'DELETE',
    paths: ['/auth/v2/userbindings'],
    tag,
    summary: 'Deletes named or selected UserBindings',
    description: bulkDescription,
    credential: 'required',
    before: [compressed],
    query: bulkQuery,
    body: bulkBody,
    answers: bulkAnswers(resultKind),
    async handle({ ctx, caller, query, body, signal }) {
      const deletion = { ...selectionOf(query, body), isDryRun: query.dryRun !== undefined };
      const onDeleted = (target: { name: string; uid: string }) =>
        record(services, ctx, caller, { audit: 'UserBindingDeleted', ...target, code: 204 });
      const asking = { signal, leftMs: ctx.state.leftMs() };
      ctx.body = bulkResult(resultKind, await bulkDeleter.delete(deletion, caller, onDeleted, asking));
    },
  });
}

interface Recorded {
  audit: 'UserBindingCreated' | 'UserBindingDeleted';
  name: string;
  uid: string;
  code: number;
}

function record({ audit }: Services, ctx: Context, caller: Caller, { name, uid, ...event }: Recorded): void {
  audit.record({ ...event, ...auditCaller(ctx, caller), target: { name, uid }, outcome: 'success' });
}
