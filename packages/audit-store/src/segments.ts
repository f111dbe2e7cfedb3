/**
 * The index of the events. Events in the order of their arrival form segments. For each value of its events, a segment has a posting: the
 * places of the events with that value. A question reads one posting of each of its values and segments, so that its cost does not depend
 * on how frequent the values are. The events after the last segment are read one by one.
 */
import { hash } from 'node:crypto';
import type { Kysely } from 'kysely';
import { columnOf } from './conditions.ts';
import { furtherValuesIn, furtherValuesOf, named } from './further-values.ts';
import type { AuditFilter, AuditPlace } from './store.ts';
import { stored, type Tables } from './tables.ts';
import { placesAfter } from './tail.ts';

/** Events of a segment. A change of this number concerns new segments only. */
export const usualSegmentSize = 8_192;
/** Segments whose postings one statement reads: few at first, because most questions end with the newest events. */
const blockSizes = { first: 4, growth: 4, last: 128 };
/** Rows of postings of a segment: few, because a row costs a database dozens of bytes beside its values. */
const buckets = 256;
/** Bytes before a posting: its key, and its length. */
const headBytes = 8;
/** Events and buckets that are made ready between two turns of the event loop, which a database without a thread of its own shares. */
const atOnce = { events: 100, buckets: 16 };

type Column = (typeof columnOf)[keyof typeof columnOf];
const columns = Object.values(columnOf);

/** Returns the key of a value: 48 bits of its hash. Rows are compared again, because two values may share a key. */
const keyOf = (value: string): number => hash('sha256', value, 'buffer').readUIntBE(0, 6);

/** Returns the keys of the values that a filter asks for: an event has all keys of one line. */
function keysOf({ anyOf = [{}], ...values }: AuditFilter): number[][] {
  return anyOf.map((one) => {
    const asked = [values, one].flatMap((filter) =>
      Object.entries(columnOf).flatMap(([name, column]) => {
        const value = filter[name as keyof typeof columnOf];
        return value === undefined ? [] : [named(column, stored(value))];
      }),
    );
    return [...new Set([...asked, ...furtherValuesOf(values)].map(keyOf))];
  });
}

/** True if the filter asks for a value. Other indexes answer a question for an id, or for a time alone. */
export const asksForValue = (filter: AuditFilter): boolean =>
  filter.auditID === undefined && keysOf(filter).every((keys) => keys.length > 0);

/** Returns the places as numbers of 16 bits, or as a bit for each event where that is shorter. */
function postingOf(places: readonly number[], size: number): Buffer {
  const bits = Buffer.alloc(Math.ceil(size / 8));
  if (places.length * 2 < bits.length) {
    const listed = Buffer.alloc(places.length * 2);
    for (const [index, place] of places.entries()) listed.writeUInt16LE(place, index * 2);
    return listed;
  }
  for (const place of places) setBit(bits, place);
  return bits;
}

const bucketOf = (key: number): number => key % buckets;

/** Returns a posting with its key, as a part of a bucket. */
function entryOf(key: number, posting: Buffer): Buffer[] {
  const head = Buffer.alloc(headBytes);
  head.writeUIntBE(key, 0, 6);
  head.writeUInt16LE(posting.length, 6);
  return [head, posting];
}

/** Returns the posting of a key in a bucket; undefined if no event has it. */
function postingIn(bucket: Buffer, key: number): Buffer | undefined {
  for (let at = 0; at < bucket.length; ) {
    const begin = at + headBytes;
    const end = begin + bucket.readUInt16LE(at + 6);
    if (bucket.readUIntBE(at, 6) === key) return bucket.subarray(begin, end);
    at = end;
  }
  return undefined;
}

const buffered = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Returns a bit for each event. */
function bitsOf(posting: Uint8Array, size: number): Uint8Array {
  const length = Math.ceil(size / 8);
  if (posting.length === length) return Uint8Array.from(posting);
  const bits = new Uint8Array(length);
  const listed = buffered(posting);
  for (let index = 0; index < listed.length; index += 2) setBit(bits, listed.readUInt16LE(index));
  return bits;
}

function setBit(bits: Uint8Array, place: number): void {
  bits[place >> 3] = (bits[place >> 3] ?? 0) | (1 << (place & 7));
}

/** Returns the places that all postings have. */
function commonPlaces(postings: readonly Uint8Array[], size: number): number[] {
  const [common = new Uint8Array(), ...others] = postings.map((posting) => bitsOf(posting, size));
  for (const bits of others)
    for (let index = 0; index < common.length; index += 1) common[index] = (common[index] ?? 0) & (bits[index] ?? 0);
  const places: number[] = [];
  for (let index = 0; index < common.length; index += 1)
    for (let rest = common[index] ?? 0, bit = 0; rest > 0; rest >>= 1, bit += 1) if (rest & 1) places.push(index * 8 + bit);
  return places;
}

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
  for (const rows of places.rows(first, size)) await db.insertInto('postings').values(rows).execute();
  await db
    .insertInto('segments')
    .values({ first, last, oldest: Math.min(...allTimes), newest: Math.max(...allTimes), times })
    .execute();
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
  *rows(segment: number, size: number): Generator<Tables['postings'][]> {
    const all = [...this.#buckets];
    for (let from = 0; from < all.length; from += atOnce.buckets)
      yield all.slice(from, from + atOnce.buckets).map(([bucket, entries]) => ({
        segment,
        bucket,
        postings: Buffer.concat([...entries].flatMap(([key, places]) => entryOf(key, postingOf(places, size)))),
      }));
  }

  #placesOf(value: string): number[] {
    const key = this.#keys.get(value) ?? keyOf(value);
    this.#keys.set(value, key);
    const bucket = this.#buckets.get(bucketOf(key)) ?? new Map<number, number[]>();
    this.#buckets.set(bucketOf(key), bucket);
    const places = bucket.get(key) ?? [];
    bucket.set(key, places);
    return places;
  }
}

/** Removes the segments whose events are all removed. */
export async function removeSegments(db: Kysely<Tables>, through: number): Promise<void> {
  const removed = db.selectFrom('segments').select('first').where('last', '<=', through);
  await db.deleteFrom('postings').where('segment', 'in', removed).execute();
  await db.deleteFrom('segments').where('last', '<=', through).execute();
}

interface Segment {
  first: number;
  last: number;
  newest: number;
}

interface SegmentBounds extends Pick<AuditFilter, 'from' | 'to'> {
  /** Number of the last event. */
  through: number;
  before: AuditPlace | undefined;
}

/** Compares places for an order with the newest first. */
const byTime = (one: AuditPlace, other: AuditPlace) => other.time - one.time || other.sequence - one.sequence;

/**
 * Yields the numbers of the events with the values and times of a filter, newest first, in parts. Few of them may not match, and some may
 * be removed: the caller compares the rows.
 *
 * @param size number of events in each part but the last one
 * @param before place after which the events come
 */
export async function* probableEvents(
  db: Kysely<Tables>,
  filter: AuditFilter,
  { size, before }: { size: number; before?: AuditPlace | undefined },
): AsyncGenerator<number[]> {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = filter;
  const isAsked = (place: AuditPlace) => place.time >= from && place.time < to && (!before || byTime(before, place) < 0);
  let [waiting, part]: [AuditPlace[], number[]] = [[], []];
  for await (const { places, next } of placesOf(db, filter, before)) {
    waiting = [...waiting, ...places.filter(isAsked)].toSorted(byTime);
    const ready = waiting.filter(({ time }) => time > next);
    waiting = waiting.slice(ready.length);
    part = [...part, ...ready.map(({ sequence }) => sequence)];
    for (; part.length >= size; part = part.slice(size)) yield part.slice(0, size);
  }
  if (part.length > 0) yield part;
}

/** Yields the places of the events with the values of a filter, and the time after which no further place comes. */
async function* placesOf(
  db: Kysely<Tables>,
  filter: AuditFilter,
  before: AuditPlace | undefined,
): AsyncGenerator<{ places: AuditPlace[]; next: number }> {
  // A segment that is made in the meantime counts as not made.
  const through = await lastOfSegments(db);
  const segments = await segmentsOf(db, { ...filter, through, before });
  const nextOf = (index: number) => segments[index]?.newest ?? Number.NEGATIVE_INFINITY;
  for await (const { places, next } of placesAfter(db, { filter, through, before })) yield { places, next: Math.max(next, nextOf(0)) };
  const lines = keysOf(filter);
  const { first, growth, last } = blockSizes;
  for (let begin = 0, size = first; begin < segments.length; begin += size, size = Math.min(size * growth, last)) {
    const block = segments.slice(begin, begin + size);
    const places = await placesIn(db, block, lines);
    for (const [index, segment] of block.entries()) yield { places: places.get(segment.first) ?? [], next: nextOf(begin + index + 1) };
  }
}

/** Returns the segments that have events of a time, those with the newest events first. */
async function segmentsOf(db: Kysely<Tables>, { from, to, through, before }: SegmentBounds): Promise<Segment[]> {
  let query = db.selectFrom('segments').select(['first', 'last', 'newest']).where('last', '<=', through);
  if (from !== undefined) query = query.where('newest', '>=', from);
  if (to !== undefined) query = query.where('oldest', '<', to);
  if (before !== undefined) query = query.where('oldest', '<=', before.time);
  return await query.orderBy('newest', 'desc').orderBy('first', 'desc').execute();
}

/** Returns the places of the events that have all keys of one line, for each segment that has some. */
async function placesIn(
  db: Kysely<Tables>,
  segments: readonly Segment[],
  lines: readonly (readonly number[])[],
): Promise<Map<number, AuditPlace[]>> {
  const firsts = segments.map(({ first }) => first);
  const keys = [...new Set(lines.flat())];
  const asked = db.selectFrom('postings').selectAll().where('segment', 'in', firsts);
  const rows = await asked.where('bucket', 'in', [...new Set(keys.map(bucketOf))]).execute();
  const ofSegment = Map.groupBy(rows, ({ segment }) => segment);
  const places = new Map<number, number[]>();
  for (const { first, last } of segments) {
    const found = new Map((ofSegment.get(first) ?? []).map(({ bucket, postings }) => [bucket, buffered(postings)]));
    const ofKey = (key: number) => postingIn(found.get(bucketOf(key)) ?? Buffer.alloc(0), key) ?? [];
    const ofLines = lines.flatMap((line) => {
      const ofLine = line.flatMap(ofKey);
      return ofLine.length < line.length ? [] : commonPlaces(ofLine, last - first + 1);
    });
    if (ofLines.length > 0) places.set(first, [...new Set(ofLines)]);
  }
  if (places.size === 0) return new Map();
  const timed = await db
    .selectFrom('segments')
    .select(['first', 'times'])
    .where('first', 'in', [...places.keys()])
    .execute();
  return new Map(
    timed.map(({ first, times }) => {
      const read = buffered(times);
      return [first, (places.get(first) ?? []).map((place) => ({ sequence: first + place, time: read.readDoubleLE(place * 8) }))];
    }),
  );
}
