import { type Kysely, sql } from 'kysely';
import type { Checkpoint } from './chain.ts';
import { removeSegments } from './groups.ts';
import { type EventDatabase, newestEvent, replaceNumbers } from './queries.ts';
import type { AuditRetention, ChainPart, ExpiredEvents, Proposal } from './store.ts';
import { membersOf, type Tables } from './tables.ts';

/** Events that one query looks at to find those that have expired, and the number of such queries in a call. */
const windowSize = 50_000;
const maxWindows = 20;
/** Events that one statement deletes. */
const sliceSize = 5_000;

/** Returns events in the order of their arrival. */
export async function chainedEvents({ db }: EventDatabase, after: number, limit: number): Promise<ChainPart> {
  const rows = await db.selectFrom('events').selectAll().where('sequence', '>', after).orderBy('sequence').limit(limit).execute();
  const newest = await newestKept(db);
  return {
    events: rows.map(({ sequence, hash, ...row }) => ({ sequence, hash: hexOf(hash), event: membersOf(row) })),
    ...(newest !== undefined && { newest }),
  };
}

const hexOf = (hash: Uint8Array) => Buffer.from(hash).toString('hex');

/** Remembers which checkpoints are kept outside, and proposes further ones. */
export async function proposeCheckpoints(
  database: EventDatabase,
  { kept, retention, now }: { kept: readonly number[]; retention: AuditRetention; now: Date },
): Promise<Proposal> {
  const { db } = database;
  let newest = await newestKept(db);
  if (kept.length > 0 && Math.max(...kept) >= (newest ?? 0)) {
    await replaceNumbers(database, 'checkpoints', kept);
    newest = Math.max(...kept);
  }
  const ends = await endsOf(db);
  const through = ends && (await expiredThrough(database, ends, retention))?.last;
  return {
    start: (ends?.oldest ?? 1) - 1,
    ...(ends && { first: { sequence: ends.oldest, hash: (await hashAt(db, ends.oldest)) ?? '' } }),
    ...(newest !== undefined && { newest: { sequence: newest, hash: (await hashAt(db, newest)) ?? '' } }),
    ...(ends && { end: await checkpointAt(db, ends.newest, { ends, now }) }),
    ...(ends && through !== undefined && { cut: await checkpointAt(db, through, { ends, now }) }),
  };
}

async function newestKept(db: Kysely<Tables>): Promise<number | undefined> {
  return (await db.selectFrom('checkpoints').select('sequence').orderBy('sequence', 'desc').limit(1).executeTakeFirst())?.sequence;
}

/**
 * Returns the expired events that may be removed. The one of the newest kept checkpoint stays: with it, the store would lose the proof that
 * it agrees with the checkpoints outside.
 */
export async function removableEvents(database: EventDatabase, retention: AuditRetention): Promise<ExpiredEvents | undefined> {
  const { db } = database;
  const ends = await endsOf(db);
  const expired = ends && (await expiredThrough(database, ends, retention));
  if (expired === undefined) return undefined;
  const last = Math.min(expired.last, retention.removable ?? 0, ((await newestKept(db)) ?? 0) - 1);
  return last <= expired.first ? undefined : { ...expired, last };
}

/**
 * Returns the events that have expired. Only events at the begin of the chain count, up to a bounded number; the newest event always stays,
 * because the next one continues it. A single one stays, too: the event that tells of its removal would take its place, each time.
 */
async function expiredThrough(
  { db, bytes }: EventDatabase,
  { oldest, newest }: Ends,
  { before, maxEvents, maxBytes }: AuditRetention,
): Promise<ExpiredEvents | undefined> {
  const byNumber = maxEvents === undefined ? 0 : newest - maxEvents;
  const byAge = before === undefined ? 0 : await lastBefore(db, oldest, before);
  const used = bytes?.() ?? 0;
  // Events have about the same size.
  const bySize = maxBytes === undefined || used <= maxBytes ? 0 : newest - Math.floor(((newest - oldest + 1) * maxBytes) / used);
  const most = Math.max(byNumber, byAge, bySize);
  const last = Math.min(most, newest - 1);
  const reason = most === byAge ? 'Age' : most === byNumber ? 'Number' : 'Size';
  return last <= oldest ? undefined : { first: oldest, last, reason };
}

/** Returns the number of the last event before the first one that is not older than a time, among a bounded number of events. */
async function lastBefore(db: Kysely<Tables>, oldest: number, before: number): Promise<number> {
  let from = oldest;
  for (let windows = 0; windows < maxWindows; windows += 1) {
    const window = db
      .selectFrom('events')
      .where('sequence', '>=', from)
      .where('sequence', '<', from + windowSize);
    const { kept, last } = await window
      .select(({ fn }) => [
        sql<number | null>`min(case when time >= ${before} then sequence end)`.as('kept'),
        fn.max('sequence').as('last'),
      ])
      .executeTakeFirstOrThrow();
    if (kept !== null) return kept - 1;
    if (last === null) return from - 1;
    from = last + 1;
  }
  return from - 1;
}

/** Numbers of the first event and the last one. */
interface Ends {
  oldest: number;
  newest: number;
}

/** Returns undefined without events. */
async function endsOf(db: Kysely<Tables>): Promise<Ends | undefined> {
  const oldest = await db.selectFrom('events').select('sequence').orderBy('sequence').limit(1).executeTakeFirst();
  const newest = await newestEvent(db);
  return oldest && newest && { oldest: oldest.sequence, newest: newest.sequence };
}

async function hashAt(db: Kysely<Tables>, sequence: number): Promise<string | undefined> {
  const found = await db.selectFrom('events').select('hash').where('sequence', '=', sequence).executeTakeFirst();
  return found && hexOf(found.hash);
}

async function checkpointAt(db: Kysely<Tables>, sequence: number, { ends, now }: { ends: Ends; now: Date }): Promise<Checkpoint> {
  return { sequence, hash: (await hashAt(db, sequence)) ?? '', time: now.toISOString(), count: sequence - ends.oldest + 1 };
}

/** Deletes the oldest events through a number, a slice of them. Returns how many: 0 at the end. The newest event stays. */
export async function removeSlice({ db, begin }: EventDatabase, through: number): Promise<number> {
  return await db.transaction().execute(async (transaction) => {
    await begin(transaction);
    const ends = await endsOf(transaction);
    if (ends === undefined) return 0;
    const last = Math.min(through, ends.newest - 1, ends.oldest + sliceSize - 1);
    await removeSegments(transaction, last);
    await transaction.deleteFrom('joins').where('sequence', '<=', last).execute();
    const { numDeletedRows } = await transaction.deleteFrom('events').where('sequence', '<=', last).executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  });
}
