import { type Operation, operation } from '@atrium/http/operation.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import { z } from 'zod';
import { type Audit, auditOrigin } from '../audit/audit.ts';
import { userName } from '../users/record/schema.ts';
import { auditReasons } from './links.ts';
import { type LinkService, linkBody, linkSchema, mailedSchema } from './service.ts';

const tag = 'one-time links';
const ofUser = z.object({ name: userName });
const rights =
  'Requires the right to create or delete `users/links` and to update `users/password`, `impersonate` for a user with rights, and a recent login (`login.stepUp.maxAge`).';
const refusals = {
  401: { description: 'The credential is invalid, or the login is too old: cause `StepUpRequired`.' },
  403: { description: 'RBAC denies it, the user is the caller, or the credential does not prove a login: cause `StepUpNotPossible`.' },
  404: { description: 'The user does not exist.' },
};

export const linkOperations = (service: LinkService, audit: Audit): Operation[] => [
  operation({
    id: 'CreateUserLink',
    method: 'POST',
    paths: ['/auth/v1/users/:name/links'],
    tag,
    summary: 'Creates a link with which a user sets a password or a second factor, once',
    description: `A new password keeps the second factors. A link of the kind \`enrol\` asks for the password, and its new factor replaces the others; it also requires the right to delete \`users/factors\`. ${rights}`,
    credential: 'required',
    params: ofUser,
    body: linkBody,
    answers: {
      ...refusals,
      201: { description: 'The link, which is not stored.', content: { 'application/json': linkSchema } },
      202: { description: 'A mail with the link to `spec.email` of the user is queued.', content: { 'application/json': mailedSchema } },
      409: { description: 'The user is not local, may not log in, or cannot use a link of this kind.' },
      422: { description: '`seconds` is out of range, or no mail can be sent.' },
    },
    async handle({ ctx, caller, params: { name }, body, signal }) {
      const { url, expiresAt, account } = await service.make(name, body, { caller, origin: auditOrigin(ctx), signal });
      const code = body.mail ? 202 : 201;
      audit.recordWrite(ctx, caller, { audit: 'LinkMade', target: account, code, reason: auditReasons[body.kind] });
      ctx.status = code;
      ctx.body = { ...(!body.mail && { url }), expiresAt: timestamp(expiresAt) };
    },
  }),
  operation({
    id: 'DeleteUserLinks',
    method: 'DELETE',
    paths: ['/auth/v1/users/:name/links'],
    tag,
    summary: 'Revokes all unused links of a user',
    description: rights,
    credential: 'required',
    params: ofUser,
    answers: {
      ...refusals,
      204: { description: 'All earlier links are revoked.' },
      409: { description: 'The user was deleted meanwhile, or their Kubernetes name is unknown.' },
    },
    async handle({ ctx, caller, params: { name }, signal }) {
      const account = await service.end(name, caller, signal);
      audit.recordWrite(ctx, caller, { audit: 'LinksEnded', target: account, code: 204 });
      ctx.status = 204;
    },
  }),
];
