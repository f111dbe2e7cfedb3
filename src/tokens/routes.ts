/**
 * Access tokens: credentials that users create for programs that act as them. Every user may create and delete their own tokens. The
 * API server authorizes a request with a token as a request of its owner.
 */
import type { Authenticator } from '@atrium/http/authenticator.ts';
import type { Caller } from '@atrium/http/caller.ts';
import { badInput } from '@atrium/http/input.ts';
import { type Operation, operation } from '@atrium/http/operation.ts';
import { forbidden, unauthorized } from '@atrium/objects/status.ts';
import { validate } from '@atrium/objects/validation.ts';
import { deleteOptions, deletionOf, dryRun } from '@atrium/objects/write-options.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { type Audit, auditCaller, auditForbidden } from '../audit/audit.ts';
import { sendPage } from '../collection/page.ts';
import { listAnswer } from '../collection/schema.ts';
import type { Services } from '../services.ts';
import { accessTokenList, accessTokenQuery, madeAccessToken, newAccessTokenBody, tokenReview, tokenReviewBody } from './schema.ts';
import type { AccessTokenService } from './service.ts';
import { reviewToken } from './verifier.ts';

type AuditServices = Pick<Services, 'audit' | 'access'>;

interface TokenNeeds {
  service: AccessTokenService;
  /** Dependencies of token reviews. */
  review: Parameters<typeof reviewToken>[1];
  /** Asks the API server for the user of a bearer token. */
  identify: Authenticator['identify'];
}

export const accessTokenOperations = (services: AuditServices, { service, review, identify }: TokenNeeds): Operation[] => [
  makeOperation(service, services.audit),
  listOperation(service),
  deleteOperation(service, services.audit),
  reviewOperation(services, review, identify),
];

const json = 'application/json';
const tag = 'access tokens';
const makeOperation = (service: AccessTokenService, audit: Audit) =>
  operation({
    id: 'CreateAccessToken',
    method: 'POST',
    paths: ['/auth/v1/accesstoken'],
    tag,
    summary: 'Creates an access token that acts as the caller',
    description: 'The token has the current groups of its owner, and ends with the owner. Only this answer shows it.',
    credential: 'required',
    query: z.object({ dryRun }),
    body: newAccessTokenBody,
    answers: {
      201: { description: 'The token.', content: { [json]: madeAccessToken } },
      403: { description: 'The caller has no user record, or uses an access token.' },
      409: { description: 'The caller has the maximum number of access tokens.' },
    },
    async handle({ ctx, caller, query, body, signal }) {
      const isDryRun = query.dryRun !== undefined;
      const { made, owner } = await service.make(body, { isDryRun }, caller, signal);
      if (!isDryRun) record(audit, ctx, caller, { audit: 'AccessTokenCreated', target: owner, code: 201 });
      ctx.status = 201;
      ctx.body = made;
    },
  });

const listOperation = (service: AccessTokenService) =>
  operation({
    id: 'ListAccessTokens',
    method: 'GET',
    paths: ['/auth/v1/accesstokens'],
    tag,
    summary: 'Lists access tokens: those of the caller, or all of them with the right to list them',
    description: 'Select the tokens of a user by `user=NAME` or `fieldSelector=spec.owner=NAME`, with the name of the User record.',
    credential: 'required',
    query: accessTokenQuery,
    answers: {
      200: listAnswer(accessTokenList),
      403: { description: 'RBAC denies listing access tokens of other users.' },
      410: { description: '`continue` is older than an hour.' },
    },
    async handle({ ctx, caller, query, signal }) {
      sendPage(ctx, await service.list(query, caller, signal));
    },
  });

const deleteOperation = (service: AccessTokenService, audit: Audit) =>
  operation({
    id: 'DeleteAccessToken',
    method: 'DELETE',
    paths: ['/auth/v1/accesstokens/:id'],
    tag,
    summary: 'Revokes an access token',
    credential: 'required',
    params: z.object({
      id: z
        .string()
        .regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/)
        .describe('Name of the AccessToken.'),
    }),
    query: z.object({ dryRun }),
    body: deleteOptions,
    answers: {
      204: { description: 'The token is revoked.' },
      403: { description: 'The token belongs to another user, and RBAC denies it.' },
      404: { description: 'The token does not exist.' },
      409: { description: 'The token does not match the preconditions.' },
    },
    async handle({ ctx, caller, params: { id }, query, body, signal }) {
      const deletion = deletionOf(query, body);
      const { owner: name, ownerUID } = await service.delete({ id, ...deletion }, caller, signal);
      if (!deletion.isDryRun) record(audit, ctx, caller, { audit: 'AccessTokenDeleted', target: { name, uid: ownerUID }, code: 204 });
      ctx.status = 204;
    },
  });

const reviewOperation = ({ access, audit }: AuditServices, review: TokenNeeds['review'], identify: TokenNeeds['identify']) =>
  operation({
    id: 'CreateTokenReview',
    method: 'POST',
    paths: ['/auth/v1/tokenreviews'],
    ignoredQuery: 'all',
    tag,
    summary: 'Reviews an access token, as the token webhook of the API server',
    description: 'Reports any other token as unknown.',
    // The handler verifies the caller itself, except in a review of the caller's own credential.
    credential: 'forwarded',
    body: z.unknown(),
    described: { body: { [json]: tokenReviewBody } },
    answers: {
      201: { description: 'The review, in the requested version.', content: { [json]: tokenReview } },
      403: { description: 'The caller may not `create tokenreviews` in `authentication.k8s.io`.' },
    },
    async handle({ ctx, caller: bearer, body, signal }) {
      const asked = validate(tokenReviewBody, body);
      // An API server that does not know its own webhook credential sends it for review, authenticated by it: asking back would loop.
      if (asked.data?.spec.token === bearer.token) throw unauthorized({ tokenGiven: true });
      const caller = await identify(bearer, signal);
      ctx.state.userName = caller.identity.name;
      const wanted = { group: 'authentication.k8s.io', resource: 'tokenreviews', verb: 'create' };
      if (!(await access.can(caller, wanted, signal))) {
        const refusal = forbidden({ ...wanted, user: caller.identity.name });
        auditForbidden(audit)(ctx, caller, refusal);
        throw refusal;
      }
      if (!asked.success) throw badInput(asked.violations);
      ctx.status = 201;
      ctx.body = await reviewToken(asked.data, review, signal);
    },
  });

function record(
  audit: Audit,
  ctx: Context,
  caller: Caller,
  {
    target: { name, uid },
    ...event
  }: { audit: 'AccessTokenCreated' | 'AccessTokenDeleted'; target: { name: string; uid: string }; code: number },
): void {
  audit.record({ ...event, ...auditCaller(ctx, caller), target: { name, uid }, outcome: 'success' });
}
