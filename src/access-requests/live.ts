/** Live lists of policies and requests: each caller follows the rows that a list would show. */
import type { Context } from 'koa';
import { expired } from '../api/status.ts';
import type { LiveLists, LiveParameters } from '../collection/live-list-answer.ts';
import type { Scope } from '../collection/query.ts';
import { type RightCheck, rightCheck } from '../collection/while-allowed.ts';
import type { Caller } from '../http/operation.ts';
import type { AccessContext } from './context.ts';
import { policyScope, requestScope } from './list.ts';
import { accessPolicyResource, type PolicyRow, publicText } from './policy.ts';
import { accessRequestResource, type RequestRow } from './request.ts';

/** Undefined if live lists are off. */
export type LiveAccess = { readonly policies: LiveLists<PolicyRow>; readonly requests: LiveLists<RequestRow> } | undefined;

interface Asking {
  ctx: Context;
  caller: Caller;
  readonly signal: AbortSignal;
}

/** Streams the policies that let the caller ask; all, with their subjects, to callers who may watch them. @throws StatusError 400, 410, 503 */
export async function followPolicies(
  context: AccessContext,
  live: LiveLists<PolicyRow>,
  parameters: LiveParameters,
  { ctx, caller, signal }: Asking,
): Promise<void> {
  const { access } = context.services;
  const right = { ...accessPolicyResource, verb: 'watch' };
  if (await access.can(caller, right, signal))
    return live.answer(ctx, parameters, { caller, check: rightCheck(access, right, caller.identity.name), signal });
  const part = partOf(ctx, () => policyScope(context, caller));
  return live.answer(ctx, parameters, { caller, ...part, textOf: ({ text }) => publicText(text), signal });
}

/**
 * Streams the caller's own requests and those that the caller may decide on; all to callers who may watch them.
 *
 * @param isInbox limits the list to requests that wait for the caller
 * @throws StatusError 400, 410, 503
 */
export async function followRequests(
  context: AccessContext,
  live: LiveLists<RequestRow>,
  { isInbox, ...parameters }: LiveParameters & { isInbox: boolean },
  { ctx, caller, signal }: Asking,
): Promise<void> {
  const { access } = context.services;
  const right = { ...accessRequestResource, verb: 'watch' };
  await context.policies.lister.whenUsable(signal);
  if (!isInbox && (await access.can(caller, right, signal)))
    return live.answer(ctx, parameters, { caller, check: rightCheck(access, right, caller.identity.name), signal });
  return live.answer(ctx, parameters, { caller, ...partOf(ctx, () => requestScope(context, isInbox, caller)), signal });
}

/**
 * Returns the rows that the caller sees now, and a check that ends the list once these are others: no event tells of rows that the caller
 * may see because of a change of the policy or of a group.
 *
 * @throws StatusError 410 for a client that reconnects, because the rows may have become others meanwhile
 */
function partOf<Row>(ctx: Context, scopeNow: () => Scope<Row>): { scope: Scope<Row>; check: RightCheck } {
  if (/^\d+$/.test(ctx.get('Last-Event-ID'))) throw visibilityChanged();
  const { key } = scopeNow();
  return {
    scope: { key, fits: (row) => scopeNow().fits?.(row) !== false },
    check: async () => {
      if (scopeNow().key !== key) throw visibilityChanged();
    },
  };
}

const visibilityChanged = () => expired('the objects that you may see can be others now; start again');
