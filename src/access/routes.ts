/**
 * Access reviews: may I do this? The question goes to the API server with the caller's own identity, and its answer comes back. Nothing
 * is decided here, and no caller can ask about another user. Any authenticated caller may ask, unless the cluster says otherwise.
 */
import type { Context } from 'koa';
import type { z } from 'zod';
import { type Operation, operation } from '../http/operation.ts';
import { compressed } from '../http/preparations.ts';
import type { Services } from '../services.ts';
import { explainQuery, reviewAnswer, reviewBody, reviewQuery, rulesReviewAnswer, rulesReviewBody } from './schema.ts';
import { AccessService } from './service.ts';

/** The feature: its operations. It watches nothing itself. */
export function createAccess(services: Services): { operations: Operation[] } {
  const service = new AccessService(services);
  const query = services.config.features.explain ? explainQuery : reviewQuery;
  return {
    operations: [
      accessReview({ id: 'CreateSelfSubjectAccessReview', path: '/auth/v1/selfsubjectaccessreviews', query }, service),
      accessReview(
        { id: 'CreateSelfSubjectAccessReviewNative', path: '/apis/authorization.orchestrator.io/v1/selfsubjectaccessreviews', query },
        service,
      ),
      rulesReview(service),
    ],
  };
}

const tag = 'access';

const answers = (description: string, schema: z.ZodType): Operation['answers'] => ({
  201: { description, content: { 'application/json': schema } },
  403: { description: 'The cluster has taken the right to ask away.' },
  422: { description: 'The API server refuses the review, or a batch holds none or too many.' },
});

interface ReviewPath {
  id: string;
  path: string;
  query: typeof reviewQuery | typeof explainQuery;
}

function accessReview({ id, path, query: reviewing }: ReviewPath, service: AccessService): Operation {
  return operation({
    id,
    method: 'POST',
    paths: [path],
    tag,
    summary: 'Asks whether the caller may do something, or each of up to 100 things',
    description:
      '"No" is an answer: 201 with `allowed: false`. Both paths are one operation. An answer may be as old as `kubernetes.accessCache`.',
    credential: 'required',
    before: [compressed],
    query: reviewing,
    body: reviewBody,
    answers: answers('The review with its answer, or a list of them in the order asked.', reviewAnswer),
    async handle({ ctx, caller, query, body, signal }) {
      const asking = { caller, signal, isExplained: 'explain' in query && query.explain === 'true' };
      sendCreated(
        ctx,
        body.kind === 'SelfSubjectAccessReviewList' ? await service.reviewAll(body, asking) : await service.review(body, asking),
      );
    },
  });
}

function rulesReview(service: AccessService): Operation {
  return operation({
    id: 'CreateSelfSubjectRulesReview',
    method: 'POST',
    paths: ['/auth/v1/selfsubjectrulesreviews'],
    tag,
    summary: 'Asks what the caller may do in a namespace',
    description: 'As complete as the authorizers of the cluster make it; to decide something, ask an access review.',
    credential: 'required',
    before: [compressed],
    query: reviewQuery,
    body: rulesReviewBody,
    answers: answers('The review with the rules.', rulesReviewAnswer),
    async handle({ ctx, caller, body, signal }) {
      sendCreated(ctx, await service.reviewRules(body, caller, signal));
    },
  });
}

function sendCreated(ctx: Context, answer: object): void {
  ctx.status = 201;
  ctx.body = answer;
}
