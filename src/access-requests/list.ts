import { hash } from 'node:crypto';
import type { Caller } from '@atrium/http/caller.ts';
import { expired, notFound } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import type { LiveLists, LiveParameters } from '../collection/live-list-answer.ts';
import type { Page } from '../collection/page.ts';
import type { Scope } from '../collection/query.ts';
import type { ListParameters } from '../collection/schema.ts';
import { type RightCheck, rightCheck } from '../collection/while-allowed.ts';
import type { Account } from '../users/record/account.ts';
import { ownAccount, requireAccounts } from '../users/record/lookup.ts';
import { isUnreviewed } from './break-glass.ts';
import type { AccessContext } from './context.ts';
import type { Person } from './people.ts';
import { accessPolicyResource, type PolicyRow, publicText } from './policy.ts';
import { accessRequestResource, type RequestRow } from './request.ts';
import { isInTime } from './standing.ts';
import { isApproverOf, isOwn } from './visible.ts';

function accountOf({ people }: AccessContext, caller: Caller): Account | undefined {
  requireAccounts(people.accounts);
  return ownAccount(people.accounts, caller);
}

/** Returns the rows of a caller. Their number, pages and continue tokens reveal no others. */
function scopeOf<Row>(
  context: AccessContext,
  account: Account | undefined,
  what: string,
  versions: (person: Person) => readonly string[],
  fits: (row: Row, account: Account, person: Person) => boolean,
): Scope<Row> {
  if (account === undefined) return { key: 'none', fits: () => false };
  const person = context.people.of(account);
  // Policies and groups change the rows without a change of the listed objects.
  const names = [account.uid, ...context.people.keysOf(account), ...versions(person)];
  const key = `${what} ${hash('sha256', JSON.stringify(names), 'base64url')}`;
  return { key, holder: hash('sha256', account.uid, 'base64url'), fits: (row) => fits(row, account, person) };
}

/** Returns the policies that let the caller ask. @throws StatusError 503 */
const policyScope = (context: AccessContext, caller: Caller): Scope<PolicyRow> =>
  scopeOf<PolicyRow>(
    context,
    accountOf(context, caller),
    'for',
    () => [],
    (row, _account, person) => person.subjectOf(row) !== undefined,
  );

/**
 * Lists the policies that let the caller ask; all, with their subjects, for callers who may list them.
 *
 * @throws StatusError 400, 410, 503
 */
export async function listPolicies(context: AccessContext, parameters: ListParameters, caller: Caller, signal: AbortSignal): Promise<Page> {
  const { policies, services } = context;
  requireAccounts(context.people.accounts);
  if (await services.access.can(caller, { ...accessPolicyResource, verb: 'list' }, signal)) return policies.lister.list(parameters, signal);
  const page = await policies.lister.list(parameters, signal, policyScope(context, caller));
  return page.withTexts(({ text }) => publicText(text));
}

/**
 * Returns a policy that lets the caller ask, without its subjects; whole for callers who may get it.
 *
 * @throws StatusError 404 whether or not a hidden policy exists, 503
 */
export async function getPolicy(
  context: AccessContext,
  name: string,
  caller: Caller,
  signal: AbortSignal,
): Promise<{ policy: PolicyRow; text: string }> {
  const { policies, services, people } = context;
  const account = accountOf(context, caller);
  await policies.lister.whenReady(signal);
  const mayGet = await services.access.can(caller, { ...accessPolicyResource, verb: 'get', name }, signal);
  const policy = policies.cache.get(name);
  if (policy !== undefined && mayGet) return { policy, text: policy.text };
  const isFit = policy !== undefined && account !== undefined && people.of(account).subjectOf(policy) !== undefined;
  if (!isFit) throw notFound(accessPolicyResource, name);
  return { policy, text: publicText(policy.text) };
}

/**
 * Lists the caller's own requests and those that the caller may decide on; all for callers who may list them.
 *
 * @param isInbox limits the list to requests that wait for the caller: for a decision, or for the review of break-glass
 * @throws StatusError 400, 410, 503
 */
export async function listRequests(
  context: AccessContext,
  { isInbox, ...parameters }: ListParameters & { isInbox: boolean },
  caller: Caller,
  signal: AbortSignal,
): Promise<Page> {
  const { requests, services, policies } = context;
  requireAccounts(context.people.accounts);
  await policies.lister.whenReady(signal);
  if (!isInbox && (await services.access.can(caller, { ...accessRequestResource, verb: 'list' }, signal)))
    return requests.lister.list(parameters, signal);
  return requests.lister.list(parameters, signal, requestScope(context, isInbox, caller));
}

/**
 * Returns the requests that wait for the caller, or else the caller's own ones and those that the caller may decide on.
 *
 * @throws StatusError 503
 */
function requestScope(context: AccessContext, isInbox: boolean, caller: Caller): Scope<RequestRow> {
  const account = accountOf(context, caller);
  // A policy that is created again under its name has another uid, and no approvers of the requests before.
  const approved = (person: Person) =>
    [...context.policies.cache.values()].filter((policy) => person.isApprover(policy)).map(({ uid }) => uid);
  return isInbox
    ? scopeOf<RequestRow>(context, account, 'inbox', approved, (row, of, person) => isWaitingFor(context, row, of, person))
    : scopeOf<RequestRow>(context, account, 'of', approved, (row, of, person) => isOwn(row, of) || isApproverOf(context, row, person));
}

function isWaitingFor(context: AccessContext, row: RequestRow, account: Account, person: Person): boolean {
  const isUndecided = row.phase === 'Pending' && isInTime(context, row) && row.decisions.every(({ record }) => record !== account.name);
  return (isUndecided || isUnreviewed(row)) && !isOwn(row, account) && isApproverOf(context, row, person);
}

/** Undefined if live lists are off. */
export type LiveAccess = { readonly policies: LiveLists<PolicyRow>; readonly requests: LiveLists<RequestRow> } | undefined;

interface Asking {
  ctx: Context;
  caller: Caller;
  readonly signal: AbortSignal;
}

/**
 * Streams the policies that let the caller ask; all, with their subjects, to callers who may watch them.
 *
 * @throws StatusError 400, 410, 503
 */
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
  await context.policies.lister.whenReady(signal);
  if (!isInbox && (await access.can(caller, right, signal)))
    return live.answer(ctx, parameters, { caller, check: rightCheck(access, right, caller.identity.name), signal });
  return live.answer(ctx, parameters, { caller, ...partOf(ctx, () => requestScope(context, isInbox, caller)), signal });
}

/**
 * Returns the rows that the caller sees now, and a check that ends the list once these are others: no event names rows that the caller
 * may see because of a change of the policy or of a group.
 *
 * @throws StatusError 410 for a client that reconnects, because the rows may have become others meanwhile
 */
function partOf<Row>(ctx: Context, scopeNow: () => Scope<Row>): { scope: Scope<Row>; check: RightCheck } {
  if (/^\d+$/.test(ctx.get('Last-Event-ID'))) throw visibilityChanged();
  const { key } = scopeNow();
  let kept: Scope<Row> | undefined;
  // Rows of one turn of the event loop share a scope, because it compares the caller with every policy.
  const scopeOfTurn = () => {
    if (kept === undefined)
      setImmediate(() => {
        kept = undefined;
      });
    kept ??= scopeNow();
    return kept;
  };
  return {
    scope: { key, fits: (row) => scopeOfTurn().fits?.(row) !== false },
    check: async () => {
      if (scopeNow().key !== key) throw visibilityChanged();
    },
  };
}

const visibilityChanged = () => expired('the objects that you may see can be others now; start again');
