/** Operations on BindingReviews that are not the standard ones (`definition.ts`): the bindings of a review, and answers about them. */
import { sendJson } from '@atrium/http/json-answers.ts';
import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import { z } from 'zod';
import { requireBindings, requireClusterBindings } from '../explorer/rights.ts';
import { answerReview } from './answers.ts';
import type { ReviewContext } from './context.ts';
import { nameOf } from './controller.ts';
import { reviewTag } from './definition.ts';
import { answerBody, bindingReviewSchema, reviewedBindingList, reviewName } from './review.ts';
import { describedList, reviewedBindings } from './reviewed.ts';
import { requireVisible } from './strategy.ts';

const json = 'application/json';
const noReview = { description: 'The review does not exist, or the caller may not see it.' };

export const reviewOperations = (context: ReviewContext): Operation[] => [bindingsOperation(context), answerOperation(context)];

const bindingsOperation = (context: ReviewContext) =>
  operation({
    id: 'ListReviewedBindings',
    method: 'GET',
    paths: ['/auth/v1/bindingreviews/:name/bindings'],
    tag: reviewTag,
    summary: 'Lists the bindings of a review as they are now, with the answers about them',
    credential: 'required',
    before: [compressed],
    params: z.object({ name: reviewName }),
    answers: {
      200: { description: 'The first 500 bindings, by name.', content: { [json]: reviewedBindingList } },
      403: { description: 'The caller may not list the bindings of the place.' },
      404: noReview,
    },
    async handle({ ctx, caller, params: { name }, signal }) {
      const { reviews, services } = context;
      await reviews.lister.whenReady(signal);
      const row = await requireVisible(context, reviews.cache.get(name), { name, caller }, signal);
      const asking = { caller, signal };
      await (row.place === '' ? requireClusterBindings(services, asking) : requireBindings(services, row.place, asking));
      services.rbac.requireRecent();
      ctx.body = describedList(context, await reviewedBindings(context, row), caller);
    },
  });

const answerOperation = (context: ReviewContext) =>
  operation({
    id: 'AnswerBindingReview',
    method: 'POST',
    paths: ['/auth/v1/bindingreviews/:name/answers'],
    tag: reviewTag,
    summary: 'Keeps, shortens or ends a binding of a review, with the rights of the caller',
    description: 'The newest answer counts, until the binding changes. To keep or shorten a binding takes the right to update it.',
    credential: 'required',
    params: z.object({ name: reviewName }),
    body: answerBody,
    answers: {
      200: { description: 'The review.', content: { [json]: bindingReviewSchema } },
      403: { description: 'RBAC denies it, the binding names the caller (`OwnBinding`), or the caller uses an access token.' },
      404: { description: 'The review or the binding does not exist, or the caller may not see it.' },
      409: { description: 'The binding has changed since the caller saw it, or another round has begun.' },
      422: { description: 'The binding has no UserBinding, and so takes no end, or `until` is not within a year.' },
    },
    async handle({ ctx, caller, params: { name }, body, signal }) {
      const given = {
        ...{ name, body },
        onAnswered: (
          row: { name: string; uid: string },
          { binding }: { binding: Parameters<typeof nameOf>[0] },
          answer: { decision: string },
        ) =>
          context.services.audit.recordWrite(ctx, caller, {
            ...{ audit: 'BindingReviewed' as const, code: 200, target: row, reason: answer.decision, binding: nameOf(binding) },
          }),
      };
      const row = await answerReview(context, given, caller, signal);
      sendJson(ctx, row.text);
    },
  });
