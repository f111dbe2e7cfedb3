import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import { firstHash, hashOf } from './chain.ts';
import { firstBound, hasAll, withFurtherValues } from './conditions.ts';
import type { AuditEvent } from './event.ts';
import { isBehind, mergeNext } from './groups.ts';
import { asksForValue, probableEvents } from './probable-events.ts';
import { lastOfSegments, makeSegment } from './segments.ts';
import type { AuditFilter, AuditPage, AuditPlace } from './store.ts';
import { eventOf, membersOf, rowOf, stored, type Tables } from './tables.ts';

/** A database with the tables of the events. */
export interface EventDatabase {
  db: Kysely<Tables>;
  /** Makes other writers wait until the transaction ends, and the transaction wait for the disk when it ends. */
  begin(transaction: Transaction<Tables>): Promise<unknown>;
  /** Events of a segment of the index. */
  segmentSize: number;
  /** Number through which events are known to be in segments, or removed. */
  indexed: number;
  /** True while `indexEvents` has segments of earlier events to make, or to merge. Appends make none then, because one would make them all. */
  isIndexing: boolean;
  /** Returns the bytes in use. */
  bytes?(): number;
}

/** Rows in one statement: 500 took the processor 20 ms, for which a database without a thread of its own held the event loop. */
const rowsAtOnce = 100;

/** Returns the end of the chain; undefined without events. */
export const newestEvent = (db: Kysely<Tables>) =>
  db.selectFrom('events').select(['sequence', 'hash']).orderBy('sequence', 'desc').limit(1).executeTakeFirst();

/**
 * Numbers and inserts the events that are not there yet, in the only transaction that appends at the time.
 *
 * @returns the number through which events are in segments, once the transaction has ended
 */
export async function appendIn(transaction: Transaction<Tables>, events: readonly AuditEvent[], database: EventDatabase): Promise<number> {
  const newest = await newestEvent(transaction);
  let sequence = newest?.sequence ?? 0;
  let hash = newest === undefined ? firstHash : Buffer.from(newest.hash).toString('hex');
  for (let from = 0; from < events.length; from += rowsAtOnce) {
    const rows = new Map(events.slice(from, from + rowsAtOnce).map((event) => [stored(event.auditID), rowOf(event)]));
    for (const id of await knownIDs(transaction, [...rows.keys()])) rows.delete(id);
    const numbered = [...rows.values()].map((row) => {
      sequence += 1;
      hash = hashOf(hash, sequence, membersOf(row));
      return { sequence, ...row, hash: Buffer.from(hash, 'hex') };
    });
    if (numbered.length > 0) await transaction.insertInto('events').values(numbered).execute();
  }
  return await makeSegments(transaction, sequence, database);
}

/** Returns which ids the events have. */
export async function knownIDs(db: Kysely<Tables>, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  return (await db.selectFrom('events').select('id').where('id', 'in', ids).execute()).map(({ id }) => id);
}

/** Replaces the numbers of a table. */
export async function replaceNumbers({ db, begin }: EventDatabase, table: 'checkpoints' | 'exports', numbers: readonly number[]) {
  await db.transaction().execute(async (transaction) => {
    await begin(transaction);
    await transaction.deleteFrom(table).execute();
    await transaction
      .insertInto(table)
      .values(numbers.map((sequence) => ({ sequence })))
      .execute();
  });
}

/** Makes the segments for which there are events enough. Returns the number through which events are in segments, or removed. */
async function makeSegments(
  transaction: Transaction<Tables>,
  newest: number,
  { indexed, segmentSize, isIndexing }: Pick<EventDatabase, 'indexed' | 'segmentSize' | 'isIndexing'>,
): Promise<number> {
  if (isIndexing || newest - indexed < segmentSize) return indexed;
  const made = await makeSegment(transaction, newest, segmentSize);
  return made === indexed ? indexed : await makeSegments(transaction, newest, { indexed: made, segmentSize, isIndexing });
}

/** Finds out whether segments are missing. A step of the schema may have removed them, and a process may have ended while it made them. */
export async function readIndex(database: EventDatabase): Promise<void> {
  const { db, segmentSize } = database;
  const oldest = await db.selectFrom('events').select('sequence').orderBy('sequence').limit(1).executeTakeFirst();
  const last = await lastOfSegments(db);
  database.indexed = Math.max(last, (oldest?.sequence ?? 1) - 1);
  database.isIndexing = (await unindexed(database)) >= segmentSize || (await isBehind(db, last));
}

/** Returns the number of events after the last segment. */
export const unindexed = async ({ db, indexed }: EventDatabase): Promise<number> => ((await newestEvent(db))?.sequence ?? 0) - indexed;

/** Makes the missing segments, and merges those of full groups, each in a transaction of its own. Other calls have their turn in between. */
export async function indexEvents(database: EventDatabase, isStopped: () => boolean): Promise<void> {
  const { db, begin, segmentSize } = database;
  const makeNext = async (transaction: Transaction<Tables>) => {
    await begin(transaction);
    const indexed = await makeSegment(transaction, (await newestEvent(transaction))?.sequence ?? 0, segmentSize);
    return { indexed, isMore: indexed !== database.indexed || (await mergeNext(transaction, indexed)) };
  };
  while (database.isIndexing && !isStopped()) {
    const { indexed, isMore } = await db.transaction().execute(makeNext);
    database.indexed = indexed;
    database.isIndexing = isMore;
    // SQLite answers within a turn of the event loop.
    await nextTurn();
  }
}

/** Selects the events to which all conditions apply, newest first. */
const matchingEvents = (db: Kysely<Tables>, filter: AuditFilter) =>
  db.selectFrom('events').where(hasAll(filter)).orderBy('time', 'desc').orderBy('sequence', 'desc');

/** Yields selections of the events to which all conditions apply, newest first, in parts of a size or smaller ones. */
export async function* matchingParts(db: Kysely<Tables>, filter: AuditFilter, { limit, before }: PageRequest) {
  const partsOf = async (sequences: number[]) => {
    const having = await withFurtherValues(db, filter, sequences);
    return having.length === 0 ? [] : [matchingEvents(db, filter).where('sequence', 'in', having)];
  };
  if (asksForValue(filter)) {
    for await (const sequences of probableEvents(db, filter, { size: limit, before })) yield* await partsOf(sequences);
    return;
  }
  for (let last = firstBound(filter, before); ; ) {
    const page = matchingEvents(db, filter)
      .select(['time', 'sequence'])
      .where(({ eb, refTuple, tuple }) => eb(refTuple('time', 'sequence'), '<', tuple(last.time, last.sequence)));
    const places = await page.limit(limit).execute();
    yield* await partsOf(places.map((place) => place.sequence));
    if (places.length < limit) return;
    last = places.at(-1) ?? last;
  }
}

interface PageRequest {
  /** Number of events in each part but the last one. */
  limit: number;
  before?: AuditPlace | undefined;
}

export async function listEvents({ db }: EventDatabase, filter: AuditFilter, { limit, before }: PageRequest): Promise<AuditPage> {
  const newest = (await newestEvent(db))?.sequence ?? 0;
  const rows: Tables['events'][] = [];
  // A further row tells that another page follows.
  for await (const part of matchingParts(db, filter, { limit: limit + 1, before })) {
    rows.push(...(await part.selectAll().where('sequence', '<=', newest).execute()));
    if (rows.length > limit) break;
  }
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return { events: shown.map(eventOf), last: last && { time: last.time, sequence: last.sequence }, newest };
}
