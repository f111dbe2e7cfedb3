import { conflict } from '../api/status.ts';
import type { Caller } from '../http/operation.ts';
import { requireNoAccessToken } from '../http/sensitive-writes.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import type { Account } from '../users/record/account.ts';
import { untilUncontested } from '../users/record/records.ts';
import type { AccessContext } from './context.ts';
import { untilTaken } from './grant.ts';
import { refusedAccess } from './people.ts';
import { accessRequestResource, isOpen, type Phase, type RequestRow } from './request.ts';
import { readRequest, transition } from './status-writer.ts';
import { isApproverOf, isOwn, mayDeleteBinding, requireVisible } from './visible.ts';

const bounds = { attempts: 10, pauseMs: 50 };

interface Ended {
  row: RequestRow;
  /** False if the request was over before. */
  isNew: boolean;
}

/**
 * Ends a request, and its access: the requester withdraws a pending one; the requester, an approver, or a caller who may delete its
 * UserBinding ends access. Returns once the RBAC is gone.
 *
 * @throws StatusError 403, 404, 409, 503, 504
 */
export async function endRequest(context: AccessContext, name: string, caller: Caller, signal: AbortSignal): Promise<Ended> {
  const { people, requests, policies } = context;
  requireNoAccessToken('accessRequests', caller);
  const account = people.requireNormal(caller);
  await Promise.all([requests, policies].map(({ lister }) => lister.whenUsable(signal)));
  const attempt = async (): Promise<Ended | undefined> => {
    const row = await requireVisible(context, await readRequest(context, name, signal), { name, caller, account }, signal);
    await requireEnder(context, row, caller, account, signal);
    if (!isOpen(row)) {
      await untilTaken(context, row, signal);
      return { row, isNew: false };
    }
    const status = { ...finalOf(row, account), ended: timestamp(context.services.now()), endedBy: caller.identity.name };
    const written = await transition(context, row, status, signal);
    if (written === 'conflict') return undefined;
    await untilTaken(context, written, signal);
    return { row: written, isNew: true };
  };
  const outcome = await untilUncontested(attempt, signal, bounds);
  if (outcome !== undefined) return outcome;
  throw conflict(accessRequestResource, name, 'others change the request at the same time', 1);
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
