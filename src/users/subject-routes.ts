/** Operations on the accounts of external issuers that a User record belongs to. */
import { z } from 'zod';
import { dryRun } from '../api/write-options.ts';
import { auditCaller } from '../http/audit.ts';
import { type Operation, operation } from '../http/operation.ts';
import type { UsersContext } from './context.ts';
import { userName } from './record/schema.ts';
import { forgetSubjects } from './subjects.ts';

export const subjectOperations = (context: UsersContext): Operation[] => [
  operation({
    id: 'DeleteUserSubjects',
    method: 'DELETE',
    paths: ['/auth/v1/users/:name/subjects'],
    tag: 'users',
    summary: 'Forgets which accounts of the issuer a user belongs to',
    description:
      'For a person whose account was made again at the issuer: the next login links the new account. Ends the sessions, tokens and access tokens of the user. Needs `update users/password` and `impersonate users` on the name that Kubernetes sees.',
    credential: 'required',
    params: z.object({ name: userName }),
    query: z.object({ dryRun }),
    answers: {
      204: { description: 'The user belongs to no account of an issuer.' },
      403: { description: 'The API server denies it, or the caller uses an access token.' },
      404: { description: 'There is no such user, or the user belongs to no account of an issuer.' },
      409: { description: 'The user was deleted meanwhile, or is an administrator whose name is not known.' },
    },
    async handle({ ctx, caller, params: { name }, query, signal }) {
      const isDryRun = query.dryRun !== undefined;
      const { uid } = await forgetSubjects(context, { name, isDryRun }, caller, signal);
      const event = { ...auditCaller(ctx, caller), target: { name, uid }, outcome: 'success', code: 204 } as const;
      if (!isDryRun) context.services.audit.record({ audit: 'UserSubjectsDeleted', ...event });
      ctx.status = 204;
    },
  }),
];
