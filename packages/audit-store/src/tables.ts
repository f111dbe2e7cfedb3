/** The table of the events, and its rows. Values by which events are searched have columns; the rest is JSON. */
import { type AuditEvent, auditEvent } from './event.ts';

interface EventRow {
  /** Number of the event in the order of their arrival, without a gap. */
  sequence: number;
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
  source: string;
  event: string;
  /** User whose access the event is about. */
  requester: string;
  outcome: AuditEvent['outcome'];
  session: string;
  request_id: string;
  rest: string;
  /** SHA-256 over the event, its number and the hash of the event before. */
  hash: Uint8Array;
}

export interface Tables {
  events: EventRow;
  /** Parts of the events in the order of their arrival, which the index is made of. */
  segments: {
    /** Number of its first event. */
    first: number;
    last: number;
    /** Time of the event that is oldest, in milliseconds since the epoch. */
    oldest: number;
    newest: number;
    /** Time of each event, as a double in little-endian order. */
    times: Uint8Array;
  };
  /** Groups of consecutive segments. */
  segment_groups: {
    /** Number of the first event of its first segment. */
    first: number;
    /** Number of the last event once the group is full. */
    last: number;
    oldest: number;
    newest: number;
    /** Number of the buckets of its segments that are merged into those of the group. */
    merged: number;
  };
  /** Events of a segment or a group that have a value: the postings of all keys, in buckets. */
  postings: {
    /** Number of the first event of the segment or the group. */
    segment: number;
    bucket: number;
    postings: Uint8Array;
  };
  /** Numbers of the checkpoints that are known to be kept outside. */
  checkpoints: { sequence: number };
  /** Events of doors whose act the API server has told, too. */
  joins: {
    /** Number of the event of the door. */
    sequence: number;
    /** Id of the event of the API server. */
    id: string;
  };
  /** Events of the API server that wait for the event of a door. */
  unjoined: { id: string; door_id: string; time: number; event: string };
  /** Number through which events were exported. */
  exports: { sequence: number };
  recordings: {
    id: string;
    cluster: string;
    actor: string;
    namespace: string;
    name: string;
    /** Milliseconds since the epoch. */
    started: number;
    /** Time of the last output. */
    changed: number;
    /** The recording as JSON. */
    rest: string;
  };
  recording_parts: {
    recording: string;
    number: number;
    /** Lines of asciicast, compressed by gzip. Empty if an object of a bucket has them. */
    lines: Uint8Array;
    /** Bytes of this object. */
    object_bytes: number;
  };
}

/** Members of an event without a column. */
export type Rest = Pick<
  AuditEvent,
  'access' | 'accessToken' | 'action' | 'connection' | 'grant' | 'impersonatedUser' | 'members' | 'reason' | 'shell'
> &
  Pick<NonNullable<AuditEvent['user']>, 'uid' | 'groups'> &
  Pick<AuditEvent['objectRef'], 'subresource'> &
  Record<string, unknown>;

export const restOf = (rest: string): Rest => JSON.parse(rest) as Rest;

/** Texts that PostgreSQL does not store, and the mark of those that were changed for it. */
const unstorable = /[\0\\]/;

/** Returns the text in the form that every database stores: with NUL, backslash and halves of surrogate pairs as escapes of JSON. */
export const stored = (text: string): string => (unstorable.test(text) || !text.isWellFormed() ? JSON.stringify(text).slice(1, -1) : text);

export const restored = (text: string): string => (text.includes('\\') ? String(JSON.parse(`"${text}"`)) : text);

/** An event without its place in the chain. */
export type EventColumns = Omit<EventRow, 'sequence' | 'hash'>;

export function rowOf(event: AuditEvent): EventColumns {
  const { auditID, cluster, source, event: occasion, verb, user, objectRef, outcome, ...more } = event;
  const { requestReceivedTimestamp, session, requestID, ...others } = more;
  const { apiGroup, resource, subresource, namespace = '', name = '' } = objectRef;
  return {
    id: stored(auditID),
    time: Date.parse(requestReceivedTimestamp),
    cluster: stored(cluster),
    actor: stored(user?.username ?? ''),
    verb: stored(verb),
    api_group: stored(apiGroup),
    resource: stored(resource),
    namespace: stored(namespace),
    name: stored(name),
    source,
    event: stored(occasion ?? ''),
    requester: stored(others.access?.requester ?? ''),
    outcome,
    session: stored(session ?? ''),
    request_id: stored(requestID ?? ''),
    rest: JSON.stringify({ ...others, uid: user?.uid, groups: user?.groups, subresource } satisfies Rest),
  };
}

export const eventOf = (row: EventColumns): AuditEvent => auditEvent.parse(membersOf(row));

/** Returns an event with all members that a version of the store has written. */
export function membersOf(row: EventColumns): Record<string, unknown> {
  const { uid, groups, subresource, ...others } = restOf(row.rest);
  return {
    ...others,
    auditID: restored(row.id),
    cluster: restored(row.cluster),
    source: row.source,
    ...(row.event !== '' && { event: restored(row.event) }),
    verb: restored(row.verb),
    ...(row.actor !== '' && {
      user: { username: restored(row.actor), ...(uid !== undefined && { uid }), ...(groups !== undefined && { groups }) },
    }),
    objectRef: {
      apiGroup: restored(row.api_group),
      resource: restored(row.resource),
      ...(subresource !== undefined && { subresource }),
      ...(row.namespace !== '' && { namespace: restored(row.namespace) }),
      ...(row.name !== '' && { name: restored(row.name) }),
    },
    requestReceivedTimestamp: new Date(row.time).toISOString(),
    outcome: row.outcome,
    ...(row.session !== '' && { session: restored(row.session) }),
    ...(row.request_id !== '' && { requestID: restored(row.request_id) }),
  };
}
