import { StatusError } from '../api/status.ts';
import type { ServiceClient } from './kubernetes-client.ts';
import { errorCode, upstreamRefusal } from './upstream-error.ts';

const probeMs = 5_000;

/** Returns the reason why the API server does not answer the service's own account, undefined if it does. */
export async function serverProblem(client: ServiceClient): Promise<string | undefined> {
  const signal = AbortSignal.timeout(probeMs);
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    await client.request({ call: 'create selfsubjectreviews', method: 'POST', path, body, signal });
    return undefined;
  } catch (error) {
    const said = upstreamRefusal(error);
    if (said !== undefined) return `refuses the account: ${said.status.code} ${said.status.reason ?? ''}`.trim();
    const cause = error instanceof StatusError ? error.cause : error;
    return `cannot be reached (${signal.aborted ? 'no answer in time' : (errorCode(cause) ?? 'unexpected answer')})`;
  }
}
