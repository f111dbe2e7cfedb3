import { decodeJwt } from 'jose';
import { serviceUnavailable } from '../api/status.ts';
import type { CallerClient } from './kubernetes-client.ts';
import { UpstreamError } from './upstream-error.ts';

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

export interface SelfReview {
  group: 'authentication.k8s.io' | 'authorization.k8s.io';
  kind: 'SelfSubjectReview' | 'SelfSubjectAccessReview' | 'SelfSubjectRulesReview' | 'SubjectAccessReview';
  spec?: unknown;
  signal: AbortSignal;
}

/**
 * Sends a review with the rights of the caller. The API server stores nothing, so that it can be repeated.
 *
 * @returns the review with its status, unchanged
 * @throws UpstreamError the refusal of the API server
 * @throws StatusError 503 if the API server cannot be reached, fails, or does not know the review, whose 404 must not look like that of an
 * object; 504
 */
export async function selfReview(client: CallerClient, { group, kind, spec, signal }: SelfReview): Promise<unknown> {
  const resource = `${kind.toLowerCase()}s`;
  try {
    return await client.request({
      call: `create ${resource}`,
      method: 'POST',
      path: `/apis/${group}/v1/${resource}`,
      body: { apiVersion: `${group}/v1`, kind, ...(spec !== undefined && { spec }) },
      isRepeatable: true,
      signal,
    });
  } catch (error) {
    if (error instanceof UpstreamError && isUnavailable(error.status.code)) throw serviceUnavailable('kubernetes', { cause: error });
    throw error;
  }
}

/** Reports whether a refusal becomes a 503. 503 and 504 are passed on, with their Retry-After. */
const isUnavailable = (code: number) => code === 404 || code === 405 || (code >= 500 && code !== 503 && code !== 504);
