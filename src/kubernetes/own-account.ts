import { type StatusError, serviceUnavailable, wholeRetrySeconds } from '../api/status.ts';
import type { Connection } from './connection.ts';
import { rightMissing } from './missing-rights.ts';
import { isRefusal, UpstreamError } from './upstream-error.ts';

/**
 * Sends a call with the service's own credential. A refused credential is read again, and the call repeated: the API server has not
 * executed it, so that any call can be repeated.
 *
 * @throws UpstreamError the refusal of the API server; 401 if it refuses the new credential, too
 * @throws StatusError 503 if the credential cannot be read
 */
export async function asOwnAccount<T>(connection: Connection, send: (authorization: string | undefined) => Promise<T>): Promise<T> {
  const first = await authorizationOf(connection);
  try {
    return await send(first);
  } catch (error) {
    if (!isRefusal(error, 401)) throw error;
    connection.discardAuthorization(first);
    const second = await authorizationOf(connection);
    if (second === first) throw error;
    return await send(second);
  }
}

async function authorizationOf(connection: Connection): Promise<string | undefined> {
  try {
    return await connection.authorization();
  } catch (cause) {
    throw serviceUnavailable('kubernetes', { cause });
  }
}

/** Returns a 503 for a refusal of the service's own account. The refusal itself would tell callers something untrue about themselves. */
export const ownAccountRefused = (cause: unknown): StatusError => {
  const missing = rightMissing(cause);
  if (missing !== undefined) return missing;
  const retryAfterMs = cause instanceof UpstreamError ? cause.retryAfterMs : undefined;
  const wait = retryAfterMs === undefined ? {} : { retryAfterSeconds: wholeRetrySeconds(retryAfterMs) };
  return serviceUnavailable('kubernetes', { cause, ...wait });
};
