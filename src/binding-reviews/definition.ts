import type { StandardResource } from '../collection/resource-declaration.ts';
import type { ReviewContext } from './context.ts';
import { bindingReviewKind, bindingReviewSchema, type ReviewRow, reviewName, reviewProperties } from './review.ts';
import { findReview, visibleReviews } from './strategy.ts';

export const reviewTag = 'binding reviews';

/** BindingReviews as a resource that is read with the standard operations. Administrators write them with kubectl. */
export const reviewDefinition = (context: ReviewContext): StandardResource<ReviewRow, never, never> => ({
  kind: bindingReviewKind,
  path: '/auth/v1/bindingreviews',
  tag: reviewTag,
  ids: { one: 'BindingReview', many: 'BindingReviews' },
  nouns: { one: 'review', many: 'reviews' },
  name: reviewName,
  schema: bindingReviewSchema,
  properties: reviewProperties,
  list: {
    summary: 'Lists the reviews of places whose bindings the caller may list',
    description: 'Callers who may list BindingReviews see all.',
    select: visibleReviews(context),
  },
  get: { summary: 'Shows a review of a place whose bindings the caller may list', find: findReview(context) },
});
