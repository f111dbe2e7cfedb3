import type { Caller } from '@atrium/http/caller.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { conflict, notFound } from '@atrium/objects/status.ts';
import { userBindingResource } from '../bindings/schema.ts';
import type { Account } from '../users/record/account.ts';
import type { AccessContext } from './context.ts';
import { type Person, refusedAccess } from './people.ts';
import { accessRequestResource, bindingNameOf, type RequestRow } from './request.ts';
import { readRequest } from './status-writer.ts';

/** Each conflict is the write of another approver or of the leader. */
const bounds = { attempts: 20, pauseMs: 50 };

interface Viewer {
  /** Name that the caller asked for. */
  name: string;
  caller: Caller;
  account: Account | undefined;
}

export const isOwn = ({ spec }: Pick<RequestRow, 'spec'>, account: Account | undefined): boolean =>
  account !== undefined && spec?.recordUID === account.uid && spec.record === account.name;

/** Requires a caller who is another person than the requester. @throws StatusError 403, cause `OwnRequest` */
export function requireOtherPerson({ spec }: Pick<RequestRow, 'spec'>, caller: Caller, account: Account): void {
  if (account.uid === spec?.recordUID || account.name === spec?.record)
    throw refusedAccess(caller, 'OwnRequest', 'a request is decided and reviewed by another person');
}

/** Reports whether the current policy names the person as an approver of the request. */
export function isApproverOf({ policies }: AccessContext, { spec }: Pick<RequestRow, 'spec'>, person: Person): boolean {
  const policy = spec && policies.cache.get(spec.policy.name);
  return policy !== undefined && policy.uid === spec?.policy.uid && person.isApprover(policy);
}

/** Reports whether RBAC lets the caller delete the UserBinding of the request. @throws StatusError 503, 504 */
export const mayDeleteBinding = ({ services }: AccessContext, row: RequestRow, caller: Caller, signal: AbortSignal): Promise<boolean> =>
  services.access.can(caller, { ...userBindingResource, verb: 'delete', name: bindingNameOf(row) }, signal);

/** Returns the request if the caller may see it. A hidden request is answered like a missing one. @throws StatusError 404, 503, 504 */
export async function requireVisible(
  context: AccessContext,
  row: RequestRow | undefined,
  { name, caller, account }: Viewer,
  signal: AbortSignal,
): Promise<RequestRow> {
  const isKnown =
    row !== undefined && account !== undefined && (isOwn(row, account) || isApproverOf(context, row, context.people.of(account)));
  if (row !== undefined && isKnown) return row;
  const mayGet = await context.services.access.can(caller, { ...accessRequestResource, verb: 'get', name }, signal);
  if (row === undefined || !mayGet) throw notFound(accessRequestResource, name);
  return row;
}

/**
 * Changes a request that the caller may see. A change of an outdated version is repeated with the new one, so that each of several
 * concurrent changes counts once.
 *
 * @param change returns 'conflict' if its write was about an outdated version
 * @throws StatusError 404, 409, 503, 504, and errors of `change`
 */
export async function changeVisible<T extends object>(
  context: AccessContext,
  viewer: Viewer,
  change: (row: RequestRow) => Promise<T | 'conflict'>,
  signal: AbortSignal,
): Promise<T> {
  await Promise.all([context.requests, context.policies].map(({ lister }) => lister.whenReady(signal)));
  const attempt = async () => {
    const changed = await change(await requireVisible(context, await readRequest(context, viewer.name, signal), viewer, signal));
    return changed === 'conflict' ? undefined : changed;
  };
  const changed = await retryOnConflict(attempt, signal, bounds);
  if (changed !== undefined) return changed;
  throw conflict(accessRequestResource, viewer.name, 'concurrent changes of the request prevented this change, try again', 1);
}
