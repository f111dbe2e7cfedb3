/** Failures in the OpenAPI document: one body, an example for each status, and the statuses that any operation may give. */
import {
  badParameter,
  conflict,
  entityTooLarge,
  expired,
  forbidden,
  headersTooLarge,
  internalError,
  invalid,
  methodNotAllowed,
  notFound,
  rangeNotSatisfiable,
  type StatusError,
  serviceUnavailable,
  timedOut,
  tooManyRequests,
  unauthorized,
  unsupportedMediaType,
} from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import type { CredentialRule } from '../operation.ts';

const statusCause = z
  .object({ reason: z.string().optional(), message: z.string().optional(), field: z.string().optional() })
  .meta({ id: 'StatusCause' });
const statusDetails = z
  .object({
    name: z.string().optional(),
    group: z.string().optional(),
    kind: z.string().optional(),
    uid: z.string().optional(),
    causes: z.array(statusCause).optional(),
    retryAfterSeconds: z.int32().optional(),
  })
  .meta({ id: 'StatusDetails' });
const listMeta = z
  .object({
    continue: z.string().optional(),
    remainingItemCount: z.int().optional(),
    resourceVersion: z.string().optional(),
    selfLink: z.string().optional(),
  })
  .meta({ id: 'ListMeta' });
const status = z
  .object({
    apiVersion: z.string().optional(),
    kind: z.string().optional(),
    code: z.int32().optional(),
    status: z.string().optional(),
    reason: z.string().optional(),
    message: z.string().optional(),
    details: statusDetails.optional(),
    metadata: listMeta.optional(),
  })
  .meta({ id: 'Status', description: 'The error body of every operation: a Status of Kubernetes.' });

const users = { group: 'auth.platform.io', resource: 'users' };
const jane = '8c87b489ce35cf2e2f39f80e282cb2e8';

/** Made as the service makes them. */
const failures: Record<number, StatusError> = {
  400: badParameter('limit', 'must be an integer from 1; more than 1000 counts as 1000'),
  401: unauthorized({ tokenGiven: true }),
  403: forbidden({ ...users, name: jane, verb: 'get', user: 'bob@example.com' }),
  404: notFound(users, jane),
  405: methodNotAllowed('PUT', ['GET', 'HEAD', 'OPTIONS']),
  409: conflict(users, jane, 'the object has been modified; please apply your changes to the latest version and try again'),
  410: expired('the continue token is older than an hour; start again'),
  413: entityTooLarge('the body is larger than 1048576 bytes'),
  415: unsupportedMediaType(['application/json']),
  416: rangeNotSatisfiable(1024),
  422: invalid({ group: users.group, kind: 'User', name: jane }, [
    { reason: 'FieldValueInvalid', message: 'Invalid value: "***": is a common password', field: 'spec.password' },
  ]),
  429: tooManyRequests('too many requests of yours are under way, try again'),
  431: headersTooLarge(),
  500: internalError(),
  503: serviceUnavailable('kubernetes'),
  504: timedOut('kubernetes'),
};

/** Failures that every operation may give (docs/contract/conventions.md). */
const ofAny: Record<number, string> = {
  400: 'A parameter or the body is invalid.',
  405: 'The method is not allowed on this path.',
  413: 'The body is too large.',
  415: 'The media type or the encoding of the body is not supported.',
  429: 'Too many requests.',
  431: 'The headers are too large.',
  500: 'Internal error of the service.',
  503: 'A server that the service depends on cannot be reached.',
  504: 'A server that the service depends on did not answer in time.',
};

const ofCredentials = { 401: 'The credential is missing or not accepted.' };
const ofCallers = {
  403: 'The caller must change the password, or a session came without proof that the request comes from a page of this console.',
};

const retryAfter = { 'Retry-After': 'Seconds to wait before a retry.' };

const headersOf: Record<number, Record<string, string>> = {
  401: { 'WWW-Authenticate': 'RFC 6750, section 3.' },
  405: { Allow: 'The methods of this path.' },
  429: retryAfter,
  503: retryAfter,
  504: retryAfter,
};

export const describedHeaders = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' as const } }]));

/** A failure in an operation's own words. */
export function failureResponse(code: number, description: string): ZodOpenApiResponseObject {
  const headers = headersOf[code];
  const examples = failures[code] && { examples: { Status: { $ref: `#/components/examples/Status${code}` } } };
  return {
    description,
    content: { 'application/json': { schema: status, ...examples } },
    ...(headers && { headers: describedHeaders(headers) }),
  };
}

/** Returns references to the failures that every operation may give. */
export function sharedFailures(credential: CredentialRule): Record<string, { $ref: string }> {
  const isNeeded = credential === 'required' || credential === 'forwarded';
  const codes = Object.keys({ ...ofAny, ...(credential !== 'none' && ofCredentials), ...(isNeeded && ofCallers) });
  return Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/responses/Status${code}` }]));
}

/** Targets of the references. */
export const failureComponents = {
  responses: Object.fromEntries(
    Object.entries({ ...ofAny, ...ofCredentials, ...ofCallers }).map(([code, text]) => [
      `Status${code}`,
      failureResponse(Number(code), text),
    ]),
  ),
  examples: Object.fromEntries(Object.entries(failures).map(([code, failure]) => [`Status${code}`, { value: failure.status }])),
};
