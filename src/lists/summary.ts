import { badParameter } from '../api/status.ts';
import type { Slices } from '../kubernetes/slices.ts';
import type { Column, Value } from './columns.ts';
import { rowsApiVersion } from './listed-resource.ts';
import type { ResourceRow } from './row.ts';

/** The values that are shown; how many objects have others is a number. */
const maxValues = 100;
/** Rows between two looks at the clock. */
const chunk = 512;

export interface Summary {
  apiVersion: typeof rowsApiVersion;
  kind: 'ResourceSummary';
  metadata: { resourceVersion: string };
  total: number;
  values: { value: Value; count: number }[];
  other: number;
}

interface Summarized {
  rows: readonly ResourceRow[];
  resourceVersion: string;
  columns: readonly Column[];
  /** A column, `namespace` or `owner`. */
  property: string;
  slices: Slices;
}

/** Counts rows by a value: the most frequent first, and of equal ones in the order of their texts. @throws StatusError 400 */
export async function summarize({ rows, resourceVersion, columns, property, slices }: Summarized): Promise<Summary> {
  const read = readerOf(columns, property);
  const counts = new Map<Value, number>();
  // A copy, since the rows of a list follow the changes.
  const all = rows.slice();
  for (const [index, row] of all.entries()) {
    const value = read(row);
    counts.set(value, (counts.get(value) ?? 0) + 1);
    if (index % chunk === 0) await slices.end();
  }
  const sorted = [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((left, right) => right.count - left.count || (String(left.value) < String(right.value) ? -1 : 1));
  const values = sorted.slice(0, maxValues);
  const other = sorted.slice(maxValues).reduce((sum, { count }) => sum + count, 0);
  return { apiVersion: rowsApiVersion, kind: 'ResourceSummary', metadata: { resourceVersion }, total: all.length, values, other };
}

function readerOf(columns: readonly Column[], property: string): (row: ResourceRow) => Value {
  if (property === 'namespace') return ({ namespace }) => namespace || null;
  if (property === 'owner') return ({ owner }) => owner || null;
  const index = columns.findIndex(({ name }) => name === property);
  if (index >= 0) return (row) => row.values[index] ?? null;
  const known = ['namespace', 'owner', ...columns.map(({ name }) => name)];
  throw badParameter('summary', `unknown property; known are: ${known.join(', ')}`, 'FieldValueNotSupported');
}
