import { type StatusError, serviceUnavailable, wholeRetrySeconds } from '../api/status.ts';
import type { Connection } from './connection.ts';
import { rightMissing } from './missing-rights.ts';
import { isRefusal, UpstreamError } from './upstream-error.ts';

/**
 * Sends a call with our own credential. One that was refused is read again at once: nothing has happened by then, so any call may be
 * made again.
 *
 * @throws UpstreamError what the API server refused with; 401 if it does not accept the new credential either
 * @throws StatusError 503 if there is no credential to be read
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

/** What our own account is or may not do is our trouble: passed on, it would tell callers something untrue about themselves. */
export const ourTrouble = (cause: unknown): StatusError => {
  const missing = rightMissing(cause);
  if (missing !== undefined) return missing;
  const retryAfterMs = cause instanceof UpstreamError ? cause.retryAfterMs : undefined;
  const wait = retryAfterMs === undefined ? {} : { retryAfterSeconds: wholeRetrySeconds(retryAfterMs) };
  return serviceUnavailable('kubernetes', { cause, ...wait });
};
