/** Creates and revokes one-time links of users. Requires the right to set their passwords. */
import { z } from 'zod';
import { type Audit, auditOrigin, auditWrite } from '../http/audit.ts';
import { type Operation, operation } from '../http/operation.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import type { Services } from '../services.ts';
import { userName } from '../users/record/schema.ts';
import { auditReasons } from './one-time-links.ts';
import { LinkService, type LinkServiceNeeds, linkBody, linkSchema, mailedSchema } from './service.ts';

const tag = 'one-time links';
const ofUser = z.object({ name: userName });
const rights =
  'Needs the right to create or delete `users/links` and to update `users/password`, `impersonate` for a user who has rights, and a login of the last minutes (`login.stepUp.maxAge`).';
const refusals = {
  401: { description: 'No credential that counts, or a login that is not fresh: cause `StepUpRequired`.' },
  403: { description: 'RBAC denies it, it is the caller, or the credential tells of no login: cause `StepUpNotPossible`.' },
  404: { description: 'There is no such user.' },
};

/** Creates the operations for administrators. The links lead to a page of the embedded issuer. */
export const createOneTimeLinks = (services: Services, needs: LinkServiceNeeds) => ({
  operations: linkOperations(new LinkService(services, needs), services.audit),
  stop: () => needs.linkMail.stop(),
});

const linkOperations = (service: LinkService, audit: Audit): Operation[] => [
  operation({
    id: 'CreateUserLink',
    method: 'POST',
    paths: ['/auth/v1/users/:name/links'],
    tag,
    summary: 'Makes a link with which a user sets a password or a second factor, once',
    description: `With a password, second factors stay. A link of the kind \`enrol\` wants the password, and its new factor takes the place of the others; it also needs the right to delete \`users/factors\`. ${rights}`,
    credential: 'required',
    params: ofUser,
    body: linkBody,
    answers: {
      ...refusals,
      201: { description: 'The link. It is kept nowhere.', content: { 'application/json': linkSchema } },
      202: { description: 'A link is mailed to `spec.email` of the user.', content: { 'application/json': mailedSchema } },
      409: { description: 'The user is not local, may not log in, or has no use for a link of this kind.' },
      422: { description: '`seconds` is out of range, or no mail can be sent.' },
    },
    async handle({ ctx, caller, params: { name }, body, signal }) {
      const { url, expiresAt, account } = await service.make(name, body, { caller, origin: auditOrigin(ctx), signal });
      const code = body.mail ? 202 : 201;
      audit.record({ audit: 'LinkMade', ...auditWrite(ctx, caller, account), code, reason: auditReasons[body.kind] });
      ctx.status = code;
      ctx.body = { ...(!body.mail && { url }), expiresAt: timestamp(expiresAt) };
    },
  }),
  operation({
    id: 'DeleteUserLinks',
    method: 'DELETE',
    paths: ['/auth/v1/users/:name/links'],
    tag,
    summary: 'Ends all links of a user that were not used yet',
    description: rights,
    credential: 'required',
    params: ofUser,
    answers: {
      ...refusals,
      204: { description: 'None that was made before counts.' },
      409: { description: 'The user was deleted meanwhile, or the name that Kubernetes sees is not known.' },
    },
    async handle({ ctx, caller, params: { name }, signal }) {
      const account = await service.end(name, caller, signal);
      audit.record({ audit: 'LinksEnded', ...auditWrite(ctx, caller, account), code: 204 });
      ctx.status = 204;
    },
  }),
];
