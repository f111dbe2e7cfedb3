/** The creation of access tokens, whose answer has the secret, and token reviews. The others are the standard ones (`definition.ts`). */
import type { Authenticator } from '@atrium/http/authenticator.ts';
import { badInput } from '@atrium/http/input.ts';
import { type Operation, operation } from '@atrium/http/operation.ts';
import { forbidden, unauthorized } from '@atrium/objects/status.ts';
import { validate } from '@atrium/objects/validation.ts';
import { dryRun } from '@atrium/objects/write-options.ts';
import { z } from 'zod';
import { auditForbidden } from '../audit/audit.ts';
import type { Services } from '../services.ts';
import type { AccessTokenCreator } from './create.ts';
import { createdAccessToken, newAccessTokenBody, tokenReview, tokenReviewBody } from './schema.ts';
import { reviewToken } from './verifier.ts';

type AuditServices = Pick<Services, 'audit' | 'access'>;

interface ReviewNeeds {
  /** Dependencies of token reviews. */
  review: Parameters<typeof reviewToken>[1];
  /** Asks the API server for the user of a bearer token. */
  identify: Authenticator['identify'];
}

const json = 'application/json';
const tag = 'access tokens';

export const createOperation = ({ audit }: AuditServices, creator: AccessTokenCreator): Operation =>
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
      201: { description: 'The token.', content: { [json]: createdAccessToken } },
      403: { description: 'The caller has no user record, or uses an access token.' },
      409: { description: 'The caller has the maximum number of access tokens.' },
    },
    async handle({ ctx, caller, query, body, signal }) {
      const isDryRun = query.dryRun !== undefined;
      const { created, owner } = await creator.create(body, { isDryRun }, caller, signal);
      if (!isDryRun) audit.recordWrite(ctx, caller, { audit: 'AccessTokenCreated', target: owner, code: 201 });
      ctx.status = 201;
      ctx.body = created;
    },
  });

export const reviewOperation = ({ access, audit }: AuditServices, { review, identify }: ReviewNeeds): Operation =>
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
