import { type Expression, type ExpressionBuilder, type Kysely, type SqlBool, sql } from 'kysely';
import { furtherColumns, furtherValuesOf, hasValues, involves, patternsOf } from './further-values.ts';
import type { AuditFilter, AuditPlace } from './store.ts';
import { type EventColumns, stored, type Tables } from './tables.ts';

/** Columns of the values by which events are searched; `further-values.ts` has the others. */
export const columnOf = {
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

/** Texts of an event with all its words. */
const texts = sql.join(
  furtherColumns.map((column) => sql.ref(column)),
  sql` || ' ' || `,
);

/** Returns the condition that an event has all times of a filter, all values with a column, and probably all words and names. */
export const hasAll =
  (filter: AuditFilter) =>
  (eb: ExpressionBuilder<Tables, 'events'>): Expression<SqlBool> => {
    const { auditID, from, to, anyOf } = filter;
    return eb.and([
      ...Object.entries(columnOf).flatMap(([name, column]) => {
        const value = filter[name as keyof typeof columnOf];
        return value === undefined ? [] : [eb(column, '=', stored(value))];
      }),
      ...(auditID === undefined ? [] : [eb('id', '=', stored(auditID))]),
      ...(from === undefined ? [] : [eb('time', '>=', from)]),
      ...(to === undefined ? [] : [eb('time', '<', to)]),
      ...patternsOf(filter).map((pattern) => sql<SqlBool>`lower(${texts}) like ${pattern}`),
      ...(anyOf === undefined ? [] : [eb.or(anyOf.map((one) => hasAll(one)(eb)))]),
    ]);
  };

/** Returns a function that reports whether an event has all values and times of a filter, without a database. */
export function matcherOf({ anyOf, ...filter }: AuditFilter): (event: EventColumns) => boolean {
  const further = furtherValuesOf(filter);
  const lines = anyOf?.map((one) => matcherOf(one));
  return (event) =>
    hasColumns(filter, event) &&
    hasValues(event, further) &&
    involves(event, filter) &&
    (lines === undefined || lines.some((matches) => matches(event)));
}

function hasColumns({ auditID, from, to, ...values }: AuditFilter, row: EventColumns): boolean {
  return (
    Object.entries(columnOf).every(([name, column]) => {
      const value = values[name as keyof typeof columnOf];
      return value === undefined || row[column] === stored(value);
    }) &&
    (auditID === undefined || row.id === stored(auditID)) &&
    row.time >= (from ?? Number.NEGATIVE_INFINITY) &&
    row.time < (to ?? Number.POSITIVE_INFINITY)
  );
}

/**
 * Returns the place before which the first page begins. PostgreSQL begins at one of several ends that a question names, which need not be
 * the nearest one: it would read all events that are newer.
 */
export const firstBound = ({ to = Number.MAX_SAFE_INTEGER }: AuditFilter, before: AuditPlace | undefined): AuditPlace =>
  before !== undefined && before.time < to ? before : { time: to, sequence: 0 };

/** Returns those of the events with the columns of a filter that have its other values, too. */
export async function withFurtherValues(db: Kysely<Tables>, filter: AuditFilter, sequences: number[]): Promise<number[]> {
  const hasFurther = [filter, ...(filter.anyOf ?? [])].some(
    ({ involvedUser, involvedRecord, ...others }) => (involvedUser ?? involvedRecord) !== undefined || furtherValuesOf(others).length > 0,
  );
  if (!hasFurther || sequences.length === 0) return sequences;
  const rows = await db.selectFrom('events').selectAll().where('sequence', 'in', sequences).execute();
  return rows.filter(matcherOf(filter)).map(({ sequence }) => sequence);
}
