/**
 * Operations on AccessRequests and AccessPolicies that are not the standard ones (`definition.ts`). The body of a new request is no
 * AccessRequest, and the service stores it: users have no right to create AccessRequests.
 */

import type { Caller } from '@atrium/http/caller.ts';
import { sendJson } from '@atrium/http/json-answers.ts';
import { type AnswerDescription, type Operation, operation } from '@atrium/http/operation.ts';
import { dryRun } from '@atrium/objects/write-options.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { auditCaller } from '../audit/audit.ts';
import type { AccessContext } from './context.ts';
import type { RequestCreator } from './create.ts';
import { decide, endRequest, reviewRequest } from './decisions.ts';
import { accessTag, policyName } from './definition.ts';
import { accessOf } from './grant.ts';
import { optionsOperation } from './options-routes.ts';
import { accessApiVersion } from './policy.ts';
import { recordRefusal } from './refusals.ts';
import { accessRequestSchema, decisionBody, type NewRequest, newRequestBody, type RequestRow, requestName, reviewBody } from './request.ts';
import { coveredNamespaces } from './standing.ts';
import { getPolicy } from './strategy.ts';

const json = 'application/json';
const noPolicy: AnswerDescription = { description: 'The policy does not exist, or the caller may not see it.' };
const noRequest: AnswerDescription = { description: 'The request does not exist, or the caller may not see it.' };
const stepUp: AnswerDescription = { description: 'Also if the policy requires a recent login: cause `StepUpRequired`.' };
const theRequest: AnswerDescription = { description: 'The request.', content: { [json]: accessRequestSchema } };

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

/** Creates the operations that are not standard. */
export const accessOperations = (context: AccessContext, creator: RequestCreator): Operation[] => [
  policyNamespacesOperation(context),
  createOperation(context, creator),
  optionsOperation(context),
  decisionOperation(context),
  endOperation(context),
  reviewOperation(context),
];

const policyNamespacesOperation = (context: AccessContext) =>
  operation({
    id: 'ListAccessPolicyNamespaces',
    method: 'GET',
    paths: ['/auth/v1/accesspolicies/:name/namespaces'],
    tag: accessTag,
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

const createOperation = (context: AccessContext, creator: RequestCreator) =>
  operation({
    id: 'CreateAccessRequest',
    method: 'POST',
    paths: ['/auth/v1/accessrequests'],
    tag: accessTag,
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
      const row = isDryRun
        ? await creator.create(body, { isDryRun, origin: auditCaller(ctx, caller) }, caller, signal)
        : await requestAccess(creator, context, body, { ctx, caller, signal });
      ctx.status = 201;
      if (!isDryRun) ctx.set('Location', `${context.services.basePath}/auth/v1/accessrequests/${row.name}`);
      sendJson(ctx, row.text);
    },
  });

interface Asking {
  readonly ctx: Context;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/** Creates a request of the caller, and records it or its refusal. @throws StatusError like `RequestCreator.create` */
export async function requestAccess(
  creator: RequestCreator,
  context: AccessContext,
  asked: NewRequest,
  { ctx, caller, signal }: Asking,
): Promise<RequestRow> {
  const create = () => creator.create(asked, { isDryRun: false, origin: auditCaller(ctx, caller) }, caller, signal);
  const row = await recordRefusal(context, { ctx, caller, about: asked }, create);
  record(context, ctx, caller, row, { audit: 'AccessRequested', code: 201 });
  return row;
}

const decisionOperation = (context: AccessContext) =>
  operation({
    id: 'DecideAccessRequest',
    method: 'POST',
    paths: ['/auth/v1/accessrequests/:name/decision'],
    tag: accessTag,
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
    tag: accessTag,
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
      const onEnded = (row: RequestRow) => {
        const { reason = 'EndedByUser' } = row.told;
        record(context, ctx, caller, row, { audit: 'AccessEnded', code: 200, reason });
      };
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
    tag: accessTag,
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
  services.audit.recordWrite(ctx, caller, { ...event, target: row, ...(row.spec && { access: accessOf(row, row.spec) }) });
}
