/**
 * Binding reviews: owners keep or end the standing bindings of a namespace or of the cluster, again and again. Answers are made with the
 * rights of their owner. The service ends nothing but UserBindings, and those only where the review says so.
 */
import { collection } from '@atrium/lists/collection.ts';
import { AdmissionPolicies } from '../access-requests/admission-policies.ts';
import { standardOperations } from '../collection/standard-resource.ts';
import type { ExplorerNeeds } from '../explorer/rights.ts';
import type { Feature, Services } from '../services.ts';
import { reviewController } from './controller.ts';
import { reviewDefinition } from './definition.ts';
import { bindingReviewResource, reviewProperties, reviewRow } from './review.ts';
import { type Letterhead, mailOwners } from './review-mail.ts';
import { reviewOperations } from './routes.ts';

const collected = { resource: bindingReviewResource, kind: 'BindingReview', row: reviewRow, properties: reviewProperties };

/** @param letterhead texts and name of the installation, for mails */
export function createBindingReviews(services: Services, needs: ExplorerNeeds, letterhead: Letterhead): Feature {
  const reviews = collection(services, collected);
  // The policy of access requests guards the status of reviews, too.
  const admission = new AdmissionPolicies(services, { of: bindingReviewResource, policies: ['bindingreviews', 'accessrequests'] });
  const context = { services, reviews, admission, ...needs };
  const controller = reviewController(context, async (row, open, signal) => {
    const reminded = await mailOwners(context, letterhead, { row, open }, signal);
    const event = { audit: 'BindingReviewReminded', target: { name: row.name, uid: row.uid } } as const;
    if (reminded === 'Sent') services.audit.record({ ...event, outcome: 'success' });
    else services.audit.record({ ...event, outcome: 'failure', reason: 'NotSent' });
    return reminded;
  });
  return {
    operations: [...standardOperations(services, reviews, reviewDefinition(context), undefined), ...reviewOperations(context)],
    checks: [reviews.check],
    start() {
      reviews.start();
      controller.start();
    },
    async stop() {
      await controller.stop();
      await reviews.stop();
    },
  };
}
