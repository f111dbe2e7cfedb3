import { exactValue } from '../api/json.ts';
import { badParameter } from '../api/status.ts';
import type { ReadonlyRows } from '../collection/list-index.ts';
import { Slices } from '../kubernetes/slices.ts';
import type { Column, Value } from './columns.ts';
import { rowsApiVersion } from './listed-resource.ts';
import type { ResourceRow } from './row.ts';

/** Bound of the values that are shown. Objects with other values are counted together. */
const maxValues = 100;
/** Rows between two checks of the time. */
const chunk = 512;

export interface Summary {
  apiVersion: typeof rowsApiVersion;
  kind: 'ResourceSummary';
  metadata: { resourceVersion: string };
  total: number;
  /** Values by count. A BigInt is in a form that JSON serializes exactly. */
  values: { value: unknown; count: number }[];
  other: number;
}

interface Summarized {
  /** Rows of a list. Their content changes only with `resourceVersion`. */
  rows: ReadonlyRows<ResourceRow>;
  resourceVersion: string;
  columns: readonly Column[];
  /** Name of a column, `namespace` or `owner`. */
  property: string;
}

interface Kept {
  readonly resourceVersion: string;
  readonly summary: Promise<Summary>;
}

/**
 * Counts rows by value. The most frequent value comes first; equal counts are in the order of the texts. The result is shared by all
 * callers until the rows change.
 */
export class Summaries {
  /** Summaries by list and property. */
  readonly #kept = new WeakMap<ReadonlyRows<ResourceRow>, Map<string, Kept>>();

  /** @throws StatusError 400 */
  of({ rows, resourceVersion, columns, property }: Summarized): Promise<Summary> {
    const read = readerOf(columns, property);
    const ofList = this.#kept.get(rows) ?? new Map<string, Kept>();
    const kept = ofList.get(property);
    if (kept?.resourceVersion === resourceVersion) return kept.summary;
    const summary = count(rows.slice(), resourceVersion, read);
    this.#kept.set(rows, ofList.set(property, { resourceVersion, summary }));
    return summary;
  }
}

type Reader = (row: ResourceRow) => Value;

async function count(rows: readonly ResourceRow[], resourceVersion: string, read: Reader): Promise<Summary> {
  const slices = new Slices();
  const counts = new Map<Value, number>();
  for (const [index, row] of rows.entries()) {
    const value = read(row);
    counts.set(value, (counts.get(value) ?? 0) + 1);
    if (index % chunk === 0) await slices.end();
  }
  const sorted = [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((left, right) => right.count - left.count || (String(left.value) < String(right.value) ? -1 : 1));
  const values = sorted.slice(0, maxValues).map(({ value, count }) => ({ value: exactValue('', value), count }));
  const other = sorted.slice(maxValues).reduce((sum, { count }) => sum + count, 0);
  return { apiVersion: rowsApiVersion, kind: 'ResourceSummary', metadata: { resourceVersion }, total: rows.length, values, other };
}

/** @throws StatusError 400 */
function readerOf(columns: readonly Column[], property: string): Reader {
  if (property === 'namespace') return ({ namespace }) => namespace || null;
  if (property === 'owner') return ({ owner }) => owner || null;
  const index = columns.findIndex(({ name }) => name === property);
  if (index >= 0) return (row) => row.values[index] ?? null;
  const known = ['namespace', 'owner', ...columns.map(({ name }) => name)];
  throw badParameter('summary', `unknown property; known are: ${known.join(', ')}`, 'FieldValueNotSupported');
}
