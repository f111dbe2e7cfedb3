/** Operations on users beside the standard ones (`definition.ts`): the list of version 1, and the caller's own record. */
import type { Caller } from '@atrium/http/caller.ts';
import { sendJson } from '@atrium/http/json-answers.ts';
import { compressed, operation } from '@atrium/http/operation.ts';
import { answerList } from '@atrium/lists/lister.ts';
import { listAnswer, listQuery } from '@atrium/lists/schema.ts';
import { notFound } from '@atrium/objects/status.ts';
import type { Config } from '../config/schema.ts';
import type { UsersContext } from './context.ts';
import { userListSchema, userResource, userSchema } from './record/schema.ts';
import { isSelf } from './record/subject-name.ts';
import { type UserRow, userProperties } from './row.ts';

/** RFC 9745 (Deprecation), RFC 8594 (Sunset), RFC 8288 (Link), RFC 9111 section 5.5 (Warning). */
function deprecationHeaders({ deprecatedAt, sunset }: Config['users']['v1List'], basePath: string): Record<string, string> {
  return {
    Deprecation: `@${Date.parse(deprecatedAt) / 1000}`,
    Link: `<${basePath}/auth/v2/users>; rel="successor-version"`,
    Warning: '299 - "GET /auth/v1/users is deprecated, use /auth/v2/users"',
    ...(sunset && { Sunset: new Date(sunset).toUTCString() }),
  };
}

export function listV1Operation({ services, users }: UsersContext) {
  const { access, config, basePath } = services;
  const list = { access, right: Object.freeze({ ...userResource, verb: 'list' }), lister: users.lister };
  const deprecation = deprecationHeaders(config.users.v1List, basePath);
  return operation({
    id: 'ListUsersV1',
    method: 'GET',
    paths: ['/auth/v1/users'],
    tag: 'users',
    summary: 'Lists users, filtered, sorted and in pages',
    description:
      'Use `/auth/v2/users`. Errors of the operation carry the deprecation headers too. Errors before it (401, 400 for a parameter) do not.',
    described: { deprecated: true },
    credential: 'required',
    before: [compressed],
    query: listQuery(userProperties),
    answers: {
      200: {
        ...listAnswer(userListSchema),
        headers: {
          Deprecation: 'Start of the deprecation.',
          Link: 'Address of the successor.',
          Warning: 'Deprecation warning, and a second warning if the list is cut.',
          Sunset: 'End of the operation, if it is known.',
        },
      },
      403: { description: 'RBAC denies it.' },
      410: { description: '`continue` is older than an hour.' },
    },
    handle(request) {
      request.ctx.set(deprecation);
      return answerList(list, request);
    },
  });
}

/** Returns the caller's record. @throws StatusError 404 if it does not exist, 503 */
async function getOwnUser({ users, accounts }: UsersContext, caller: Caller, signal: AbortSignal): Promise<UserRow> {
  await users.lister.whenReady(signal);
  const name = caller.user ?? accounts.ofSubject(caller.identity.name)?.name;
  const row = name === undefined ? undefined : users.cache.get(name);
  if (row === undefined || !isSelf(row.account, caller)) throw notFound(userResource, name ?? caller.identity.name);
  return row;
}

export const meOperation = (context: UsersContext) =>
  operation({
    id: 'GetMe',
    method: 'GET',
    paths: ['/auth/v1/me'],
    tag: 'users',
    summary: 'Shows the user record of the caller',
    credential: 'required',
    openToPasswordDue: true,
    answers: {
      200: { description: 'The user.', content: { 'application/json': userSchema }, headers: { ETag: 'The resource version.' } },
      404: { description: 'The caller has no user record.' },
    },
    async handle({ ctx, caller, signal }) {
      const { text, resourceVersion } = await getOwnUser(context, caller, signal);
      ctx.set({ ETag: `"${resourceVersion}"`, 'Cache-Control': 'private, no-cache' });
      sendJson(ctx, text);
    },
  });
