/** Rules of AccessPolicies and AccessRequests: which of them a caller may read. */
import { hash } from 'node:crypto';
import type { Caller } from '@atrium/http/caller.ts';
import type { Scope } from '@atrium/lists/query.ts';
import type { FindVisible, SelectVisible } from '@atrium/lists/visible-rows.ts';
import { notFound } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { Account } from '../users/record/account.ts';
import { ownAccount, requireAccounts } from '../users/record/lookup.ts';
import { isUnreviewed } from './break-glass.ts';
import type { AccessContext } from './context.ts';
import type { Person } from './people.ts';
import { accessPolicyResource, type PolicyRow, publicText } from './policy.ts';
import { accessRequestResource, type RequestRow } from './request.ts';
import { isInTime, readRequestedRole } from './standing.ts';
import { readRequest } from './status-writer.ts';
import { isApproverOf, isOwn, requireVisible } from './visible.ts';

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

/** Selects the policies that let the caller ask, without their subjects; all, whole, for callers who may list them. */
export const visiblePolicies =
  (context: AccessContext): SelectVisible<PolicyRow> =>
  async (_query, { caller, verb, signal }) => {
    requireAccounts(context.people.accounts);
    const right = { ...accessPolicyResource, verb };
    if (await context.services.access.can(caller, right, signal)) return { right };
    return { scope: () => policyScope(context, caller), textOf: ({ text }) => publicText(text) };
  };

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

export const requestParameters = z.object({
  inbox: z
    .enum(['true', 'false'], 'must be true or false')
    .optional()
    .describe('`true`: only requests that wait for the decision or the review of the caller.'),
});

/**
 * Selects the caller's own requests and those that the caller may decide on, or of these the ones that wait for the caller; all for callers
 * who may list them.
 */
export const visibleRequests =
  (context: AccessContext): SelectVisible<RequestRow> =>
  async (query, { caller, verb, signal }) => {
    const { people, policies, services } = context;
    const isInbox = requestParameters.parse(query).inbox === 'true';
    requireAccounts(people.accounts);
    await policies.lister.whenReady(signal);
    const right = { ...accessRequestResource, verb };
    if (!isInbox && (await services.access.can(caller, right, signal))) return { right };
    return { scope: () => requestScope(context, isInbox, caller) };
  };

/** Returns a request that the caller may see, with the rules of its role for approvers. @throws StatusError 404, 503, 504 */
export const findRequest =
  (context: AccessContext): FindVisible =>
  async (name, { caller, signal }) => {
    const account = context.people.normal(caller);
    const row = await requireVisible(context, await readRequest(context, name, signal), { name, caller, account }, signal);
    return { text: await withRole(context, row, account, signal) };
  };

/** Returns the JSON of a request. Approvers see the rules that they decide on, whether or not RBAC lets them read the role. */
async function withRole(context: AccessContext, row: RequestRow, account: Account | undefined, signal: AbortSignal): Promise<string> {
  const isApprover = account !== undefined && !isOwn(row, account) && isApproverOf(context, row, context.people.of(account));
  const role = isApprover && row.spec ? await readRequestedRole(context.services, row.spec, signal) : undefined;
  return role === undefined ? row.text : `${row.text.slice(0, -1)},"role":${JSON.stringify(role)}}`;
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
