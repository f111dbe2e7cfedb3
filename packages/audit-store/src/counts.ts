import { type Kysely, sql } from 'kysely';
import { matchingEvents } from './queries.ts';
import type { AuditCount, AuditCounts, AuditDimension, AuditFilter } from './store.ts';
import { restored, type Tables } from './tables.ts';

/** Events that are counted, so that a question about all events costs no more than this. */
const maxCounted = 100_000;
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
  const newest = matchingEvents(db, filter)
    .select(['time', 'actor', 'verb', 'api_group', 'resource', 'namespace', 'name'])
    .select(({ eb }) => [
      eb.case().when('outcome', '=', 'failure').then(1).else(0).end().as('failed'),
      // Remainders and differences of integers are the same in every database; divisions are not.
      sql<number>`time - time % ${sql.lit(hourMs)}`.as('hour'),
    ])
    .limit(atMost)
    .as('newest');
  const groups = await db
    .selectFrom(newest)
    .select([...columnsOf[by]])
    .select(({ fn }) => [fn.countAll().as('count'), fn.sum('failed').as('failures')])
    .groupBy([...columnsOf[by]])
    .orderBy(by === 'hour' ? 'hour' : 'count', 'desc')
    .limit(by === 'hour' ? maxHours : maxGroups)
    .execute();
  const all = await db
    .selectFrom(newest)
    .select(({ fn }) => [fn.countAll().as('count'), fn.min('time').as('oldest')])
    .executeTakeFirstOrThrow();
  const total = Number(all.count);
  return { counts: groups.map(countOf), total, ...(total >= atMost && { oldest: Number(all.oldest) }) };
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
