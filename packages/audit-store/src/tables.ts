/** The table of the events, and its rows. Values by which events are searched have columns; the rest is JSON. */
import type { Generated } from 'kysely';
import { type AuditEvent, auditEvent } from './event.ts';

interface EventRow {
  sequence: Generated<number>;
  id: string;
  /** Milliseconds since the epoch. */
  time: number;
  cluster: string;
  actor: string;
  verb: string;
  api_group: string;
  resource: string;
  namespace: string;
  name: string;
  code: number;
  session: string;
  request_id: string;
  rest: string;
}

export interface Tables {
  events: EventRow;
}

/** Members of an event without a column. */
type Rest = Pick<AuditEvent['user'], 'uid'> & Pick<AuditEvent['objectRef'], 'subresource'> & Record<string, unknown>;

export function rowOf(event: AuditEvent): Omit<EventRow, 'sequence'> {
  const { auditID, cluster, verb, user, objectRef, responseStatus, requestReceivedTimestamp, session, requestID, ...others } = event;
  const { apiGroup, resource, subresource, namespace = '', name = '' } = objectRef;
  return {
    id: auditID,
    time: Date.parse(requestReceivedTimestamp),
    cluster,
    actor: user.username,
    verb,
    api_group: apiGroup,
    resource,
    namespace,
    name,
    code: responseStatus.code,
    session: session ?? '',
    request_id: requestID,
    rest: JSON.stringify({ ...others, uid: user.uid, subresource } satisfies Rest),
  };
}

export function eventOf(row: Omit<EventRow, 'sequence'>): AuditEvent {
  const { uid, subresource, ...others } = JSON.parse(row.rest) as Rest;
  return auditEvent.parse({
    ...others,
    auditID: row.id,
    cluster: row.cluster,
    verb: row.verb,
    user: { username: row.actor, ...(uid !== undefined && { uid }) },
    objectRef: {
      apiGroup: row.api_group,
      resource: row.resource,
      ...(subresource !== undefined && { subresource }),
      ...(row.namespace !== '' && { namespace: row.namespace }),
      ...(row.name !== '' && { name: row.name }),
    },
    requestReceivedTimestamp: new Date(row.time).toISOString(),
    responseStatus: { code: row.code },
    ...(row.session !== '' && { session: row.session }),
    requestID: row.request_id,
  });
}
