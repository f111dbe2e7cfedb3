import type { Collection } from '@atrium/lists/collection.ts';
import type { AdmissionPolicies } from '../access-requests/admission-policies.ts';
import type { ExplorerContext } from '../explorer/rights.ts';
import type { ReviewRow } from './review.ts';

/** Dependencies of reviews. */
export interface ReviewContext extends ExplorerContext {
  readonly reviews: Collection<ReviewRow>;
  readonly admission: AdmissionPolicies;
}
