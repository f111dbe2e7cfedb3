import type { Kysely } from 'kysely';
import type { ChainedEvent, Checkpoint } from './chain.ts';
import { type EventDatabase, newestEvent } from './queries.ts';
import type { AuditRetention } from './store.ts';
import { membersOf, type Tables } from './tables.ts';

/** Events that one call looks at to find those that have expired. */
const maxExpired = 50_000;
/** Events that one statement deletes. */
const sliceSize = 5_000;

/** Returns events in the order of their arrival. */
export async function chainedEvents({ db }: EventDatabase, after: number, limit: number): Promise<ChainedEvent[]> {
  const rows = await db.selectFrom('events').selectAll().where('sequence', '>', after).orderBy('sequence').limit(limit).execute();
  return rows.map(({ sequence, hash, ...row }) => ({ sequence, hash: hexOf(hash), event: membersOf(row) }));
}

const hexOf = (hash: Uint8Array) => Buffer.from(hash).toString('hex');

/** Makes a checkpoint at the newest event, and remembers how far checkpoints go. Returns undefined without events. */
export async function makeCheckpoint(database: EventDatabase, now: Date): Promise<Checkpoint | undefined> {
  const { db, begin } = database;
  return await db.transaction().execute(async (transaction) => {
    await begin(transaction);
    const newest = await newestEvent(transaction);
    if (newest === undefined) return undefined;
    await transaction.deleteFrom('checkpoints').execute();
    await transaction.insertInto('checkpoints').values({ sequence: newest.sequence }).execute();
    return await checkpointOf({ ...database, db: transaction }, newest, now);
  });
}

/** Returns the number of the newest event that a checkpoint covers. */
export async function lastCheckpoint({ db }: EventDatabase): Promise<number | undefined> {
  return (await db.selectFrom('checkpoints').select('sequence').executeTakeFirst())?.sequence;
}

/**
 * Returns the checkpoint through which events have expired. Only events at the begin of the chain count, up to a bounded number; the newest
 * event always stays, because the next one continues it.
 */
export async function expiredThrough(
  database: EventDatabase,
  { before, maxEvents }: AuditRetention,
  now: Date,
): Promise<Checkpoint | undefined> {
  const { db } = database;
  const ends = await endsOf(db);
  if (ends === undefined) return undefined;
  const byNumber = maxEvents === undefined ? 0 : ends.newest - maxEvents;
  const byAge = before === undefined ? 0 : await lastBefore(db, ends.oldest, before);
  const through = Math.min(Math.max(byNumber, byAge), ends.newest - 1, ends.oldest + maxExpired - 1);
  if (through < ends.oldest) return undefined;
  const { hash } = await db.selectFrom('events').select('hash').where('sequence', '=', through).executeTakeFirstOrThrow();
  return await checkpointOf(database, { sequence: through, hash }, now);
}

/** Returns the number of the last event before the first one that is not older than a time, among a bounded number of events. */
async function lastBefore(db: Kysely<Tables>, oldest: number, before: number): Promise<number> {
  const end = oldest + maxExpired;
  const kept = await db
    .selectFrom('events')
    .select('sequence')
    .where('sequence', '>=', oldest)
    .where('sequence', '<', end)
    .where('time', '>=', before)
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst();
  return (kept?.sequence ?? end) - 1;
}

/** Returns the numbers of the first event and the last one; undefined without events. */
async function endsOf(db: Kysely<Tables>): Promise<{ oldest: number; newest: number } | undefined> {
  const oldest = await db.selectFrom('events').select('sequence').orderBy('sequence').limit(1).executeTakeFirst();
  const newest = await newestEvent(db);
  return oldest && newest && { oldest: oldest.sequence, newest: newest.sequence };
}

async function checkpointOf(
  { db }: EventDatabase,
  { sequence, hash }: { sequence: number; hash: Uint8Array },
  now: Date,
): Promise<Checkpoint> {
  const oldest = await db.selectFrom('events').select('sequence').orderBy('sequence').limit(1).executeTakeFirstOrThrow();
  return { sequence, hash: hexOf(hash), time: now.toISOString(), count: sequence - oldest.sequence + 1 };
}

/** Deletes the oldest events through a number, a slice of them. Returns how many: 0 at the end. The newest event stays. */
export async function removeSlice({ db, begin }: EventDatabase, through: number): Promise<number> {
  return await db.transaction().execute(async (transaction) => {
    await begin(transaction);
    const ends = await endsOf(transaction);
    if (ends === undefined) return 0;
    const last = Math.min(through, ends.newest - 1, ends.oldest + sliceSize - 1);
    const { numDeletedRows } = await transaction.deleteFrom('events').where('sequence', '<=', last).executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  });
}
