import type { ChainedEvent, Checkpoint } from './chain.ts';
import type { AuditEvent } from './event.ts';

/** Conditions that all hold. Each value is compared as it is. */
export interface AuditFilter {
  cluster?: string | undefined;
  /** User who did it, not the one as whom it was done. */
  actor?: string | undefined;
  /** User whose access the event is about. */
  requester?: string | undefined;
  source?: AuditEvent['source'] | undefined;
  /** Name of an action of the service. */
  event?: string | undefined;
  verb?: string | undefined;
  apiGroup?: string | undefined;
  resource?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
  session?: string | undefined;
  requestID?: string | undefined;
  outcome?: AuditEvent['outcome'] | undefined;
  /** Milliseconds since the epoch, inclusive. */
  from?: number | undefined;
  /** Milliseconds since the epoch, exclusive. */
  to?: number | undefined;
}

/** Place in the order of events, newest first: the last event of a page. */
export interface AuditPlace {
  time: number;
  sequence: number;
}

export interface AuditPage {
  events: AuditEvent[];
  /** Undefined at the end of the events. */
  last: AuditPlace | undefined;
}

/** Value by which events are counted. */
export type AuditDimension = 'hour' | 'actor' | 'verb' | 'object';

/** Number of the events that share a value. */
export interface AuditCount {
  /** Begin of the hour, in milliseconds since the epoch. */
  hour?: number | undefined;
  actor?: string | undefined;
  verb?: string | undefined;
  object?: AuditEvent['objectRef'] | undefined;
  count: number;
  failures: number;
}

export interface AuditCounts {
  /** Hours from the newest on; other values by their number, the largest first. */
  counts: AuditCount[];
  /** Number of the counted events. */
  total: number;
  /** Time of the oldest counted event; set where older events may not be counted. */
  oldest?: number | undefined;
}

export interface AuditStore {
  /** Resolves when all events are on disk. An event whose `auditID` is known is ignored, so that a batch can be sent again. */
  append(events: readonly AuditEvent[]): Promise<void>;
  /** Returns the newest events, or those before a place. */
  list(filter: AuditFilter, page: { limit: number; before?: AuditPlace | undefined }): Promise<AuditPage>;
  /** Counts a bounded number of the newest events by one value. */
  count(filter: AuditFilter, by: AuditDimension): Promise<AuditCounts>;
  stop(): Promise<void>;
}

/** A store that owns its data: their chain, and their end. */
export interface AuditDatabase extends AuditStore {
  /** Returns events as an export has them, in the order of their arrival. */
  chain(after: number, limit: number): Promise<ChainedEvent[]>;
  /** Returns a checkpoint at the newest event, to be signed and kept elsewhere; undefined without events. */
  checkpoint(): Promise<Checkpoint | undefined>;
  /** Returns the number of the newest event for which a checkpoint was made. */
  lastCheckpoint(): Promise<number | undefined>;
  /**
   * Returns the checkpoint through which a bounded number of events is older than a time, in milliseconds since the epoch. Sign it before
   * the removal: it takes the place of the removed events. The newest event always stays.
   */
  expired(before: number): Promise<Checkpoint | undefined>;
  /** Deletes a bounded number of the oldest events through a sequence, and returns their number: 0 at the end. */
  remove(through: number): Promise<number>;
}
