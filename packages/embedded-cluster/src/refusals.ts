/** Refusals worded as the API server words them, where the service's own are worded otherwise. */

import { type GroupResource, StatusError } from '../../../src/api/status.ts';

export const pathUnknown = () => new StatusError(404, 'NotFound', 'the server could not find the requested resource', { details: {} });

export const methodRefused = () =>
  new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', { details: {} });

/** Of a custom resource, which names itself. */
export const verbRefused = (verb: string, { group, resource }: GroupResource) =>
  new StatusError(405, 'MethodNotAllowed', `${verb} is not supported on resources of kind "${resource}.${group}"`, {
    details: { group, kind: resource },
  });

/** 500 without a reason: what upstream has no better answer for, though it is the client's fault. */
export function unclassified(message: string): StatusError {
  const error = new StatusError(500, 'InternalError', message);
  delete error.status.reason;
  return error;
}

/** `accepted` are media types. */
export const bodyFormatUnknown = (accepted: readonly string[]) =>
  new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
