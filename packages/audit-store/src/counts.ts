import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import { matchingParts } from './queries.ts';
import type { AuditCount, AuditCounts, AuditDimension, AuditFilter } from './store.ts';
import { restored, type Tables } from './tables.ts';

/** Events that are counted, so that a question about all events costs no more than this. */
const maxCounted = 100_000;
/** Events that one statement counts, so that no answer of a database holds the event loop. */
const partSize = 2_000;
/** Hours of three months. */
const maxHours = 2_208;
const maxGroups = 100;
const hourMs = 3_600_000;

const columnsOf = {
  hour: ['hour'],
  actor: ['actor'],
  verb: ['verb'],
  object: ['api_group', 'resource', 'namespace', 'name'],
} as const satisfies Record<AuditDimension, readonly string[]>;

/** Counts the newest events to which all conditions apply, by one dimension. */
export async function countEvents(
  db: Kysely<Tables>,
  filter: AuditFilter,
  by: AuditDimension,
  atMost: number = maxCounted,
): Promise<AuditCounts> {
  const counts = new Map<string, AuditCount>();
  let [total, oldest] = [0, Number.POSITIVE_INFINITY];
  for await (const part of matchingParts(db, filter, { limit: partSize })) {
    const groups = await groupsOf(db, part.limit(atMost - total), by);
    for (const { count, failures, ...value } of groups.map(countOf)) {
      const key = JSON.stringify(value);
      const known = counts.get(key) ?? { ...value, count: 0, failures: 0 };
      counts.set(key, { ...known, count: known.count + count, failures: known.failures + failures });
      total += count;
    }
    oldest = Math.min(oldest, ...groups.map((group) => Number(group.oldest)));
    if (total >= atMost) break;
  }
  const sorted = [...counts.values()].toSorted((one, other) =>
    by === 'hour' ? (other.hour ?? 0) - (one.hour ?? 0) : other.count - one.count,
  );
  return { counts: sorted.slice(0, by === 'hour' ? maxHours : maxGroups), total, ...(total >= atMost && { oldest }) };
}

type SelectedEvents = SelectQueryBuilder<Tables, 'events', object>;

/** Counts selected events by one dimension. */
async function groupsOf(db: Kysely<Tables>, events: SelectedEvents, by: AuditDimension): Promise<Group[]> {
  const counted = events
    .select(['time', 'actor', 'verb', 'api_group', 'resource', 'namespace', 'name'])
    .select(({ eb }) => [
      eb.case().when('outcome', '=', 'failure').then(1).else(0).end().as('failed'),
      // Remainders and differences of integers are the same in every database; divisions are not.
      sql<number>`time - time % ${sql.lit(hourMs)}`.as('hour'),
    ])
    .as('counted');
  return await db
    .selectFrom(counted)
    .select([...columnsOf[by]])
    .select(({ fn }) => [fn.countAll().as('count'), fn.sum('failed').as('failures'), fn.min('time').as('oldest')])
    .groupBy([...columnsOf[by]])
    .execute();
}

interface Group {
  hour?: number;
  actor?: string;
  verb?: string;
  api_group?: string;
  resource?: string;
  namespace?: string;
  name?: string;
  count: number | string | bigint;
  failures: number | string | bigint;
  oldest: number | string | bigint;
}

/** Returns a row as a count. PostgreSQL returns counts and sums as texts. */
function countOf({ hour, actor, verb, api_group: apiGroup, resource, namespace, name, count, failures }: Group): AuditCount {
  return {
    ...(hour !== undefined && { hour: Number(hour) }),
    ...(actor !== undefined && { actor: restored(actor) }),
    ...(verb !== undefined && { verb: restored(verb) }),
    ...(resource !== undefined && {
      object: {
        apiGroup: restored(apiGroup ?? ''),
        resource: restored(resource),
        ...(namespace && { namespace: restored(namespace) }),
        ...(name && { name: restored(name) }),
      },
    }),
    count: Number(count),
    failures: Number(failures),
  };
}
