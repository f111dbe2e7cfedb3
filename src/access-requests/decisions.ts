/** Changes of a request by users: approvers decide and review, requesters and approvers end. */
import type { Caller } from '@atrium/http/caller.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import { conflict, type StatusError } from '@atrium/objects/status.ts';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import { requireStepUp } from '../step-up/step-up.ts';
import type { Account } from '../users/record/account.ts';
import { begin, isUnreviewed } from './break-glass.ts';
import type { AccessContext } from './context.ts';
import { grantAccess, periodOf, removeAccess } from './grant.ts';
import { refusedAccess } from './people.ts';
import type { PolicyRow } from './policy.ts';
import {
  accessRequestResource,
  type Decision,
  isOpen,
  maxDecisions,
  type NewDecision,
  type NewReview,
  type Phase,
  type RequestRow,
} from './request.ts';
import { lapseReasonOf, timeLapseOf } from './standing.ts';
import { finalStatus, type Transition, transition } from './status-writer.ts';
import { changeVisible, isApproverOf, isOwn, mayDeleteBinding, requireOtherPerson } from './visible.ts';

interface Decided {
  row: RequestRow;
  /** False if the decision was there before. */
  isNew: boolean;
}

/**
 * Adds the decision of an approver.
 *
 * @throws StatusError 401, 403, 404, 409, 503, 504
 */
export async function decide(
  context: AccessContext,
  { name, body }: { name: string; body: NewDecision },
  caller: Caller,
  signal: AbortSignal,
): Promise<Decided> {
  const { people, admission, services } = context;
  requireNoAccessToken('accessDecisions', caller);
  const account = people.requireNormal(caller);
  await admission.require(signal);
  const addDecision = async (found: RequestRow): Promise<Decided | 'conflict'> => {
    services.rbac.requireSynced();
    const policy = approvable(context, found, caller, account);
    // The first status could not be written when the request was made.
    const row = found.phase === '' ? await begin(context, found, signal) : found;
    if (row === 'conflict') return row;
    const before = row.decisions.find(({ record }) => record === account.name);
    if (before?.approve === body.approve) return { row, isNew: false };
    if (before !== undefined) throw decided(row, 'you have decided on the request');
    if (row.phase !== 'Pending') throw decided(row, `the phase is ${row.phase}`);
    if (timeLapseOf(context, row) !== undefined) throw notDecidedInTime(row, services.config.accessRequests.pendingSeconds);
    const fall = lapseReasonOf(context, row);
    if (fall !== undefined) throw decided(row, fall.message);
    if (row.decisions.length >= maxDecisions)
      throw decided(row, `the request has ${maxDecisions} decisions: deny it, or have the user ask again`);
    if (policy.requireStepUp) requireStepUp(caller, services.config.login.stepUp, services.now());
    requireRecentLogin('accessDecisions', caller, services.config.login.stepUp, services.now());
    const made = { by: caller.identity.name, record: account.name, isVoid: false, time: timestamp(services.now()), ...body };
    const written = await transition(context, row, statusWith(context, row, made, policy), signal, true);
    return written === 'conflict' ? written : { row: await grantAccess(context, written, signal), isNew: true };
  };
  return changeVisible(context, { name, caller, account }, addDecision, signal);
}

/** Returns the policy of a request that the caller may decide on. @throws StatusError 403, 409 */
function approvable({ policies, people }: AccessContext, row: RequestRow, caller: Caller, account: Account): PolicyRow {
  if (row.spec === undefined) throw decided(row, 'the spec cannot be read');
  requireOtherPerson(row, caller, account);
  const policy = policies.cache.get(row.spec.policy.name);
  if (policy?.uid !== row.spec.policy.uid) throw decided(row, 'the policy was deleted');
  if (!people.of(account).isApprover(policy)) throw refusedAccess(caller, 'NotApprover', 'the policy does not name you as an approver');
  return policy;
}

/**
 * Returns the status with one more decision. The last approval checks the others again: approvers who may no longer decide are void. The
 * greater number of the request and of the current policy counts.
 */
function statusWith({ people, services }: AccessContext, row: RequestRow, made: Decision, policy: PolicyRow): Transition {
  const { spec } = row;
  const now = services.now();
  if (!made.approve)
    return { phase: 'Denied', reason: 'Denied', decisions: [...row.decisions, made], ended: timestamp(now), endedBy: made.by };
  const decisions = [...row.decisions, made].map((decision) => {
    const account = people.accounts.get(decision.record);
    const counts = account !== undefined && people.isNormal(account) && people.of(account).isApprover(policy);
    return { ...decision, isVoid: decision.isVoid || !counts };
  });
  const count = decisions.filter(({ isVoid }) => !isVoid).length;
  const isComplete = spec !== undefined && count >= Math.max(spec.approvals, policy.approvals);
  return isComplete ? { phase: 'Approving', decisions, ...periodOf(spec, now) } : { decisions };
}

const decided = ({ name }: RequestRow, why: string): StatusError =>
  conflict(accessRequestResource, name, `the request cannot be decided: ${why}`);

const notDecidedInTime = ({ name }: RequestRow, seconds: number): StatusError =>
  conflict(
    accessRequestResource,
    name,
    `the request has lapsed: it was not decided within ${seconds} seconds, and the user has to ask again`,
  );

interface Ending {
  readonly name: string;
  /** Called once the request is over, unless it was over before. The removal of the RBAC may still fail. */
  readonly onEnded: (row: RequestRow) => void;
}

/**
 * Ends a request, and its access: the requester withdraws a pending one; the requester, an approver, or a caller who may delete its
 * UserBinding ends access. Returns once the RBAC is gone.
 *
 * @throws StatusError 403, 404, 409, 503, 504
 */
export async function endRequest(
  context: AccessContext,
  { name, onEnded }: Ending,
  caller: Caller,
  signal: AbortSignal,
): Promise<RequestRow> {
  requireNoAccessToken('endOfAccess', caller);
  const account = context.people.requireNormal(caller);
  const end = async (found: RequestRow): Promise<RequestRow | 'conflict'> => {
    await requireEnder(context, found, caller, account, signal);
    // The first status could not be written when the request was made.
    const row = found.phase === '' ? await begin(context, found, signal) : found;
    if (row === 'conflict') return row;
    if (!isOpen(row)) {
      await removeAccess(context, row, signal);
      return row;
    }
    const now = context.services.now();
    const over = timeLapseOf(context, row);
    const status = over
      ? finalStatus(over.phase, over, now)
      : { ...finalOf(row, account), ended: timestamp(now), endedBy: caller.identity.name };
    const written = await transition(context, row, status, signal, true);
    if (written === 'conflict') return written;
    onEnded(written);
    await removeAccess(context, written, signal);
    return written;
  };
  return changeVisible(context, { name, caller, account }, end, signal);
}

/** Returns the final phase of an open request. @throws StatusError 409 for a pending request of another user */
function finalOf(row: RequestRow, account: Account): { phase: Phase; reason: string } {
  if (row.phase === 'Active' || row.phase === 'Scheduled') return { phase: 'Ended', reason: 'EndedByUser' };
  if (row.phase === 'Approving') return { phase: 'Lapsed', reason: 'EndedByUser' };
  if (row.phase === 'Pending' && isOwn(row, account)) return { phase: 'Withdrawn', reason: 'Withdrawn' };
  throw conflict(accessRequestResource, row.name, 'the request is not decided yet: deny it');
}

async function requireEnder(context: AccessContext, row: RequestRow, caller: Caller, account: Account, signal: AbortSignal): Promise<void> {
  if (isOwn(row, account) || isApproverOf(context, row, context.people.of(account))) return;
  if (await mayDeleteBinding(context, row, caller, signal)) return;
  throw refusedAccess(caller, 'NotApprover', 'access is ended by its user, by an approver, or with the right to delete its UserBinding');
}

/**
 * Adds the review of a break-glass request by an approver of the current policy. Concurrent reviews race, and one wins.
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
    return transition(context, row, { review: { ...made, ...(comment !== undefined && { comment }) } }, signal, true);
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
