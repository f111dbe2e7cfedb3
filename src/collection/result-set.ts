import type { ListRow } from './properties.ts';
import type { ListQuery } from './query.ts';
import { comparator, filterInSlices, firstIndex, sortInSlices } from './sort.ts';

/** A row as it was and as it is; one of them is missing when it was made or deleted. */
export interface RowChange<Row> {
  readonly old?: Row;
  readonly new?: Row;
}

/** Up to here each change is put into its place; beyond, one pass over all is cheaper. */
const fewChanges = 128;

/** The rows that fit a query, in its order, kept as such while they change. */
export class ResultSet<Row extends ListRow> {
  readonly query: ListQuery<Row>;
  readonly #compare: (left: Row, right: Row) => number;
  #rows: Row[];

  /** `rows`: what fits, in order. */
  constructor(query: ListQuery<Row>, rows: Row[]) {
    this.query = query;
    this.#compare = comparator(query.sortKeys);
    this.#rows = rows;
  }

  /** Out of all rows, in whatever order they are. Other requests go on in between. */
  static async from<Row extends ListRow>(query: ListQuery<Row>, all: Iterable<Row>): Promise<ResultSet<Row>> {
    const rows = await fitting(query, Array.from(all));
    return new ResultSet(query, await sortInSlices(rows, comparator(query.sortKeys)));
  }

  /** Out of all rows in the order of the query. Other requests go on in between. */
  static async within<Row extends ListRow>(query: ListQuery<Row>, ordered: ResultSet<Row>): Promise<ResultSet<Row>> {
    return new ResultSet(query, await fitting(query, ordered.rows.slice()));
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  /** `changes`: all since it was made or last applied to, in their order. */
  apply(changes: readonly RowChange<Row>[]): void {
    if (changes.length > fewChanges) this.#applyMany(changes);
    else for (const change of changes) this.#applyOne(change);
  }

  #fits(row: Row): boolean {
    return this.query.fits === undefined || this.query.fits(row);
  }

  #applyOne({ old, new: current }: RowChange<Row>): void {
    if (old !== undefined && this.#fits(old)) {
      const index = this.#indexOf(old);
      if (this.#rows[index] === old) this.#rows.splice(index, 1);
    }
    if (current !== undefined && this.#fits(current)) this.#rows.splice(this.#indexOf(current), 0, current);
  }

  /** Where the row stands, or would stand. */
  #indexOf(row: Row): number {
    return firstIndex(this.#rows, (other) => this.#compare(other, row) >= 0);
  }

  #applyMany(changes: readonly RowChange<Row>[]): void {
    const gone = new Set(changes.map((change) => change.old));
    const come = changes.flatMap(({ new: row }) => (row === undefined || gone.has(row) || !this.#fits(row) ? [] : [row]));
    const stayed = this.#rows.filter((row) => !gone.has(row));
    // Two sorted runs: the sort finds them and only merges.
    this.#rows = stayed.concat(come.sort(this.#compare)).sort(this.#compare);
  }
}

const fitting = async <Row>({ fits }: ListQuery<Row>, rows: Row[]): Promise<Row[]> =>
  fits === undefined ? rows : filterInSlices(rows, fits);
