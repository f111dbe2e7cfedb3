import type { Kysely, Transaction } from 'kysely';
import { firstHash, hashOf } from './chain.ts';
import type { AuditEvent } from './event.ts';
import type { AuditFilter, AuditPage, AuditPlace } from './store.ts';
import { eventOf, membersOf, rowOf, stored, type Tables } from './tables.ts';

/** A database with the tables of the events. */
export interface EventDatabase {
  db: Kysely<Tables>;
  /** Makes other writers wait until the transaction ends, and the transaction wait for the disk when it ends. */
  begin(transaction: Transaction<Tables>): Promise<unknown>;
}

/** Rows in one statement: SQLite takes 32,766 parameters. */
const rowsAtOnce = 500;

/** Returns the end of the chain; undefined without events. */
export const newestEvent = (db: Kysely<Tables>) =>
  db.selectFrom('events').select(['sequence', 'hash']).orderBy('sequence', 'desc').limit(1).executeTakeFirst();

/** Numbers and inserts the events that are not there yet. Only one transaction at a time appends. */
export async function appendEvents({ db, begin }: EventDatabase, events: readonly AuditEvent[]): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await begin(transaction);
    const newest = await newestEvent(transaction);
    let sequence = newest?.sequence ?? 0;
    let hash = newest === undefined ? firstHash : Buffer.from(newest.hash).toString('hex');
    for (let from = 0; from < events.length; from += rowsAtOnce) {
      const rows = new Map(events.slice(from, from + rowsAtOnce).map((event) => [stored(event.auditID), rowOf(event)]));
      const known = await transaction
        .selectFrom('events')
        .select('id')
        .where('id', 'in', [...rows.keys()])
        .execute();
      for (const { id } of known) rows.delete(id);
      const numbered = [...rows.values()].map((row) => {
        sequence += 1;
        hash = hashOf(hash, sequence, membersOf(row));
        return { sequence, ...row, hash: Buffer.from(hash, 'hex') };
      });
      if (numbered.length > 0) await transaction.insertInto('events').values(numbered).execute();
    }
  });
}

const columnOf = {
  cluster: 'cluster',
  actor: 'actor',
  requester: 'requester',
  source: 'source',
  event: 'event',
  verb: 'verb',
  apiGroup: 'api_group',
  resource: 'resource',
  namespace: 'namespace',
  name: 'name',
  session: 'session',
  requestID: 'request_id',
  outcome: 'outcome',
} as const satisfies Partial<Record<keyof AuditFilter, keyof Tables['events']>>;

/** Selects the events to which all conditions apply, newest first. */
export function matchingEvents(db: Kysely<Tables>, filter: AuditFilter) {
  let query = db.selectFrom('events').orderBy('time', 'desc').orderBy('sequence', 'desc');
  for (const [name, column] of Object.entries(columnOf)) {
    const value = filter[name as keyof typeof columnOf];
    if (value !== undefined) query = query.where(column, '=', stored(value));
  }
  const { from, to } = filter;
  if (from !== undefined) query = query.where('time', '>=', from);
  if (to !== undefined) query = query.where('time', '<', to);
  return query;
}

export async function listEvents(
  { db }: EventDatabase,
  filter: AuditFilter,
  { limit, before }: { limit: number; before?: AuditPlace | undefined },
): Promise<AuditPage> {
  let query = matchingEvents(db, filter).selectAll();
  if (before !== undefined)
    query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('time', 'sequence'), '<', tuple(before.time, before.sequence)));
  // A further row tells that another page follows.
  const rows = await query.limit(limit + 1).execute();
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return { events: shown.map(eventOf), last: last && { time: last.time, sequence: last.sequence } };
}
