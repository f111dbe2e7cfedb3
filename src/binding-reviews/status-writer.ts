import { ServiceResource, type WriteOptions } from '@atrium/kubernetes/resource-client.ts';
import type { ReviewContext } from './context.ts';
import { bindingReviewKind, type ReviewRow, type ReviewStatus, reviewRow } from './review.ts';

const reviewsOf = ({ services }: ReviewContext): ServiceResource => new ServiceResource(services.client, bindingReviewKind);

/** Reads a review from the API server. @throws StatusError 503, 504 */
export async function readReview(context: ReviewContext, name: string, signal: AbortSignal): Promise<ReviewRow | undefined> {
  const object = await reviewsOf(context).get(name, signal);
  return object && reviewRow(object);
}

/**
 * Writes members of the status of a review, unless it was changed since it was read.
 *
 * @returns the review as it is now; 'conflict' if it was changed or deleted
 * @throws StatusError 503, 504
 */
export async function writeReview(
  context: ReviewContext,
  { name, resourceVersion }: ReviewRow,
  status: Partial<Omit<ReviewStatus, 'reminderFailure'>> & { reminderFailure?: ReviewStatus['reminderFailure'] | null },
  options: Pick<WriteOptions, 'signal' | 'isAudited'>,
): Promise<ReviewRow | 'conflict'> {
  const written = await reviewsOf(context).patchStatus(name, { metadata: { resourceVersion }, status }, options);
  if (written === 'conflict' || written === 'gone') return 'conflict';
  await context.reviews.cache.waitForWrite(written.metadata.resourceVersion, options.signal);
  return reviewRow(written);
}
