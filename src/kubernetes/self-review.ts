import { serviceUnavailable } from '../api/status.ts';
import type { CallerClient } from './kubernetes-client.ts';
import { UpstreamError } from './upstream-error.ts';

export interface SelfReview {
  group: 'authentication.k8s.io' | 'authorization.k8s.io';
  kind: 'SelfSubjectReview' | 'SelfSubjectAccessReview' | 'SelfSubjectRulesReview';
  spec?: unknown;
  signal: AbortSignal;
}

/**
 * Asks the API server about the caller themselves; nothing is stored by that, so it may be asked again.
 *
 * @returns the review with its status, as it came
 * @throws UpstreamError what the API server refused with
 * @throws StatusError 503 if it cannot be asked: out of reach, a fault of its own, or no such review, whose 404 must not look like that
 *   of an object; 504
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
    if (error instanceof UpstreamError && cannotBeAsked(error.status.code)) throw serviceUnavailable('kubernetes', { cause: error });
    throw error;
  }
}

/** 503 and 504 say so themselves, with their own Retry-After. */
const cannotBeAsked = (code: number) => code === 404 || code === 405 || (code >= 500 && code !== 503 && code !== 504);
