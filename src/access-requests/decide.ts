import { conflict, type StatusError } from '../api/status.ts';
import type { Caller } from '../http/operation.ts';
import { requireNoAccessToken, requireRecentLogin } from '../http/sensitive-writes.ts';
import { requireStepUp } from '../http/step-up.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import type { Account } from '../users/record/account.ts';
import type { AccessContext } from './context.ts';
import { grantAccess, periodOf } from './grant.ts';
import { refusedAccess } from './people.ts';
import type { PolicyRow } from './policy.ts';
import { accessRequestResource, type Decision, maxDecisions, type NewDecision, type RequestRow } from './request.ts';
import { lapseReasonOf } from './standing.ts';
import { type Transition, transition } from './status-writer.ts';
import { changeVisible, requireOtherPerson } from './visible.ts';

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
  const addDecision = async (row: RequestRow): Promise<Decided | 'conflict'> => {
    services.rbac.requireSynced();
    const policy = approvable(context, row, caller, account);
    const before = row.decisions.find(({ record }) => record === account.name);
    if (before !== undefined && before.approve === body.approve) return { row, isNew: false };
    if (before !== undefined) throw decided(row, 'you have decided on it');
    if (row.phase !== 'Pending') throw decided(row, `it is ${row.phase}`);
    const fall = lapseReasonOf(context, row);
    if (fall !== undefined) throw decided(row, fall.message);
    if (row.decisions.length >= maxDecisions) throw decided(row, `it has ${maxDecisions} decisions: deny it, or have the user ask again`);
    if (policy.requireStepUp) requireStepUp(caller, services.config.login.stepUp, services.now());
    requireRecentLogin('accessDecisions', caller, services.config.login.stepUp, services.now());
    const made = { by: caller.identity.name, record: account.name, isVoid: false, time: timestamp(services.now()), ...body };
    const written = await transition(context, row, statusWith(context, row, made, policy), signal);
    return written === 'conflict' ? written : { row: await grantAccess(context, written, signal), isNew: true };
  };
  return changeVisible(context, { name, caller, account }, addDecision, signal);
}

/** Returns the policy of a request that the caller may decide on. @throws StatusError 403, 409 */
function approvable({ policies, people }: AccessContext, row: RequestRow, caller: Caller, account: Account): PolicyRow {
  if (row.spec === undefined) throw decided(row, 'it cannot be read');
  requireOtherPerson(row, caller, account);
  const policy = policies.cache.get(row.spec.policy.name);
  if (policy?.uid !== row.spec.policy.uid) throw decided(row, 'its policy was deleted');
  if (!people.of(account).isApprover(policy)) throw refusedAccess(caller, 'NotApprover', 'the policy does not name you as an approver');
  return policy;
}

/**
 * Returns the status with one more decision. The last approval checks the others again: approvers who may no longer decide are void. The
 * greater number of the request and of the policy of now counts.
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
