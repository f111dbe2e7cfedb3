/** The events after the last segment, which a question looks at one by one. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { firstBound, hasAll, withFurtherValues } from './conditions.ts';
import type { AuditFilter, AuditPlace } from './store.ts';
import type { Tables } from './tables.ts';

/** Events that one statement reads. */
const slice = 512;
/** Events that one statement looks at. There are more of them only while segments are made for earlier events. */
const maxTail = 16_384;
/** Events that one statement looks at while there are more. */
const windowSize = 2_000;

interface Tail {
  filter: AuditFilter;
  /** Number of the last event that a segment has. */
  through: number;
  before: AuditPlace | undefined;
}

/** Yields the places of the events after the last segment that a filter asks for, and the time after which no further one comes. */
export async function* placesAfter(
  db: Kysely<Tables>,
  { filter, through, before }: Tail,
): AsyncGenerator<{ places: AuditPlace[]; next: number }> {
  const newest = await db.selectFrom('events').select('sequence').orderBy('sequence', 'desc').limit(1).executeTakeFirst();
  const count = (newest?.sequence ?? 0) - through;
  if (count > maxTail) return yield* placesOfWindows(db, { filter, through, before }, count);
  const matching = db.selectFrom('events').select(['sequence', 'time']).where(hasAll(filter));
  // PostgreSQL takes a range with one end for a third of a table that it has not analyzed yet, and reads the whole table.
  const places = await matching.where('sequence', '>', through).where('sequence', '<', Number.MAX_SAFE_INTEGER).execute();
  yield { places: await havingFurtherValues(db, filter, places), next: Number.NEGATIVE_INFINITY };
}

/** Looks at the events by their time, newest first, in bounded statements: a question that finds enough looks at few of them. */
async function* placesOfWindows(db: Kysely<Tables>, { filter, through, before }: Tail, count: number) {
  const { from = Number.MIN_SAFE_INTEGER } = filter;
  let last = firstBound(filter, before);
  for (let [seen, isEnd] = [0, false]; !isEnd; ) {
    const window = db.selectFrom('events').select(['sequence', 'time']).where('time', '>=', from);
    const after = window.where(({ eb, refTuple, tuple }) => eb(refTuple('time', 'sequence'), '<', tuple(last.time, last.sequence)));
    const places = await after.orderBy('time', 'desc').orderBy('sequence', 'desc').limit(windowSize).execute();
    last = places.at(-1) ?? last;
    const tail = places.filter(({ sequence }) => sequence > through);
    seen += tail.length;
    // Events of segments, which are older, would follow.
    isEnd = places.length < windowSize || seen >= count;
    const found: AuditPlace[] = [];
    for (let begin = 0; begin < tail.length; begin += slice) {
      const sequences = tail.slice(begin, begin + slice).map(({ sequence }) => sequence);
      found.push(
        ...(await db.selectFrom('events').select(['sequence', 'time']).where(hasAll(filter)).where('sequence', 'in', sequences).execute()),
      );
    }
    yield { places: await havingFurtherValues(db, filter, found), next: isEnd ? Number.NEGATIVE_INFINITY : last.time };
    // SQLite answers within a turn of the event loop.
    await nextTurn();
  }
}

/** Returns the places of the events that have all values without a column that a filter asks for. */
async function havingFurtherValues(db: Kysely<Tables>, filter: AuditFilter, places: AuditPlace[]): Promise<AuditPlace[]> {
  const having = new Set<number>();
  for (let from = 0; from < places.length; from += slice) {
    const part = places.slice(from, from + slice).map(({ sequence }) => sequence);
    for (const sequence of await withFurtherValues(db, filter, part)) having.add(sequence);
  }
  return places.filter(({ sequence }) => having.has(sequence));
}
