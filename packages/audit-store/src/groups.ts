/**
 * Groups of segments. A row for each value and segment would make a question about a rare value read more rows the more events there are.
 * The postings of the segments of a full group are therefore merged into buckets of the group, a few at a time: a step for each new
 * segment is as much work as its postings. A row is either in the segments or in the group, and one statement reads both.
 */
import type { Kysely } from 'kysely';
import { bucketOf, type PostingForm, placesOf, postingsIn } from './postings.ts';
import type { Tables } from './tables.ts';

/** Rows of postings of a segment: few, because a row costs a database dozens of bytes beside its values. */
export const buckets = 256;
/** Segments of a group. */
export const groupSize = 32;
/** Rows of postings of a group: about as long as those of a segment. */
const groupBuckets = buckets * groupSize;
/** Buckets that one step merges, so that a group is merged before the next one is full. */
const bucketsAtOnce = buckets / groupSize;
/** Rows that are read or made between two turns of the event loop, which a database without a thread of its own shares. */
const rowsAtOnce = 8;

type Segment = Pick<Tables['segments'], 'first' | 'last' | 'oldest' | 'newest'>;
type Bounds = Pick<Tables['segments'], 'first' | 'last'>;

/** Returns the row of a segment in which the posting of a key is. */
export const segmentBucket = (key: number): number => key % buckets;

/** Returns the row of a group in which the posting of a key is, after those of segments. */
export const groupBucket = (key: number): number => buckets + (key % groupBuckets);

export const segmentForm = ({ first, last }: Bounds): PostingForm => ({ size: last - first + 1, width: 2 });

export const groupForm = ({ first, last }: Bounds): PostingForm => ({ size: last - first + 1, width: 3 });

/** Puts a new segment into the newest group, or begins another one. */
export async function addToGroup(db: Kysely<Tables>, { first, last, oldest, newest }: Segment): Promise<void> {
  const open = await db.selectFrom('segment_groups').selectAll().orderBy('first', 'desc').limit(1).executeTakeFirst();
  if (open !== undefined && last <= open.last) {
    const bounds = { oldest: Math.min(open.oldest, oldest), newest: Math.max(open.newest, newest) };
    await db.updateTable('segment_groups').set(bounds).where('first', '=', open.first).execute();
    return;
  }
  const whole = { first, last: first + groupSize * (last - first + 1) - 1 };
  await db
    .insertInto('segment_groups')
    .values({ ...whole, oldest, newest, merged: 0 })
    .execute();
}

/**
 * Merges the next postings of the oldest full group.
 *
 * @param indexed number of the last event that a segment has
 * @returns false if there was nothing to merge
 */
export async function mergeNext(db: Kysely<Tables>, indexed: number): Promise<boolean> {
  const [group] = await unmergedGroups(db, indexed);
  if (group === undefined) return false;
  const segments = await segmentsIn(db, group);
  const merged = Math.min(group.merged + bucketsAtOnce, buckets);
  for (let bucket = group.merged; bucket < merged; bucket += 1) await mergeBucket(db, { group, segments, bucket });
  await db.updateTable('segment_groups').set({ merged }).where('first', '=', group.first).execute();
  return true;
}

/** Returns the oldest two of the full groups whose segments have postings of their own. */
const unmergedGroups = (db: Kysely<Tables>, indexed: number) =>
  db
    .selectFrom('segment_groups')
    .selectAll()
    .where('merged', '<', buckets)
    .where('last', '<=', indexed)
    .orderBy('first')
    .limit(2)
    .execute();

/** Reports whether more than the newest full group is to be merged, as after an update. */
export const isBehind = async (db: Kysely<Tables>, indexed: number): Promise<boolean> => (await unmergedGroups(db, indexed)).length > 1;

const segmentsIn = (db: Kysely<Tables>, { first, last }: Bounds) =>
  db.selectFrom('segments').select(['first', 'last']).where('first', '>=', first).where('last', '<=', last).orderBy('first').execute();

interface MergedBucket {
  group: Bounds;
  segments: readonly Bounds[];
  bucket: number;
}

async function mergeBucket(db: Kysely<Tables>, { group, segments, bucket }: MergedBucket): Promise<void> {
  const ofSegments = new Map(segments.map((segment) => [segment.first, segment]));
  const firsts = [...ofSegments.keys()];
  if (firsts.length === 0) return;
  const merged = new Map<number, Map<number, number[]>>();
  for (let from = 0; from < firsts.length; from += rowsAtOnce) {
    const ofBucket = db.selectFrom('postings').selectAll().where('bucket', '=', bucket);
    const rows = await ofBucket.where('segment', 'in', firsts.slice(from, from + rowsAtOnce)).execute();
    for (const { segment, postings } of rows.toSorted((one, other) => one.segment - other.segment))
      for (const [key, posting] of postingsIn(postings)) {
        const keys = getOrAdd(merged, groupBucket(key), () => new Map<number, number[]>());
        const places = getOrAdd(keys, key, (): number[] => []);
        for (const place of placesOf(posting, segmentForm(ofSegments.get(segment) ?? group))) places.push(segment - group.first + place);
      }
  }
  const all = [...merged];
  for (let from = 0; from < all.length; from += rowsAtOnce) {
    const values = all.slice(from, from + rowsAtOnce).map(([ofGroup, places]) => ({
      ...{ segment: group.first, bucket: ofGroup },
      postings: bucketOf(places, groupForm(group)),
    }));
    await db.insertInto('postings').values(values).execute();
  }
  await db.deleteFrom('postings').where('segment', 'in', firsts).where('bucket', '=', bucket).execute();
}

export function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** Removes the segments and groups whose events are all removed. */
export async function removeSegments(db: Kysely<Tables>, through: number): Promise<void> {
  const segments = db.selectFrom('segments').select('first').where('last', '<=', through);
  // The first segment of a group has the number by which the rows of the group are found.
  await db.deleteFrom('postings').where('bucket', '<', buckets).where('segment', 'in', segments).execute();
  await db.deleteFrom('segments').where('last', '<=', through).execute();
  const groups = db.selectFrom('segment_groups').select('first').where('last', '<=', through);
  await db.deleteFrom('postings').where('segment', 'in', groups).execute();
  await db.deleteFrom('segment_groups').where('last', '<=', through).execute();
}
