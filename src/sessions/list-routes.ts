/** Operations that list and end sessions (docs/contract/teams.md). */
import { z } from 'zod';
import { deleteOptions, deletionOf, dryRun } from '../api/write-options.ts';
import { sendPage } from '../collection/page.ts';
import { listAnswer, listQuery } from '../collection/schema.ts';
import { type AnswerDescription, type Operation, operation } from '../http/operation.ts';
import { sessionListSchema, sessionProperties } from './list.ts';
import type { SessionService } from './service.ts';

const tag = 'sessions';
const whose = z.object({
  user: z.string().min(1).max(253).optional().describe('Name of a User record. Default: the caller.'),
});
const warned = { Warning: 'Set if the issuer could not be told.' };
const forbidden: AnswerDescription = { description: 'Sessions of another user, without the right to list them.' };

export const sessionListOperations = (service: SessionService): Operation[] => [
  operation({
    id: 'ListSessions',
    method: 'GET',
    paths: ['/auth/v1/sessions'],
    tag,
    summary: 'Lists the sessions of a user',
    description: 'Default: the sessions of the caller. `current` marks the session of this request. Contains no secret.',
    credential: 'required',
    query: listQuery(sessionProperties).extend(whose.shape),
    answers: {
      200: listAnswer(sessionListSchema),
      403: forbidden,
      410: { description: '`continue` is older than an hour.' },
    },
    async handle({ ctx, caller, query, signal }) {
      sendPage(ctx, await service.list(query, caller, signal));
    },
  }),
  operation({
    id: 'DeleteSessions',
    method: 'DELETE',
    paths: ['/auth/v1/sessions'],
    tag,
    summary: 'Ends all sessions of a user',
    description:
      'Default: the caller. Ends all sessions, including the current one, all tokens of logins, and the login at the embedded issuer. Access tokens stay valid.',
    credential: 'required',
    query: whose,
    answers: {
      204: { description: 'All sessions and tokens of logins have ended.', headers: warned },
      403: forbidden,
      404: { description: 'The user does not exist.' },
    },
    async handle({ ctx, caller, query, signal }) {
      await service.endAll(ctx, query.user, caller, signal);
      ctx.status = 204;
    },
  }),
  operation({
    id: 'DeleteSession',
    method: 'DELETE',
    paths: ['/auth/v1/sessions/:name'],
    tag,
    summary: 'Ends a session on every replica',
    credential: 'required',
    params: z.object({
      name: z
        .string()
        .regex(/^s-[0-9a-f]{64}$/)
        .describe('Name of the session in a list.'),
    }),
    query: z.object({ dryRun }),
    body: deleteOptions,
    answers: {
      204: { description: 'Gone.', headers: warned },
      403: forbidden,
      404: { description: 'The session does not exist.' },
      409: { description: 'The session does not match the preconditions.' },
    },
    async handle({ ctx, caller, params: { name }, query, body, signal }) {
      await service.end(ctx, { name, ...deletionOf(query, body) }, caller, signal);
      ctx.status = 204;
    },
  }),
];
