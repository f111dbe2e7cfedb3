import { type Kysely, sql } from 'kysely';
import type { EventDatabase } from './queries.ts';
import {
  type ExpiredRecording,
  type Recording,
  type RecordingDatabase,
  type RecordingFilter,
  type RecordingPage,
  type RecordingPart,
  type RecordingPlace,
  type RecordingRetention,
  type RecordingStep,
  recording,
} from './recording.ts';
import { stored, type Tables } from './tables.ts';

/** Bound of the parts in one answer: a part has some 100 KiB. */
const partsAtOnce = 8;
/** Expired recordings in one answer. */
const expiredAtOnce = 20;

type RecordingRow = Tables['recordings'];

const rowOf = (kept: Recording): RecordingRow => ({
  id: stored(kept.id),
  cluster: stored(kept.cluster),
  actor: stored(kept.user.username),
  namespace: stored(kept.objectRef.namespace),
  name: stored(kept.objectRef.name),
  started: Date.parse(kept.startedAt),
  changed: Date.parse(kept.startedAt) + Math.round(kept.seconds * 1000),
  rest: JSON.stringify(kept),
});

const recordingOf = ({ rest }: RecordingRow): Recording => recording.parse(JSON.parse(rest));

/** Returns the recordings of a database, which is asked for with each call. */
export const recordingsOf = (database: () => EventDatabase): RecordingDatabase => ({
  keep: async (step) => keepStep(database(), step),
  list: async (filter, page) => listRecordings(database(), filter, page),
  get: async (id) => getRecording(database(), id),
  read: async (id, after) => readParts(database(), id, after),
  delete: async (id) => deleteRecording(database(), id),
  expired: async (retention) => expiredRecordings(database().db, retention),
  lastPart: async (id) => lastPart(database(), id),
});

async function keepStep({ db, begin }: EventDatabase, { recording: kept, isNew, part }: RecordingStep): Promise<boolean> {
  return await db.transaction().execute(async (transaction) => {
    await begin(transaction);
    const row = rowOf(kept);
    if (isNew) {
      await transaction
        .insertInto('recordings')
        .values(row)
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute();
    } else {
      const { numUpdatedRows } = await transaction.updateTable('recordings').set(row).where('id', '=', row.id).executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return false;
    }
    if (part !== undefined)
      await transaction
        .insertInto('recording_parts')
        .values({
          ...{ recording: row.id, number: part.number },
          ...{ lines: Buffer.from(part.lines, 'base64'), object_bytes: part.objectBytes ?? 0 },
        })
        .onConflict((conflict) => conflict.columns(['recording', 'number']).doNothing())
        .execute();
    return true;
  });
}

async function listRecordings(
  { db }: EventDatabase,
  { from, to, ...equal }: RecordingFilter,
  { limit, before }: { limit: number; before?: RecordingPlace | undefined },
): Promise<RecordingPage> {
  let query = db.selectFrom('recordings').selectAll().orderBy('started', 'desc').orderBy('id', 'desc');
  for (const column of ['cluster', 'actor', 'namespace', 'name'] as const) {
    const value = equal[column];
    if (value !== undefined) query = query.where(column, '=', stored(value));
  }
  if (from !== undefined) query = query.where('started', '>=', from);
  if (to !== undefined) query = query.where('started', '<', to);
  if (before !== undefined)
    query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('started', 'id'), '<', tuple(before.started, before.id)));
  // A further row tells that another page follows.
  const rows = await query.limit(limit + 1).execute();
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return { recordings: shown.map(recordingOf), ...(last && { last: { started: last.started, id: last.id } }) };
}

async function getRecording({ db }: EventDatabase, id: string): Promise<Recording | undefined> {
  const row = await db.selectFrom('recordings').selectAll().where('id', '=', stored(id)).executeTakeFirst();
  return row && recordingOf(row);
}

async function readParts({ db }: EventDatabase, id: string, after: number): Promise<RecordingPart[]> {
  const parts = db
    .selectFrom('recording_parts')
    .select(['number', 'lines', 'object_bytes'])
    .where('recording', '=', stored(id))
    .where('number', '>', after);
  const rows = await parts.orderBy('number').limit(partsAtOnce).execute();
  return rows.map(({ number, lines, object_bytes: objectBytes }) => ({
    ...{ number, lines: Buffer.from(lines).toString('base64') },
    ...(objectBytes > 0 && { objectBytes }),
  }));
}

async function lastPart({ db }: EventDatabase, id: string): Promise<number> {
  const query = db.selectFrom('recording_parts').select('number').where('recording', '=', stored(id));
  return (await query.orderBy('number', 'desc').limit(1).executeTakeFirst())?.number ?? 0;
}

async function deleteRecording({ db, begin }: EventDatabase, id: string): Promise<boolean> {
  return await db.transaction().execute(async (transaction) => {
    await begin(transaction);
    await transaction.deleteFrom('recording_parts').where('recording', '=', stored(id)).execute();
    const { numDeletedRows } = await transaction.deleteFrom('recordings').where('id', '=', stored(id)).executeTakeFirstOrThrow();
    return numDeletedRows > 0n;
  });
}

/** Returns some of the recordings that have expired: none at the end. */
async function expiredRecordings(db: Kysely<Tables>, { before = 0, maxBytes }: RecordingRetention): Promise<ExpiredRecording[]> {
  const oldest = await db.selectFrom('recordings').selectAll().orderBy('changed').limit(expiredAtOnce).execute();
  const told = (rows: typeof oldest, reason: ExpiredRecording['reason']) =>
    rows.map(recordingOf).map(({ id, cluster, user, objectRef }) => ({ id, cluster, user, objectRef, reason }));
  const old = oldest.filter(({ changed }) => changed < before);
  if (old.length > 0 || maxBytes === undefined) return told(old, 'Age');
  const beyond = await beyondBound(
    db,
    oldest.map(({ id }) => id),
    maxBytes,
  );
  return told(
    oldest.filter(({ id }) => beyond.includes(id)),
    'Size',
  );
}

/** Returns the first ones of the oldest recordings without which all the others have no more bytes than the bound. */
async function beyondBound(db: Kysely<Tables>, oldest: readonly string[], maxBytes: number): Promise<string[]> {
  const bytes = sql<number>`coalesce(sum(length(lines) + object_bytes), 0)`;
  const { total } = await db.selectFrom('recording_parts').select(bytes.as('total')).executeTakeFirstOrThrow();
  let excess = Number(total) - maxBytes;
  if (excess <= 0) return [];
  const parts = db
    .selectFrom('recording_parts')
    .select(['recording', bytes.as('size')])
    .where('recording', 'in', oldest);
  const sizes = new Map((await parts.groupBy('recording').execute()).map(({ recording: id, size }) => [id, Number(size)]));
  const beyond: string[] = [];
  for (const id of oldest) {
    if (excess <= 0) break;
    beyond.push(id);
    excess -= sizes.get(id) ?? 0;
  }
  return beyond;
}
