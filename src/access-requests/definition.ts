import { labelPattern } from '@atrium/objects/labels.ts';
import { z } from 'zod';
import type { StandardResource } from '../collection/resource-declaration.ts';
import type { AccessContext } from './context.ts';
import { accessPolicyKind, accessPolicySchema, type PolicyRow, policyProperties } from './policy.ts';
import { accessRequestKind, accessRequestSchema, type RequestRow, requestName, requestProperties } from './request.ts';
import { findRequest, getPolicy, requestParameters, visiblePolicies, visibleRequests } from './strategy.ts';

export const accessTag = 'access requests';

export const policyName = z.string().max(63).regex(labelPattern).describe('Name of the AccessPolicy.');

/** AccessPolicies as a resource that is read with the standard operations. Administrators write them with kubectl. */
export const policyDefinition = (context: AccessContext): StandardResource<PolicyRow, never, never> => ({
  kind: accessPolicyKind,
  path: '/auth/v1/accesspolicies',
  tag: accessTag,
  ids: { one: 'AccessPolicy', many: 'AccessPolicies' },
  nouns: { one: 'policy', many: 'policies' },
  name: policyName,
  schema: accessPolicySchema,
  properties: policyProperties,
  list: {
    summary: 'Lists the policies that let the caller ask for access',
    description: 'Callers who may list AccessPolicies see all, with their subjects and approvers.',
    select: visiblePolicies(context),
  },
  get: {
    summary: 'Shows a policy that lets the caller ask for access',
    find: (name, { caller, signal }) => getPolicy(context, name, caller, signal),
  },
});

/** AccessRequests as a resource that is read with the standard operations. Its other operations are in `routes.ts`. */
export const requestDefinition = (context: AccessContext): StandardResource<RequestRow, never, never> => ({
  kind: accessRequestKind,
  path: '/auth/v1/accessrequests',
  tag: accessTag,
  ids: { one: 'AccessRequest', many: 'AccessRequests' },
  nouns: { one: 'request', many: 'requests' },
  name: requestName,
  schema: accessRequestSchema,
  properties: requestProperties,
  list: {
    summary: "Lists the caller's requests, and those that the caller may decide on",
    description: 'Callers who may list AccessRequests see all.',
    parameters: requestParameters,
    select: visibleRequests(context),
  },
  get: { summary: 'Shows a request; with the rules of its role to approvers', find: findRequest(context) },
});
