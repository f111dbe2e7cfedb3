import { timestamp } from '@atrium/kubernetes/clock.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import type { AccessContext } from './context.ts';
import { accessRequestKind, type Decision, type Notice, type Phase, type RequestRow, type Review, requestRow } from './request.ts';
import type { LapseReason } from './standing.ts';

/** Members of a status that a transition writes. */
export interface Transition {
  phase?: Phase;
  reason?: string;
  message?: string;
  begin?: string;
  until?: string;
  ended?: string;
  endedBy?: string;
  binding?: string;
  decisions?: readonly Decision[];
  review?: Review;
  rulesHash?: string;
  rulesChangedAt?: string;
  notices?: readonly Notice[];
}

export const requestsOf = ({ services }: Pick<AccessContext, 'services'>): ServiceResource =>
  new ServiceResource(services.client, accessRequestKind);

/** Reads a request from the API server. @throws StatusError 503, 504 */
export async function readRequest(context: AccessContext, name: string, signal: AbortSignal): Promise<RequestRow | undefined> {
  const object = await requestsOf(context).get(name, signal);
  return object && requestRow(object);
}

/**
 * Writes the status of a request, unless it was changed since it was read. Replicas and requests race here, and one wins. An end before
 * `until` becomes `until`: access that has ended never shows an end ahead.
 *
 * @param isAudited true if an audit event of the same request tells the write
 * @returns the request as it is now; 'conflict' if it was changed or deleted
 * @throws StatusError 503, 504
 */
export async function transition(
  context: AccessContext,
  { name, resourceVersion, until }: Pick<RequestRow, 'name' | 'resourceVersion' | 'until'>,
  change: Transition,
  signal: AbortSignal,
  isAudited = false,
): Promise<RequestRow | 'conflict'> {
  const { ended } = change;
  const status = ended !== undefined && Date.parse(ended) < until ? { ...change, until: ended } : change;
  const written = await requestsOf(context).patchStatus(name, { metadata: { resourceVersion }, status }, { signal, isAudited });
  if (written === 'conflict' || written === 'gone') return 'conflict';
  await context.requests.cache.waitForWrite(written.metadata.resourceVersion, signal);
  return requestRow(written);
}

/** Bound of `status.message` in the definition. */
const maxMessage = 1024;

/** Returns the status members of a final phase that the service reaches. */
export const finalStatus = (
  phase: 'Lapsed' | 'Ended',
  { reason, message }: Pick<LapseReason, 'message'> & { reason: string },
  now: Date,
): Transition => ({
  phase,
  reason,
  message: message.length > maxMessage ? `${message.slice(0, maxMessage - 1)}…` : message,
  ended: timestamp(now),
});
