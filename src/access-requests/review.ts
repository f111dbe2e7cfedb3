import { conflict, type StatusError } from '../api/status.ts';
import type { Caller } from '../http/operation.ts';
import { requireNoAccessToken } from '../http/sensitive-writes.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import type { Account } from '../users/record/account.ts';
import { isUnreviewed } from './break-glass.ts';
import type { AccessContext } from './context.ts';
import { refusedAccess } from './people.ts';
import { accessRequestResource, type NewReview, type RequestRow } from './request.ts';
import { transition } from './status-writer.ts';
import { changeVisible, isApproverOf, mayDeleteBinding, requireOtherPerson } from './visible.ts';

/**
 * Adds the review of a break-glass request by an approver of the policy of now. Concurrent reviews race, and one wins.
 *
 * @throws StatusError 403, 404, 409, 503, 504
 */
export async function reviewRequest(
  context: AccessContext,
  { name, body: { comment } }: { name: string; body: NewReview },
  caller: Caller,
  signal: AbortSignal,
): Promise<RequestRow> {
  const { people, services } = context;
  requireNoAccessToken('accessDecisions', caller);
  const account = people.requireNormal(caller);
  const review = async (row: RequestRow): Promise<RequestRow | 'conflict'> => {
    requireOtherPerson(row, caller, account);
    await requireReviewer(context, row, caller, account, signal);
    if (!isUnreviewed(row)) throw notReviewable(row);
    const made = { by: caller.identity.name, record: account.name, time: timestamp(services.now()) };
    return transition(context, row, { review: { ...made, ...(comment !== undefined && { comment }) } }, signal);
  };
  return changeVisible(context, { name, caller, account }, review, signal);
}

/** @throws StatusError 403, cause `NotApprover` */
async function requireReviewer(context: AccessContext, row: RequestRow, caller: Caller, account: Account, signal: AbortSignal) {
  if (isApproverOf(context, row, context.people.of(account))) return;
  // A policy that is deleted has no approvers, and its break-glass would never be reviewed.
  const isPolicyGone = row.spec !== undefined && context.policies.cache.get(row.spec.policy.name)?.uid !== row.spec.policy.uid;
  if (isPolicyGone && (await mayDeleteBinding(context, row, caller, signal))) return;
  throw refusedAccess(caller, 'NotApprover', 'break-glass is reviewed by an approver of its policy');
}

function notReviewable({ name, review }: RequestRow): StatusError {
  const why = review === undefined ? 'only break-glass that has begun is reviewed' : `${review.by} has reviewed it`;
  return conflict(accessRequestResource, name, why);
}
