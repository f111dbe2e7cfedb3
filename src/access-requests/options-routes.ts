import type { Caller } from '@atrium/http/caller.ts';
import { type Operation, operation } from '@atrium/http/operation.ts';
import { questionQuery, type ResourceQuestion } from '@atrium/kubernetes/rbac/rules.ts';
import { labelPattern } from '@atrium/objects/labels.ts';
import { z } from 'zod';
import type { AccessContext } from './context.ts';
import { accessOptions } from './options.ts';
import { accessApiVersion } from './policy.ts';
import { phases } from './request.ts';

const query = z.strictObject({
  ...questionQuery,
  namespace: z
    .string()
    .max(63)
    .refine((text) => text === '' || labelPattern.test(text), 'must be a DNS label')
    .default('')
    .describe('Namespace of the object; empty: the cluster scope, or all namespaces.'),
  name: z.string().max(253).default('').describe('Name of the object; empty: all names.'),
});

const place = { scope: z.enum(['platform', 'namespace']), namespaces: z.array(z.string()).optional() };

const item = z.object({
  policy: z.string().describe('Name of the AccessPolicy.'),
  role: z.string().describe('Name of the ClusterRole.'),
  ...place,
  approvals: z.int().describe('Number of approvers who must approve.'),
  maxSeconds: z.int().describe('Longest access, in seconds.'),
  breakGlass: z.boolean().describe('True if the role may also be used at once, and is reviewed afterwards.'),
  requireReason: z.boolean(),
  ticketPattern: z.string().optional().describe('Pattern (RE2) for the whole ticket.'),
});

const openRequest = z.object({
  name: z.string().describe('Name of the AccessRequest.'),
  policy: z.string(),
  role: z.string(),
  ...place,
  phase: z.enum(phases).optional().describe('Absent for a moment after the request was made.'),
});

const optionsSchema = z
  .object({
    apiVersion: z.literal(accessApiVersion),
    kind: z.literal('AccessOptions'),
    allowed: z.boolean().describe('True if the caller has the right already.'),
    items: z.array(item).describe('At most 20 roles that the caller may ask for, the least rights first. None if `allowed`.'),
    open: z.array(openRequest).describe("The caller's open requests for roles that give the right."),
  })
  .meta({
    id: 'AccessOptions',
    examples: [
      {
        apiVersion: accessApiVersion,
        kind: 'AccessOptions',
        allowed: false,
        items: [
          {
            policy: 'shop-debug',
            role: 'edit',
            scope: 'namespace',
            namespaces: ['shop'],
            approvals: 1,
            maxSeconds: 14400,
            breakGlass: false,
            requireReason: true,
          },
        ],
        open: [],
      },
    ],
  });

export const optionsOperation = (context: AccessContext): Operation =>
  operation({
    id: 'GetAccessOptions',
    method: 'GET',
    paths: ['/auth/v1/accessrequests/options'],
    tag: 'access requests',
    summary: 'Finds roles that the caller may ask for to get a right',
    description:
      'Roles of policies that let the caller ask, are ready and cover the namespace. The answer names no other role, binding or namespace.',
    credential: 'required',
    query,
    answers: {
      200: { description: 'The roles.', content: { 'application/json': optionsSchema } },
      400: { description: '`verb` or `resource` is missing, or a parameter is invalid.' },
    },
    async handle({ ctx, caller, query: { verb, group, resource, subresource, namespace, name }, signal }) {
      ctx.body = await shownOptions(context, { verb, group, resource, subresource, namespace, name }, caller, signal);
    },
  });

/** Returns the roles that the caller may ask for to get a right. @throws StatusError 503, 504, and refusals of the API server */
export async function shownOptions(context: AccessContext, question: ResourceQuestion, caller: Caller, signal: AbortSignal) {
  const { allowed, items, open } = await accessOptions(context, question, caller, signal);
  return {
    apiVersion: accessApiVersion,
    kind: 'AccessOptions' as const,
    allowed,
    items: items.map(({ policy, role, place: covered }) => ({
      policy: policy.name,
      role,
      ...covered,
      approvals: policy.approvals,
      maxSeconds: policy.maxSeconds,
      breakGlass: policy.breakGlass,
      requireReason: policy.requireReason,
      ...(policy.ticketPattern !== undefined && { ticketPattern: policy.ticketPattern }),
    })),
    open: open.map(({ name: request, phase, spec: { policy, roleRef, scope, namespaces } }) => ({
      name: request,
      policy: policy.name,
      role: roleRef,
      scope,
      ...(namespaces && { namespaces }),
      ...(phase && { phase }),
    })),
  } satisfies z.output<typeof optionsSchema>;
}
