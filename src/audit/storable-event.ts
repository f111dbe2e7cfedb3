/** Events in the form that the audit store takes. */
import type { AuditEvent } from '@atrium/audit-store/event.ts';

const maxStubTextLength = 512;

/**
 * Returns a value of JSON whose texts are well-formed Unicode. A bound of a text, or `\u` in the body of a request, leaves half of a
 * surrogate pair, which the API server takes and the audit store refuses.
 */
export const wellFormed = <T>(value: T): T => withTexts(value, (text) => text.toWellFormed());

/** Returns who did what to which object, when and with which outcome: an event whose details the store has refused. */
export function stubOf(event: AuditEvent): AuditEvent {
  const { auditID, cluster, source, event: occasion, verb, user, impersonatedUser, objectRef, stage, requestReceivedTimestamp } = event;
  const { outcome, responseStatus, requestID } = event;
  const stub: AuditEvent = {
    ...{ auditID, cluster, source, verb, sourceIPs: [], objectRef, requestReceivedTimestamp, outcome, reason: 'DetailsRefused' },
    ...(occasion !== undefined && { event: occasion }),
    ...(user && { user: { username: user.username } }),
    ...(impersonatedUser && { impersonatedUser: { username: impersonatedUser.username } }),
    ...(stage && { stage }),
    ...(responseStatus && { responseStatus }),
    ...(requestID !== undefined && { requestID }),
  };
  return withTexts(stub, (text) => text.slice(0, maxStubTextLength).toWellFormed());
}

function withTexts<T>(value: T, change: (text: string) => string): T;
function withTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((member) => withTexts(member, change));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withTexts(member, change)]));
}
