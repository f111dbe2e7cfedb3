import { type Kysely, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
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
    for (const { count, failures, withToken = 0, ...value } of groups.map(countOf)) {
      const key = JSON.stringify(value);
      const known = counts.get(key) ?? { ...value, count: 0, failures: 0, withToken: 0 };
      counts.set(key, {
        ...known,
        count: known.count + count,
        failures: known.failures + failures,
        withToken: (known.withToken ?? 0) + withToken,
      });
      total += count;
    }
    oldest = Math.min(oldest, ...groups.map((group) => Number(group.oldest)));
    if (total >= atMost) break;
  }
  // Programs use access tokens, so that they tell who is one.
  const told = [...counts.values()].map(({ withToken, ...others }) => (by === 'actor' ? { ...others, withToken } : others));
  const sorted = told.toSorted((one, other) => (by === 'hour' ? (other.hour ?? 0) - (one.hour ?? 0) : other.count - one.count));
  return { counts: sorted.slice(0, by === 'hour' ? maxHours : maxGroups), total, ...(total >= atMost && { oldest }) };
}

type SelectedEvents = SelectQueryBuilder<Tables, 'events', object>;

/** Counts selected events by one dimension. */
async function groupsOf(db: Kysely<Tables>, events: SelectedEvents, by: AuditDimension): Promise<Group[]> {
  const counted = events
    .select(['time', 'actor', 'verb', 'api_group', 'resource', 'namespace', 'name'])
    .select(({ eb }) => [
      eb.case().when('outcome', '=', 'failure').then(1).else(0).end().as('failed'),
      // Quotes in values are escaped, so that only a member has this text.
      eb
        .case()
        .when(by === 'actor' ? eb('rest', 'like', '%"accessToken":"%') : sql<SqlBool>`1 = 0`)
        .then(1)
        .else(0)
        .end()
        .as('tokens'),
      // Remainders and differences of integers are the same in every database; divisions are not.
      sql<number>`time - time % ${sql.lit(hourMs)}`.as('hour'),
    ])
    .as('counted');
  return await db
    .selectFrom(counted)
    .select([...columnsOf[by]])
    .select(({ fn }) => [
      fn.countAll().as('count'),
      fn.sum('failed').as('failures'),
      fn.sum('tokens').as('withToken'),
      fn.min('time').as('oldest'),
    ])
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
  withToken: number | string | bigint;
  oldest: number | string | bigint;
}

/** Returns a row as a count. PostgreSQL returns counts and sums as texts. */
function countOf({ hour, actor, verb, api_group: apiGroup, resource, namespace, name, count, failures, withToken }: Group): AuditCount {
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
    withToken: Number(withToken),
  };
}
