/**
 * Operations on the custom resource User. The API server's own list and get are passed through. Lists and records from a watch cache have
 * filters, orders and pages that the API server does not offer. Writes are in write-routes.ts.
 *
 * The API server decides on the rights of a caller. The custom resource definition describes a User. Login is in `login`.
 */
import { sendJson } from '@atrium/http/json-answers.ts';
import { type AnswerDescription, compressed, longRunning, type Operation, operation } from '@atrium/http/operation.ts';
import { z } from 'zod';
import { answerList } from '../collection/lister.ts';
import { isLive, type LiveLists, liveAnswerDescription, liveDescription, liveParameters } from '../collection/live-list-answer.ts';

import { listAnswer, listQuery } from '../collection/schema.ts';
import { rightCheck, type WhileAllowedOptions } from '../collection/while-allowed.ts';
import type { Config } from '../config/schema.ts';
import type { UsersContext } from './context.ts';
import { nativeUserOperations } from './native.ts';
import { getUser, ownOperations } from './own-routes.ts';
import type { PasswordEnvelopes } from './passwords/secret.ts';
import { userListSchema, userName, userResource, userSchema } from './record/schema.ts';
import { type UserRow, userProperties } from './row.ts';
import { subjectOperations } from './subjects.ts';
import { deleteOperations, type KeepSession, writeOperations } from './write-routes.ts';

/** Dependencies of the operations on other modules. */
export interface UserRoutesNeeds {
  /** Checks the credential of a request again. */
  again: WhileAllowedOptions['again'];
  sessions: { keepSession: KeepSession };
}

export function userOperations(
  context: UsersContext,
  envelopes: PasswordEnvelopes,
  live: LiveLists<UserRow> | undefined,
  { again, sessions }: UserRoutesNeeds,
): Operation[] {
  const { config, longRequests } = context.services;
  const guard = { again, accessCacheMs: config.kubernetes.accessCache, longRequests };
  return [
    ...nativeUserOperations(context.services, guard),
    ...listOperations(context, live),
    getOperation(context),
    ...writeOperations(context, sessions.keepSession),
    ...deleteOperations(context),
    ...subjectOperations(context),
    ...ownOperations(context, envelopes),
  ];
}

const json = 'application/json';
const query = listQuery(userProperties);
const liveQuery = query.extend(liveParameters);
const liveAnswer: AnswerDescription = { ...listAnswer(userListSchema), description: liveAnswerDescription };
const tag = 'users';
const nameParams = z.object({ name: userName });
const forbidden: AnswerDescription = { description: 'RBAC denies it.' };
const notFound: AnswerDescription = { description: 'The user does not exist.' };

/** RFC 9745 (Deprecation), RFC 8594 (Sunset), RFC 8288 (Link), RFC 9111 section 5.5 (Warning). */
function deprecationHeaders({ deprecatedAt, sunset }: Config['users']['v1List'], basePath: string): Record<string, string> {
  return {
    Deprecation: `@${Date.parse(deprecatedAt) / 1000}`,
    Link: `<${basePath}/auth/v2/users>; rel="successor-version"`,
    Warning: '299 - "GET /auth/v1/users is deprecated, use /auth/v2/users"',
    ...(sunset && { Sunset: new Date(sunset).toUTCString() }),
  };
}

function listOperations({ services, users }: UsersContext, live: LiveLists<UserRow> | undefined): Operation[] {
  const { access, config, basePath } = services;
  const list = { access, right: Object.freeze({ ...userResource, verb: 'list' }), lister: users.lister };
  const deprecation = deprecationHeaders(config.users.v1List, basePath);
  const answers: Record<number, AnswerDescription> = {
    200: listAnswer(userListSchema),
    403: forbidden,
    410: { description: '`continue` is older than an hour.' },
  };
  return [
    operation({
      id: 'ListUsers',
      method: 'GET',
      paths: ['/auth/v2/users'],
      tag,
      summary: 'Lists users, filtered, sorted and in pages, or watches them',
      ...(live && { description: liveDescription('users') }),
      credential: 'required',
      before: [compressed, longRunning((ctx) => live !== undefined && isLive(ctx))],
      query: live ? liveQuery : query,
      // Clients send these parameters whether or not the feature is on, and accept a list.
      ignoredQuery: Object.keys(liveParameters),
      answers: live ? { ...answers, 200: liveAnswer } : answers,
      handle(request) {
        const { ctx, caller, query } = request;
        if (!live || !isLive(ctx)) return answerList(list, request);
        const check = rightCheck(access, { ...userResource, verb: 'watch' }, caller.identity.name);
        return live.answer(ctx, query, { caller, check, signal: request.signal });
      },
    }),
    operation({
      id: 'ListUsersV1',
      method: 'GET',
      paths: ['/auth/v1/users'],
      tag,
      summary: 'Lists users, filtered, sorted and in pages',
      description:
        'Use `/auth/v2/users`. Errors of the operation carry the deprecation headers too. Errors before it (401, 400 for a parameter) do not.',
      described: { deprecated: true },
      credential: 'required',
      before: [compressed],
      query,
      answers: {
        ...answers,
        200: {
          ...listAnswer(userListSchema),
          headers: {
            Deprecation: 'Start of the deprecation.',
            Link: 'Address of the successor.',
            Warning: 'Deprecation warning, and a second warning if the list is cut.',
            Sunset: 'End of the operation, if it is known.',
          },
        },
      },
      handle(request) {
        request.ctx.set(deprecation);
        return answerList(list, request);
      },
    }),
  ];
}

function getOperation(context: UsersContext): Operation {
  return operation({
    id: 'GetUser',
    method: 'GET',
    paths: ['/auth/v1/users/:name'],
    tag,
    summary: 'Shows a user: the caller, or a user that the caller may get',
    credential: 'required',
    openToPasswordDue: true,
    params: nameParams,
    answers: {
      200: { description: 'The user.', content: { [json]: userSchema }, headers: { ETag: 'The resource version.' } },
      403: { description: 'RBAC denies it, also if the user does not exist.' },
      404: notFound,
    },
    async handle({ ctx, caller, params: { name }, signal }) {
      const { text, resourceVersion } = await getUser(context, name, caller, signal);
      ctx.set({ ETag: `"${resourceVersion}"`, 'Cache-Control': 'private, no-cache' });
      sendJson(ctx, text);
    },
  });
}
