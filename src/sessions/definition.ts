import { z } from 'zod';
import type { StandardResource } from '../collection/resource-declaration.ts';
import type { SessionContext } from './context.ts';
import { type SessionRow, sessionKind } from './record.ts';
import { sessionProperties, sessionSchema } from './schema.ts';
import { userParameter, visibleSessions } from './strategy.ts';

export const sessionParameter = z
  .string()
  .regex(/^s-[0-9a-f]{64}$/)
  .describe('Name of the session in a list.');

/** Sessions as a resource with the standard list. They begin with a login, and their end is a logout (`ends.ts`). */
export const sessionDefinition = (context: SessionContext): StandardResource<SessionRow, never, never> => ({
  kind: { ...sessionKind, namespace: context.namespace },
  path: '/auth/v1/sessions',
  tag: 'sessions',
  ids: { one: 'Session', many: 'Sessions' },
  nouns: { one: 'session', many: 'sessions' },
  name: sessionParameter,
  schema: sessionSchema,
  properties: sessionProperties,
  isUncompressed: true,
  list: {
    summary: 'Lists the sessions of a user',
    description: 'Default: the sessions of the caller. `current` marks the session of this request. Contains no secret.',
    answers: { 403: { description: 'Sessions of another user, and RBAC denies it.' } },
    parameters: userParameter,
    select: visibleSessions(context),
  },
});
