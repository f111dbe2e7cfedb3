import type { AuditEvent } from './event.ts';

/** Conditions that all hold. Each value is compared as it is. */
export interface AuditFilter {
  cluster?: string | undefined;
  /** User who did it, not the one as whom it was done. */
  actor?: string | undefined;
  verb?: string | undefined;
  apiGroup?: string | undefined;
  resource?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
  session?: string | undefined;
  requestID?: string | undefined;
  outcome?: 'success' | 'failure' | undefined;
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

export interface AuditStore {
  /** Resolves when all events are on disk. An event whose `auditID` is known is ignored, so that a batch can be sent again. */
  append(events: readonly AuditEvent[]): Promise<void>;
  /** Returns the newest events, or those before a place. */
  list(filter: AuditFilter, page: { limit: number; before?: AuditPlace | undefined }): Promise<AuditPage>;
  stop(): Promise<void>;
}
