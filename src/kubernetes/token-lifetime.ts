import { decodeJwt } from 'jose';

/** Form of a JWT. Other tokens, such as access tokens and those of a token file, are not decoded, because the error is slow. */
const jwtPattern = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Returns the milliseconds until a token that the API server has accepted expires, Infinity if it has no expiry. Use it only to drop a
 * cached answer earlier: claims of a token that was not verified here decide nothing.
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
