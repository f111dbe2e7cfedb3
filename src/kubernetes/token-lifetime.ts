import { decodeJwt } from 'jose';

/** Of an access token, or one of a cluster's own file, there is nothing to decode, and to find that out by an error takes long. */
const jwtPattern = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Milliseconds until a token that the API server has accepted expires; Infinity if it does not say. Only ever a reason to forget an
 * answer sooner: nothing is decided by the content of a token that was not verified here.
 */
export function tokenLifetimeMs(token: string, now: Date): number {
  if (!jwtPattern.test(token)) return Number.POSITIVE_INFINITY;
  try {
    const { exp } = decodeJwt(token);
    return typeof exp === 'number' ? exp * 1000 - now.getTime() : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
