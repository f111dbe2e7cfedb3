import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import type { Context } from 'koa';
import type { z } from 'zod';
import type { Services } from '../services.ts';
import {
  explainQuery,
  type Review,
  type ReviewList,
  reviewAnswer,
  reviewBody,
  reviewQuery,
  rulesReviewAnswer,
  rulesReviewBody,
} from './schema.ts';
import type { AccessService, Asking } from './service.ts';

export function accessOperations({ config }: Services, service: AccessService): Operation[] {
  const query = config.features.explain ? explainQuery : reviewQuery;
  return [
    accessReview({ id: 'CreateSelfSubjectAccessReview', path: '/auth/v1/selfsubjectaccessreviews', query }, service),
    accessReview(
      { id: 'CreateSelfSubjectAccessReviewNative', path: '/apis/authorization.orchestrator.io/v1/selfsubjectaccessreviews', query },
      service,
    ),
    rulesReview(service),
  ];
}

const tag = 'access';
const ownReviews = { verb: 'create', group: 'authorization.k8s.io' };

const answers = (description: string, schema: z.ZodType): Operation['answers'] => ({
  201: { description, content: { 'application/json': schema } },
  403: { description: 'The cluster does not allow access reviews to the caller.' },
  422: { description: 'The API server refuses the review, or a batch is empty or too large.' },
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
    // The console requests explanations whether or not the feature is enabled.
    ignoredQuery: path.startsWith('/apis/') ? 'all' : ['explain'],
    tag,
    summary: 'Reviews whether the caller may perform an action, or each of up to 100 actions',
    description:
      'Returns 201 with `allowed: false` for a denied action. Both paths are one operation. Answers are cached for `kubernetes.accessCache`.',
    credential: 'required',
    before: [compressed],
    query: reviewing,
    viewAs: () => ({ ...ownReviews, resource: 'selfsubjectaccessreviews' }),
    openToScopes: true,
    body: reviewBody,
    isAskedAgain: true,
    answers: answers('The review with its status, or a list of reviews in the requested order.', reviewAnswer),
    handle(request) {
      const { ctx, caller, query, body } = request;
      const isExplained = 'explain' in query && query.explain === 'true';
      if (body.kind !== 'SelfSubjectAccessReviewList') {
        const kept = service.keptText(body, { caller, isExplained });
        if (kept !== undefined) return sendCreated(ctx, kept);
      }
      return answer(ctx, body, { caller, isExplained, signal: request.signal });
    },
  });

  async function answer(ctx: Context, body: Review | ReviewList, asking: Asking): Promise<void> {
    sendCreated(
      ctx,
      body.kind === 'SelfSubjectAccessReviewList' ? await service.reviewAll(body, asking) : await service.review(body, asking),
    );
  }
}

function rulesReview(service: AccessService): Operation {
  return operation({
    id: 'CreateSelfSubjectRulesReview',
    method: 'POST',
    paths: ['/auth/v1/selfsubjectrulesreviews'],
    tag,
    summary: 'Lists the permissions of the caller in a namespace',
    description: 'Complete as far as the authorizers of the cluster report rules. Use an access review for a decision.',
    credential: 'required',
    before: [compressed],
    query: reviewQuery,
    viewAs: () => ({ ...ownReviews, resource: 'selfsubjectrulesreviews' }),
    body: rulesReviewBody,
    answers: answers('The review with the rules.', rulesReviewAnswer),
    async handle({ ctx, caller, body, signal }) {
      sendCreated(ctx, await service.reviewRules(body, caller, signal));
    },
  });
}

/** @param answer an object, or its JSON text */
function sendCreated({ res, response }: Context, answer: object | string): void {
  response.status = 201;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.body = answer;
}
