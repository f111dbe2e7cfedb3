/**
 * The index of the events. Events in the order of their arrival form segments. For each value of its events, a segment has a posting: the
 * places of the events with that value. Groups of segments share their postings.
 */
import type { Kysely } from 'kysely';
import { columnOf } from './conditions.ts';
import { furtherValuesIn, named } from './further-values.ts';
import { addToGroup, mergeNext, segmentBucket, segmentForm } from './groups.ts';
import { bucketOf, keyOf, type PostingForm } from './postings.ts';
import type { Tables } from './tables.ts';

/** Events of a segment. A change of this number concerns new segments only. */
export const usualSegmentSize = 8_192;
/** Events and buckets that are made ready between two turns of the event loop, which a database without a thread of its own shares. */
const atOnce = { events: 100, buckets: 16 };

type Column = (typeof columnOf)[keyof typeof columnOf];
const columns = Object.values(columnOf);

/** Returns the number of the last event that a segment has; 0 without segments. */
export async function lastOfSegments(db: Kysely<Tables>): Promise<number> {
  return (await db.selectFrom('segments').select('last').orderBy('first', 'desc').limit(1).executeTakeFirst())?.last ?? 0;
}

/**
 * Makes the next segment if there are events enough. The caller is the only writer.
 *
 * @param newest number of the newest event
 * @returns the number through which events are in segments, or removed
 */
export async function makeSegment(db: Kysely<Tables>, newest: number, size: number): Promise<number> {
  const indexed = await lastOfSegments(db);
  if (newest - indexed < size) return indexed;
  const after = db.selectFrom('events').select('sequence').where('sequence', '>', indexed);
  const first = (await after.orderBy('sequence').limit(1).executeTakeFirst())?.sequence ?? newest;
  const last = first + size - 1;
  if (last > newest) return first - 1;
  const times = Buffer.alloc(size * 8);
  const allTimes: number[] = [];
  const places = new PlacesByKey();
  for (let from = first; from <= last; from += atOnce.events) {
    const rows = db
      .selectFrom('events')
      .select(['sequence', 'time', 'rest', ...columns])
      .where('sequence', '>=', from)
      .where('sequence', '<', Math.min(from + atOnce.events, last + 1));
    for (const row of await rows.execute()) {
      times.writeDoubleLE(row.time, (row.sequence - first) * 8);
      allTimes.push(row.time);
      places.add(row, row.sequence - first);
    }
  }
  for (const rows of places.rows(first, segmentForm({ first, last }))) await db.insertInto('postings').values(rows).execute();
  const segment = { first, last, oldest: Math.min(...allTimes), newest: Math.max(...allTimes) };
  await db
    .insertInto('segments')
    .values({ ...segment, times })
    .execute();
  await addToGroup(db, segment);
  await mergeNext(db, last);
  return last;
}

/** Places of the events of a segment by the keys of their values. */
class PlacesByKey {
  readonly #keys = new Map<string, number>();
  readonly #buckets = new Map<number, Map<number, number[]>>();

  add(row: Pick<Tables['events'], Column | 'rest'>, place: number): void {
    for (const value of [...columns.map((column) => named(column, row[column])), ...furtherValuesIn(row)]) {
      const places = this.#placesOf(value);
      // Two values of an event may share a key.
      if (places.at(-1) !== place) places.push(place);
    }
  }

  /** Yields the postings in their buckets, a few buckets at a time. */
  *rows(segment: number, form: PostingForm): Generator<Tables['postings'][]> {
    const all = [...this.#buckets];
    for (let from = 0; from < all.length; from += atOnce.buckets)
      yield all.slice(from, from + atOnce.buckets).map(([bucket, entries]) => ({
        segment,
        bucket,
        postings: bucketOf(entries, form),
      }));
  }

  #placesOf(value: string): number[] {
    const key = this.#keys.get(value) ?? keyOf(value);
    this.#keys.set(value, key);
    const bucket = this.#buckets.get(segmentBucket(key)) ?? new Map<number, number[]>();
    this.#buckets.set(segmentBucket(key), bucket);
    const places = bucket.get(key) ?? [];
    bucket.set(key, places);
    return places;
  }
}
