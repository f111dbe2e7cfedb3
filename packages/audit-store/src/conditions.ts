import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import { furtherValuesOf, hasValues } from './further-values.ts';
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

/** Returns the condition that an event has all values and times of a filter. */
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
      ...(anyOf === undefined ? [] : [eb.or(anyOf.map((one) => hasAll(one)(eb)))]),
    ]);
  };

/** Returns a function that reports whether an event has all values and times of a filter, without a database. */
export function matcherOf(filter: AuditFilter): (event: EventColumns) => boolean {
  const further = furtherValuesOf(filter);
  return (event) => matches(filter, event) && hasValues(event, further);
}

function matches({ auditID, from, to, anyOf, ...values }: AuditFilter, row: EventColumns): boolean {
  return (
    Object.entries(columnOf).every(([name, column]) => {
      const value = values[name as keyof typeof columnOf];
      return value === undefined || row[column] === stored(value);
    }) &&
    (auditID === undefined || row.id === stored(auditID)) &&
    row.time >= (from ?? Number.NEGATIVE_INFINITY) &&
    row.time < (to ?? Number.POSITIVE_INFINITY) &&
    (anyOf === undefined || anyOf.some((one) => matches(one, row)))
  );
}

/**
 * Returns the place before which the first page begins. PostgreSQL begins at one of several ends that a question names, which need not be
 * the nearest one: it would read all events that are newer.
 */
export const firstBound = ({ to = Number.MAX_SAFE_INTEGER }: AuditFilter, before: AuditPlace | undefined): AuditPlace =>
  before !== undefined && before.time < to ? before : { time: to, sequence: 0 };
