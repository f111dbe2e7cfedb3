/** Refusals with the text of the API server, where the service's own texts differ. */

import { type GroupResource, StatusError } from '../../../src/api/status.ts';

export const pathUnknown = () => new StatusError(404, 'NotFound', 'the server could not find the requested resource', { details: {} });

export const methodRefused = () =>
  new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', { details: {} });

/** 405 for a custom resource, which is named by its resource. */
export const verbRefused = (verb: string, { group, resource }: GroupResource) =>
  new StatusError(405, 'MethodNotAllowed', `${verb} is not supported on resources of kind "${resource}.${group}"`, {
    details: { group, kind: resource },
  });

/** Returns a 500 without a reason, as upstream answers for some mistakes of the client. */
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
