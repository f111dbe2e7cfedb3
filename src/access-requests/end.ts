import { conflict } from '../api/status.ts';
import type { Caller } from '../http/operation.ts';
import { requireNoAccessToken } from '../http/sensitive-writes.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import type { Account } from '../users/record/account.ts';
import type { AccessContext } from './context.ts';
import { removeAccess } from './grant.ts';
import { refusedAccess } from './people.ts';
import { accessRequestResource, isOpen, type Phase, type RequestRow } from './request.ts';
import { transition } from './status-writer.ts';
import { changeVisible, isApproverOf, isOwn, mayDeleteBinding } from './visible.ts';

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
  requireNoAccessToken('accessRequests', caller);
  const account = context.people.requireNormal(caller);
  const end = async (row: RequestRow): Promise<Ended | 'conflict'> => {
    await requireEnder(context, row, caller, account, signal);
    if (!isOpen(row)) {
      await removeAccess(context, row, signal);
      return { row, isNew: false };
    }
    const status = { ...finalOf(row, account), ended: timestamp(context.services.now()), endedBy: caller.identity.name };
    const written = await transition(context, row, status, signal);
    if (written === 'conflict') return written;
    await removeAccess(context, written, signal);
    return { row: written, isNew: true };
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
