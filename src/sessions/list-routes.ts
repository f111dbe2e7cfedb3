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
  user: z.string().min(1).max(253).optional().describe('Name of a User record; one’s own by default.'),
});
const warned = { Warning: 'If the issuer did not hear of it.' };
const forbidden: AnswerDescription = { description: 'Another’s, and the API server says no.' };

export const sessionListOperations = (service: SessionService): Operation[] => [
  operation({
    id: 'ListSessions',
    method: 'GET',
    paths: ['/auth/v1/sessions'],
    tag,
    summary: 'Lists sessions of one user',
    description: 'One’s own by default. `current` marks the session of this request. Nothing in it is a secret.',
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
    summary: 'Logs a user out everywhere',
    description:
      'Oneself by default. Ends all sessions, the one that asks for it too, the tokens that the user has, and what the embedded issuer remembers; access tokens go on.',
    credential: 'required',
    query: whose,
    answers: {
      204: { description: 'Nothing of it counts any more.', headers: warned },
      403: forbidden,
      404: { description: 'There is no such user.' },
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
        .describe('As in a list.'),
    }),
    query: z.object({ dryRun }),
    body: deleteOptions,
    answers: {
      204: { description: 'Gone.', headers: warned },
      403: forbidden,
      404: { description: 'There is no such session.' },
      409: { description: 'Another session than the preconditions say.' },
    },
    async handle({ ctx, caller, params: { name }, query, body, signal }) {
      await service.end(ctx, { name, ...deletionOf(query, body) }, caller, signal);
      ctx.status = 204;
    },
  }),
];
