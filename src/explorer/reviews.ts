import { z } from 'zod';
import { accessStatus } from '../access/schema.ts';
import { serviceUnavailable } from '../api/status.ts';
import { selfReview } from '../kubernetes/self-review.ts';
import type { Services } from '../services.ts';
import type { Asking } from './context.ts';
import type { SubjectReview } from './schema.ts';

const answered = z.object({ status: accessStatus });

/** Passes a SubjectAccessReview on as the caller, who needs `create` on it. @throws StatusError 403, 422 of the API server, 503, 504 */
export async function reviewSubject({ apiServer }: Services, { spec }: SubjectReview, { caller, signal }: Asking) {
  const answer = await selfReview(apiServer.asCaller(caller), {
    group: 'authorization.k8s.io',
    kind: 'SubjectAccessReview',
    spec,
    signal,
  });
  const { success, data, error } = answered.safeParse(answer);
  if (!success) throw serviceUnavailable('kubernetes', { cause: error });
  return { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', metadata: {}, spec, status: data.status };
}
