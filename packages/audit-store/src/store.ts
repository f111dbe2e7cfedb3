import { z } from 'zod';
import { type AuditEvent, auditEvent } from './event.ts';
import type { RecordingDatabase, RecordingStore } from './recording.ts';

const equal = () => z.string().optional();
const milliseconds = () => z.int().optional();

const values = z.strictObject({
  auditID: equal(),
  cluster: equal(),
  actor: equal().describe('User who did it, not the one as whom it was done.'),
  requester: equal().describe('User who gets the access of the event.'),
  source: auditEvent.shape.source.optional(),
  event: equal().describe('Name of an action of the service.'),
  verb: equal(),
  apiGroup: equal(),
  resource: equal(),
  namespace: equal(),
  name: equal(),
  session: equal(),
  requestID: equal(),
  outcome: auditEvent.shape.outcome.optional(),
  involvedUser: equal().describe('User who did it, for whom it was done, or whom it names, by the name in Kubernetes.'),
  involvedRecord: equal().describe('User record that is the object, or that the event names.'),
  from: milliseconds().describe('Milliseconds since the epoch, inclusive.'),
  to: milliseconds().describe('Milliseconds since the epoch, exclusive.'),
});

/** Conditions that all hold. Each value is compared as it is. An unknown condition is refused: ignoring it would show more events. */
export const auditFilter = values.extend({
  accessToken: equal().describe('Access token with which it was done.'),
  action: equal().describe('Action that an event tells.'),
  actorGroup: equal().describe('Group of the user who did it, at that time.'),
  subresource: equal(),
  text: equal().describe('Words that the event has, in any case and order.'),
  anyOf: z.array(values).min(1).max(24).optional().describe('Conditions of which at least one holds, too.'),
});

export type AuditFilter = z.output<typeof auditFilter>;

/** Place in the order of events, newest first: the last event of a page. */
export const auditPlace = z.strictObject({ time: z.int(), sequence: z.int() });

export type AuditPlace = z.output<typeof auditPlace>;

export const auditPage = z.object({
  events: z.array(auditEvent),
  last: auditPlace.optional().describe('Undefined at the end of the events.'),
  newest: z.int().optional().describe('Number of the newest event in the store; the page has none that came later.'),
});

export interface AuditPage {
  events: AuditEvent[];
  /** Undefined at the end of the events. */
  last?: AuditPlace | undefined;
  /** Number of the newest event in the store; the page has none that came later. Undefined for a store of an earlier version. */
  newest?: number | undefined;
}

/** Value by which events are counted. */
export const auditDimension = z.enum(['hour', 'actor', 'verb', 'object']);

export type AuditDimension = z.output<typeof auditDimension>;

/** Number of the events that share a value. */
export const auditCount = z.object({
  hour: milliseconds().describe('Begin of the hour, in milliseconds since the epoch.'),
  actor: equal(),
  verb: equal(),
  object: auditEvent.shape.objectRef.optional(),
  count: z.int(),
  failures: z.int(),
  withToken: z.int().optional().describe('Number of those that were done with an access token, for counts by actor.'),
});

export type AuditCount = z.output<typeof auditCount>;

export const auditCounts = z.object({
  counts: z.array(auditCount).describe('Hours from the newest on; other values by their number, the largest first.'),
  total: z.int().describe('Number of the counted events.'),
  oldest: milliseconds().describe('Time of the oldest counted event; set where older events may not be counted.'),
});

export type AuditCounts = z.output<typeof auditCounts>;

/** An event with its place in the chain. */
export const chainedEvent = z.object({ sequence: z.int(), hash: z.string(), event: z.looseObject({}) });

const chainPlace = chainedEvent.omit({ event: true });

export const checkpoint = chainPlace.extend({
  time: z.iso.datetime(),
  count: z.int(),
  removed: chainPlace
    .optional()
    .describe('Last event that the retention may have removed, with those before it. Missing in checkpoints of earlier versions.'),
});

/** A part of the chain, in the order of its events. */
export const chainPart = z.object({
  events: z.array(chainedEvent),
  newest: z.int().optional().describe('Number of the newest event for which the store knows a kept checkpoint.'),
});

export type ChainPart = z.output<typeof chainPart>;

/** Checkpoints to be signed and kept outside of the store. */
export const proposal = z.object({
  start: z.int().describe('Number of the event before the first one.'),
  first: chainPlace.optional().describe('First event. A store of an earlier version does not tell it.'),
  newest: chainPlace.optional().describe('Newest checkpoint that the store knows to be kept, with the present hash.'),
  end: checkpoint.optional().describe('Checkpoint at the newest event.'),
  cut: checkpoint.optional().describe('Checkpoint through which events have expired. They are removed once a kept one allows it.'),
});

export type Proposal = z.output<typeof proposal>;

/** Room of a store with a bound of its bytes. */
export const storeUsage = z.object({
  bytes: z.int().describe('Bytes that the events and their index take.'),
  maxBytes: z.int().describe('Bound of these bytes.'),
  isNearlyFull: z.boolean().describe('True from nine tenths of the bound on.'),
  whenFull: z
    .enum(['removeOldest', 'refuse'])
    .describe('`removeOldest`: the oldest events are removed at the bound. `refuse`: further events are refused.'),
  oldest: z.iso.datetime().optional().describe('Time of the oldest event.'),
});

export type StoreUsage = z.output<typeof storeUsage>;

export interface AuditStore {
  readonly recordings: RecordingStore;
  /** Resolves when all events are on disk. An event whose `auditID` is known is ignored, so that a batch can be sent again. */
  append(events: readonly AuditEvent[]): Promise<void>;
  /** Returns the newest events, or those before a place. */
  list(filter: AuditFilter, page: { limit: number; before?: AuditPlace | undefined }): Promise<AuditPage>;
  /** Counts a bounded number of the newest events by one value. */
  count(filter: AuditFilter, by: AuditDimension): Promise<AuditCounts>;
  /** Returns events in the order of their arrival. */
  chain(after: number, limit: number): Promise<ChainPart>;
  /**
   * Proposes checkpoints.
   *
   * @param kept numbers of the checkpoints that are kept outside; ignored if a newer one is known
   * @param removable removal of expired events that they allow
   */
  propose(kept: readonly number[], removable?: RemovableEvents): Promise<Proposal>;
  /** Returns the room of the store; undefined without a bound. Missing for a store whose bound its owner knows. */
  usage?(): Promise<StoreUsage | undefined>;
  stop(): Promise<void>;
}

export interface RemovableEvents {
  /** Number through which signed checkpoints let expired events be removed. Without it none are. */
  removable?: number | undefined;
}

/** Events that are kept. Without a bound all are. */
export interface AuditRetention extends RemovableEvents {
  /** Time before which events have expired, in milliseconds since the epoch. */
  before?: number | undefined;
  /** Number of the newest events that have not expired. */
  maxEvents?: number | undefined;
  /** Bytes of the database above which the oldest events have expired. Ignored by a database that does not tell its bytes. */
  maxBytes?: number | undefined;
}

/** Begin of the ids of events of the service that tell a write with its account, as `sent-writes.ts` of `http` makes them. */
export const ownWriteMark = 'own-write-';

/** Events beyond a bound, by their numbers. */
export interface ExpiredEvents {
  first: number;
  last: number;
  reason: 'Age' | 'Number' | 'Size';
}

/** An event that an API server tells. */
export interface ApiServerEvent {
  event: AuditEvent;
  /**
   * Id of the event of the door through which the request came, or of the service; undefined for a request that came from elsewhere. An id
   * that begins with `ownWriteMark` is given only to a request that the account of the service made as itself.
   */
  doorID?: string | undefined;
}

/** Numbers of events of an API server. */
export interface Joined {
  /** Events that became events of their own. */
  appended: number;
  /** Events about an act that an event of a door tells. */
  joined: number;
  /** Events that wait for the event of a door. */
  waiting: number;
}

/** State of the index, whose segments an update may have removed. */
export interface IndexState {
  /** Events that are not in segments yet; 0 once all segments are made. */
  left: number;
  /** Reason why the last attempt to make a segment failed. */
  failure: string | undefined;
}

/** A store that owns its data: their chain, and their end. */
export interface AuditDatabase extends AuditStore {
  readonly recordings: RecordingDatabase;
  /**
   * Takes events of an API server, so that an act is one event. Resolves when all are on disk. An event of an API server waits for the
   * event of its door, unless too many do.
   */
  join(events: readonly ApiServerEvent[]): Promise<Joined>;
  /** Appends all events of an API server that have waited for a time, in milliseconds. Returns their number. */
  settle(waitedMs: number): Promise<number>;
  /** @param retention bounds for the cut */
  propose(kept: readonly number[], retention?: AuditRetention): Promise<Proposal>;
  /**
   * Returns a bounded number of expired events that may be removed; undefined without any. The newest event always stays, and so does the
   * one of the newest kept checkpoint.
   */
  expired(retention: AuditRetention): Promise<ExpiredEvents | undefined>;
  /** Returns the bytes that events and their index take; undefined where the database does not tell. Free space of a file and recordings are not counted. */
  bytes(): Promise<number | undefined>;
  indexing(): Promise<IndexState>;
  /** Deletes a bounded number of the oldest events through a sequence, and returns their number: 0 at the end. */
  remove(through: number): Promise<number>;
  /** Returns the number through which events were exported; 0 before the first export. */
  exported(): Promise<number>;
  setExported(sequence: number): Promise<void>;
}
