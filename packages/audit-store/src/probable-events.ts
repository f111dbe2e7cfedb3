/** The index as questions read it: a posting of each of their values and groups, of which they keep the places that all have. */
import type { Kysely } from 'kysely';
import { columnOf } from './conditions.ts';
import { furtherValuesOf, named } from './further-values.ts';
import { buckets, getOrAdd, groupBucket, groupForm, segmentBucket, segmentForm } from './groups.ts';
import { addBits, bitsOf, buffered, commonBits, emptyBits, keyOf, placesIn, postingsIn } from './postings.ts';
import { lastOfSegments } from './segments.ts';
import type { AuditFilter, AuditPlace } from './store.ts';
import { stored, type Tables } from './tables.ts';
import { placesAfter } from './tail.ts';

/** Groups, and segments of a group, that one statement reads: few at first, because most questions end with the newest events. */
const blockSizes = { first: 1, growth: 4, last: 16 };
/** Events of a group whose times are read one by one. The times of more events are read with their segments. */
const fewEvents = 256;

/** Returns the keys of the values that a filter asks for: an event has all keys of one line. */
function keysOf({ anyOf = [{}], ...values }: AuditFilter): number[][] {
  return anyOf.map((one) => {
    const asked = [values, one].flatMap((filter) =>
      Object.entries(columnOf).flatMap(([name, column]) => {
        const value = filter[name as keyof typeof columnOf];
        return value === undefined ? [] : [named(column, stored(value))];
      }),
    );
    return [...new Set([...asked, ...furtherValuesOf(values), ...furtherValuesOf(one)].map(keyOf))];
  });
}

/** True if the filter asks for a value. Other indexes answer a question for an id, or for a time alone. */
export const asksForValue = (filter: AuditFilter): boolean =>
  filter.auditID === undefined && keysOf(filter).every((keys) => keys.length > 0);

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
  for await (const { places, next } of placesWith(db, filter, before)) {
    waiting = [...waiting, ...places.filter(isAsked)].toSorted(byTime);
    const ready = waiting.filter(({ time }) => time > next);
    waiting = waiting.slice(ready.length);
    part = [...part, ...ready.map(({ sequence }) => sequence)];
    for (; part.length >= size; part = part.slice(size)) yield part.slice(0, size);
  }
  if (part.length > 0) yield part;
}

/** Yields parts of a list, small ones first. */
function* blocksOf<Item>(items: readonly Item[]): Generator<Item[]> {
  const { first, growth, last } = blockSizes;
  for (let begin = 0, size = first; begin < items.length; begin += size, size = Math.min(size * growth, last))
    yield items.slice(begin, begin + size);
}

type Group = Pick<Tables['segment_groups'], 'first' | 'last' | 'newest' | 'merged'>;

/** Places of events in the order of their time, in parts. */
type Places = AsyncGenerator<{
  places: AuditPlace[];
  /** Time after which no further place comes. */
  next: number;
}>;

interface Bounds extends Pick<AuditFilter, 'from' | 'to'> {
  /** Number of the last event that counts as in a segment: a segment that is made in the meantime is not read. */
  through: number;
  before: AuditPlace | undefined;
}

/** Yields the places of the events with the values of a filter. */
async function* placesWith(db: Kysely<Tables>, filter: AuditFilter, before: AuditPlace | undefined): Places {
  const bounds = { from: filter.from, to: filter.to, through: await lastOfSegments(db), before };
  const groups = await groupsWithin(db, bounds);
  const nextOf = (index: number) => groups[index]?.newest ?? Number.NEGATIVE_INFINITY;
  for await (const { places, next } of placesAfter(db, { filter, through: bounds.through, before }))
    yield { places, next: Math.max(next, nextOf(0)) };
  const lines = keysOf(filter);
  let read = 0;
  for (const block of blocksOf(groups)) {
    const found = await foundIn(db, block, { lines, through: bounds.through });
    const times = await timesOf(
      db,
      found.flatMap(({ few = [] }) => few),
    );
    for (const { group, bits, few } of found) {
      read += 1;
      const next = nextOf(read);
      if (few === undefined) yield* placesOfSegments(db, { group, bits, next }, bounds);
      else yield { places: few.flatMap((sequence) => times.get(sequence) ?? []), next };
    }
  }
}

/** Returns the groups that have events of a time, those with the newest events first. */
async function groupsWithin(db: Kysely<Tables>, { from, to, through, before }: Bounds): Promise<Group[]> {
  let query = db.selectFrom('segment_groups').select(['first', 'last', 'newest', 'merged']).where('first', '<=', through);
  if (from !== undefined) query = query.where('newest', '>=', from);
  if (to !== undefined) query = query.where('oldest', '<', to);
  if (before !== undefined) query = query.where('oldest', '<=', before.time);
  return await query.orderBy('newest', 'desc').orderBy('first', 'desc').execute();
}

/** Returns the segments of a group that have events of a time, those with the newest events first. */
async function segmentsWithin(db: Kysely<Tables>, { first, last }: Group, { from, to, through, before }: Bounds) {
  let query = db.selectFrom('segments').select(['first', 'last', 'newest']).where('first', '>=', first);
  query = query.where('last', '<=', Math.min(last, through));
  if (from !== undefined) query = query.where('newest', '>=', from);
  if (to !== undefined) query = query.where('oldest', '<', to);
  if (before !== undefined) query = query.where('oldest', '<=', before.time);
  return await query.orderBy('newest', 'desc').orderBy('first', 'desc').execute();
}

interface Found {
  group: Group;
  /** A bit for each event of the group. */
  bits: Uint8Array;
  /** Numbers of the events, if they are few. */
  few: number[] | undefined;
}

interface Asked {
  /** Keys of which an event has all of one line. */
  lines: readonly (readonly number[])[];
  through: number;
}

/** Returns the events of groups that have all keys of one line. */
async function foundIn(db: Kysely<Tables>, groups: readonly Group[], { lines, through }: Asked): Promise<Found[]> {
  const bitsOfGroups = await bitsOfKeys(db, groups, { keys: new Set(lines.flat()), through });
  return groups.map((group) => {
    const ofLines = lines.flatMap((line) => {
      const ofLine = line.flatMap((key) => bitsOfGroups.get(group.first)?.get(key) ?? []);
      return ofLine.length === line.length ? [commonBits(ofLine)] : [];
    });
    const [bits = emptyBits(groupForm(group)), ...others] = ofLines;
    for (const other of others) addBits(bits, other);
    const places = placesIn(bits, { to: through - group.first + 1, atMost: fewEvents + 1 });
    return { group, bits, few: places.length > fewEvents ? undefined : places.map((place) => group.first + place) };
  });
}

/** Returns a bit for each event of a group that has a key, by the first number of the group and the key. */
async function bitsOfKeys(
  db: Kysely<Tables>,
  groups: readonly Group[],
  { keys, through }: { keys: ReadonlySet<number>; through: number },
): Promise<Map<number, Map<number, Uint8Array>>> {
  const found = new Map(groups.map(({ first }) => [first, new Map<number, Uint8Array>()]));
  const segments = await unmergedSegments(db, groups, through);
  const rows = await db
    .selectFrom('postings')
    .selectAll()
    .where('segment', 'in', [...new Set([...found.keys(), ...segments.keys()])])
    .where('bucket', 'in', [...new Set([...keys].flatMap((key) => [segmentBucket(key), groupBucket(key)]))])
    .execute();
  const byFirst = new Map(groups.map((group) => [group.first, group]));
  for (const { segment: first, bucket, postings } of rows) {
    const segment = bucket < buckets ? segments.get(first) : undefined;
    const group = segment?.group ?? byFirst.get(first);
    const ofKeys = group && found.get(group.first);
    if (group === undefined || ofKeys === undefined) continue;
    for (const [key, posting] of postingsIn(postings)) {
      if (!keys.has(key)) continue;
      if (segment === undefined) ofKeys.set(key, bitsOf(posting, groupForm(group)));
      else
        addBits(
          getOrAdd(ofKeys, key, () => emptyBits(groupForm(group))),
          bitsOf(posting, segmentForm(segment)),
          first - group.first,
        );
    }
  }
  return found;
}

/** Returns the segments by their first number that may have postings of their own, each with its group. */
async function unmergedSegments(db: Kysely<Tables>, groups: readonly Group[], through: number) {
  const unmerged = groups.filter(({ merged }) => merged < buckets);
  const found = new Map<number, Pick<Tables['segments'], 'first' | 'last'> & { group: Group }>();
  if (unmerged.length === 0) return found;
  const segments = db.selectFrom('segments').select(['first', 'last']).where('last', '<=', through);
  for (const segment of await segments.where('first', '>=', Math.min(...unmerged.map(({ first }) => first))).execute()) {
    const group = unmerged.find(({ first, last }) => first <= segment.first && segment.last <= last);
    if (group !== undefined) found.set(segment.first, { ...segment, group });
  }
  return found;
}

/** Returns the times of events by their numbers; removed events have none. */
async function timesOf(db: Kysely<Tables>, sequences: readonly number[]): Promise<Map<number, AuditPlace>> {
  if (sequences.length === 0) return new Map();
  const places = await db.selectFrom('events').select(['sequence', 'time']).where('sequence', 'in', sequences).execute();
  return new Map(places.map((place) => [place.sequence, place]));
}

interface FoundInGroup extends Pick<Found, 'group' | 'bits'> {
  /** Time after which no further place comes behind the group. */
  next: number;
}

/** Yields the places of the events of a group, segment by segment: a question may need the newest ones alone. */
async function* placesOfSegments(db: Kysely<Tables>, { group, bits, next }: FoundInGroup, bounds: Bounds): Places {
  const segments = await segmentsWithin(db, group, bounds);
  let read = 0;
  for (const block of blocksOf(segments)) {
    const firsts = block.map(({ first }) => first);
    const rows = await db.selectFrom('segments').select(['first', 'times']).where('first', 'in', firsts).execute();
    const times = new Map(rows.map((row) => [row.first, buffered(row.times)]));
    for (const { first, last } of block) {
      read += 1;
      const [offset, ofSegment] = [first - group.first, times.get(first)];
      const places = ofSegment === undefined ? [] : placesIn(bits, { from: offset, to: last - group.first + 1 });
      yield {
        places: places.map((place) => ({ sequence: group.first + place, time: ofSegment?.readDoubleLE((place - offset) * 8) ?? 0 })),
        next: Math.max(next, segments[read]?.newest ?? Number.NEGATIVE_INFINITY),
      };
    }
  }
}
