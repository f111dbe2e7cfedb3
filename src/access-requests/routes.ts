/**
 * Access for a while: users ask for the role of an AccessPolicy, approvers decide, and the role ends by itself. RBAC stays the only
 * authority: access is a UserBinding that expires. Administrators write policies with kubectl.
 */
import type { Caller } from '@atrium/http/caller.ts';
import { type AnswerDescription, compressed, longRunning, type Operation, operation } from '@atrium/http/operation.ts';
import { labelPattern } from '@atrium/objects/labels.ts';
import { dryRun } from '@atrium/objects/write-options.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { auditCaller } from '../audit/audit.ts';
import { isLive, liveParameters, visibleLiveDescription } from '../collection/live-list-answer.ts';
import { sendJson, sendPage } from '../collection/page.ts';
import { listAnswer, listQuery, listSchema } from '../collection/schema.ts';
import type { Account } from '../users/record/account.ts';
import type { AccessContext } from './context.ts';
import { RequestCreator } from './create.ts';
import { decide, endRequest, reviewRequest } from './decisions.ts';
import { accessOf } from './grant.ts';
import { followPolicies, followRequests, getPolicy, type LiveAccess, listPolicies, listRequests } from './list.ts';
import { optionsOperation } from './options-routes.ts';
import { accessApiVersion, accessPolicySchema, policyProperties } from './policy.ts';
import { recordRefusal } from './refusals.ts';
import {
  accessRequestSchema,
  decisionBody,
  newRequestBody,
  type RequestRow,
  requestName,
  requestProperties,
  reviewBody,
} from './request.ts';
import { coveredNamespaces, readRequestedRole } from './standing.ts';
import { readRequest } from './status-writer.ts';
import { isApproverOf, isOwn, requireVisible } from './visible.ts';

const json = 'application/json';
const tag = 'access requests';
const expired: AnswerDescription = { description: '`continue` is older than an hour.' };
const noPolicy: AnswerDescription = { description: 'The policy does not exist, or the caller may not see it.' };
const noRequest: AnswerDescription = { description: 'The request does not exist, or the caller may not see it.' };
const stepUp: AnswerDescription = { description: 'Also if the policy requires a recent login: cause `StepUpRequired`.' };
const theRequest: AnswerDescription = { description: 'The request.', content: { [json]: accessRequestSchema } };

const requestQuery = listQuery(requestProperties).extend({
  inbox: z
    .enum(['true', 'false'], 'must be true or false')
    .optional()
    .describe('`true`: only requests that wait for the decision or the review of the caller.'),
});

const policyName = z.string().max(63).regex(labelPattern).describe('Name of the AccessPolicy.');

const namesSchema = z
  .object({
    apiVersion: z.literal(accessApiVersion),
    kind: z.literal('AccessPolicyNamespaces'),
    isAny: z.boolean().describe('True if the policy covers every namespace, and the platform.'),
    items: z.array(z.string()).describe('Names, sorted; at most 1,000.'),
  })
  .meta({
    id: 'AccessPolicyNamespaces',
    examples: [{ apiVersion: accessApiVersion, kind: 'AccessPolicyNamespaces', isAny: false, items: ['shop'] }],
  });

export const accessOperations = (context: AccessContext, live: LiveAccess): Operation[] => [
  listPoliciesOperation(context, live),
  getPolicyOperation(context),
  policyNamespacesOperation(context),
  listRequestsOperation(context, live),
  createOperation(context),
  optionsOperation(context),
  getRequestOperation(context),
  decisionOperation(context),
  endOperation(context),
  reviewOperation(context),
];

const listPoliciesOperation = (context: AccessContext, live: LiveAccess) =>
  operation({
    id: 'ListAccessPolicies',
    method: 'GET',
    paths: ['/auth/v1/accesspolicies'],
    tag,
    summary: 'Lists the policies that let the caller ask for access',
    description: `Callers who may list AccessPolicies see all, with their subjects and approvers.${live ? ` ${visibleLiveDescription}` : ''}`,
    credential: 'required',
    before: [compressed, longRunning((ctx) => live !== undefined && isLive(ctx))],
    query: live ? listQuery(policyProperties).extend(liveParameters) : listQuery(policyProperties),
    ignoredQuery: Object.keys(liveParameters),
    answers: {
      200: listAnswer(listSchema(accessPolicySchema, { apiVersion: accessApiVersion, kind: 'AccessPolicyList' })),
      410: expired,
    },
    async handle({ ctx, caller, query, signal }) {
      if (live && isLive(ctx)) return followPolicies(context, live.policies, query, { ctx, caller, signal });
      sendPage(ctx, await listPolicies(context, query, caller, signal));
    },
  });

const getPolicyOperation = (context: AccessContext) =>
  operation({
    id: 'GetAccessPolicy',
    method: 'GET',
    paths: ['/auth/v1/accesspolicies/:name'],
    tag,
    summary: 'Shows a policy that lets the caller ask for access',
    credential: 'required',
    params: z.object({ name: policyName }),
    answers: { 200: { description: 'The policy.', content: { [json]: accessPolicySchema } }, 404: noPolicy },
    async handle({ ctx, caller, params: { name }, signal }) {
      const { text } = await getPolicy(context, name, caller, signal);
      sendJson(ctx, text);
    },
  });

const policyNamespacesOperation = (context: AccessContext) =>
  operation({
    id: 'ListAccessPolicyNamespaces',
    method: 'GET',
    paths: ['/auth/v1/accesspolicies/:name/namespaces'],
    tag,
    summary: 'Lists the namespaces that a policy covers',
    credential: 'required',
    params: z.object({ name: policyName }),
    answers: { 200: { description: 'The names of the namespaces.', content: { [json]: namesSchema } }, 404: noPolicy },
    async handle({ ctx, caller, params: { name }, signal }) {
      const { policy } = await getPolicy(context, name, caller, signal);
      const names = await coveredNamespaces(context.services, policy, signal);
      ctx.body = { apiVersion: accessApiVersion, kind: 'AccessPolicyNamespaces', isAny: names === undefined, items: names ?? [] };
    },
  });

const listRequestsOperation = (context: AccessContext, live: LiveAccess) =>
  operation({
    id: 'ListAccessRequests',
    method: 'GET',
    paths: ['/auth/v1/accessrequests'],
    tag,
    summary: "Lists the caller's requests, and those that the caller may decide on",
    description: `Callers who may list AccessRequests see all.${live ? ` ${visibleLiveDescription}` : ''}`,
    credential: 'required',
    before: [compressed, longRunning((ctx) => live !== undefined && isLive(ctx))],
    query: live ? requestQuery.extend(liveParameters) : requestQuery,
    ignoredQuery: Object.keys(liveParameters),
    answers: {
      200: listAnswer(listSchema(accessRequestSchema, { apiVersion: accessApiVersion, kind: 'AccessRequestList' })),
      410: expired,
    },
    async handle({ ctx, caller, query: { inbox, ...parameters }, signal }) {
      const asked = { ...parameters, isInbox: inbox === 'true' };
      if (live && isLive(ctx)) return followRequests(context, live.requests, asked, { ctx, caller, signal });
      sendPage(ctx, await listRequests(context, asked, caller, signal));
    },
  });

function createOperation(context: AccessContext) {
  const creator = new RequestCreator(context);
  return operation({
    id: 'CreateAccessRequest',
    method: 'POST',
    paths: ['/auth/v1/accessrequests'],
    tag,
    summary: 'Requests temporary access to a role of a policy',
    description: 'A policy without approvals, and break-glass, give the role at once: `status.phase` is `Active` once its RBAC exists.',
    credential: 'required',
    query: z.object({ dryRun }),
    body: newRequestBody,
    answers: {
      201: { ...theRequest, headers: { Location: 'Path of the AccessRequest.' } },
      401: stepUp,
      403: { description: 'The caller has no User record (`NoRecord`), or uses an access token.' },
      409: { description: 'The caller has an open request for the same role and place.' },
      422: { description: 'The policy does not let the caller ask for that, with every violation.' },
      429: { description: 'The caller has as many open requests as a user may have, or has used break-glass three times in 24 hours.' },
    },
    async handle({ ctx, caller, query, body, signal }) {
      const isDryRun = query.dryRun !== undefined;
      const create = () => creator.create(body, { isDryRun, origin: auditCaller(ctx, caller) }, caller, signal);
      const row = await (isDryRun ? create() : recordRefusal(context, { ctx, caller, about: body }, create));
      if (!isDryRun) record(context, ctx, caller, row, { audit: 'AccessRequested', code: 201 });
      ctx.status = 201;
      if (!isDryRun) ctx.set('Location', `${context.services.basePath}/auth/v1/accessrequests/${row.name}`);
      sendJson(ctx, row.text);
    },
  });
}

const getRequestOperation = (context: AccessContext) =>
  operation({
    id: 'GetAccessRequest',
    method: 'GET',
    paths: ['/auth/v1/accessrequests/:name'],
    tag,
    summary: 'Shows a request; with the rules of its role to approvers',
    credential: 'required',
    params: z.object({ name: requestName }),
    answers: { 200: theRequest, 404: noRequest },
    async handle({ ctx, caller, params: { name }, signal }) {
      const account = context.people.normal(caller);
      const row = await requireVisible(context, await readRequest(context, name, signal), { name, caller, account }, signal);
      sendJson(ctx, await withRole(context, row, account, signal));
    },
  });

/** Returns the JSON of a request. Approvers see the rules that they decide on, whether or not RBAC lets them read the role. */
async function withRole(context: AccessContext, row: RequestRow, account: Account | undefined, signal: AbortSignal): Promise<string> {
  const isApprover = account !== undefined && !isOwn(row, account) && isApproverOf(context, row, context.people.of(account));
  const role = isApprover && row.spec ? await readRequestedRole(context.services, row.spec, signal) : undefined;
  return role === undefined ? row.text : `${row.text.slice(0, -1)},"role":${JSON.stringify(role)}}`;
}

const decisionOperation = (context: AccessContext) =>
  operation({
    id: 'DecideAccessRequest',
    method: 'POST',
    paths: ['/auth/v1/accessrequests/:name/decision'],
    tag,
    summary: 'Approves or denies a request',
    description: 'The last approval gives the access. A repeated decision changes nothing.',
    credential: 'required',
    params: z.object({ name: requestName }),
    body: decisionBody,
    answers: {
      200: theRequest,
      401: stepUp,
      403: { description: 'The request is of the caller (`OwnRequest`), or the policy names other approvers (`NotApprover`).' },
      404: noRequest,
      409: { description: 'The request is already decided, or the policy no longer allows it.' },
    },
    async handle({ ctx, caller, params: { name }, body, signal }) {
      const { row, isNew } = await recordRefusal(context, { ctx, caller, about: name }, () =>
        decide(context, { name, body }, caller, signal),
      );
      const reason = body.approve ? 'Approved' : 'Denied';
      if (isNew) record(context, ctx, caller, row, { audit: 'AccessDecided', code: 200, reason });
      sendJson(ctx, row.text);
    },
  });

const endOperation = (context: AccessContext) =>
  operation({
    id: 'EndAccessRequest',
    method: 'POST',
    paths: ['/auth/v1/accessrequests/:name/end'],
    tag,
    summary: 'Withdraws a request, or ends its access',
    description: 'For its user, for approvers, and for callers who may delete its UserBinding. The answer comes once the RBAC is gone.',
    credential: 'required',
    params: z.object({ name: requestName }),
    answers: {
      200: theRequest,
      403: { description: 'The caller may see the request, and not end it.' },
      404: noRequest,
      409: { description: 'The request belongs to another user and is pending: deny it.' },
    },
    async handle({ ctx, caller, params: { name }, signal }) {
      const onEnded = (row: RequestRow) => record(context, ctx, caller, row, { audit: 'AccessEnded', code: 200, reason: 'EndedByUser' });
      const end = () => endRequest(context, { name, onEnded }, caller, signal);
      const row = await recordRefusal(context, { ctx, caller, about: name }, end);
      sendJson(ctx, row.text);
    },
  });

const reviewOperation = (context: AccessContext) =>
  operation({
    id: 'ReviewAccessRequest',
    method: 'POST',
    paths: ['/auth/v1/accessrequests/:name/review'],
    tag,
    summary: 'Reviews break-glass',
    description: 'For approvers of the policy. A review is written once.',
    credential: 'required',
    params: z.object({ name: requestName }),
    body: reviewBody,
    answers: {
      200: theRequest,
      403: { description: 'The request is of the caller (`OwnRequest`), or the policy names other approvers (`NotApprover`).' },
      404: noRequest,
      409: { description: 'The request is already reviewed, or is no break-glass.' },
    },
    async handle({ ctx, caller, params: { name }, body, signal }) {
      const row = await recordRefusal(context, { ctx, caller, about: name }, () => reviewRequest(context, { name, body }, caller, signal));
      record(context, ctx, caller, row, { audit: 'BreakGlassReviewed', code: 200 });
      sendJson(ctx, row.text);
    },
  });

type RequestEvent =
  | { readonly audit: 'AccessRequested' | 'BreakGlassReviewed'; readonly code: number }
  | { readonly audit: 'AccessDecided' | 'AccessEnded'; readonly code: number; readonly reason: string };

function record({ services }: AccessContext, ctx: Context, caller: Caller, row: RequestRow, event: RequestEvent): void {
  services.audit.record({
    ...event,
    ...auditCaller(ctx, caller),
    target: { name: row.name, uid: row.uid },
    outcome: 'success',
    ...(row.spec && { access: accessOf(row, row.spec) }),
  });
}
