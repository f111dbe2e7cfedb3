import type { ListRow } from './properties.ts';
import type { ListQuery } from './query.ts';
import { comparator, filterInSlices, sortInSlices } from './sort.ts';
import { SortedRows } from './sorted-rows.ts';

/** A change of a row. `old` is missing if the row was added, `new` if it was deleted. */
export interface RowChange<Row> {
  readonly old?: Row;
  readonly new?: Row;
}

/** Rows that match a query, in its order, updated by changes. */
export class ResultSet<Row extends ListRow> {
  readonly query: ListQuery<Row>;
  readonly rows: SortedRows<Row>;

  /** @param rows rows that match, in order */
  constructor(query: ListQuery<Row>, rows: readonly Row[]) {
    this.query = query;
    this.rows = new SortedRows(rows, comparator(query.sortKeys));
  }

  /** Selects and sorts all rows, in slices between which other requests are served. */
  static async from<Row extends ListRow>(query: ListQuery<Row>, all: Iterable<Row>): Promise<ResultSet<Row>> {
    const rows = await fitting(query, Array.from(all));
    return new ResultSet(query, await sortInSlices(rows, comparator(query.sortKeys)));
  }

  /** Selects rows that are already in the order of the query, in slices between which other requests are served. */
  static async within<Row extends ListRow>(query: ListQuery<Row>, ordered: ResultSet<Row>): Promise<ResultSet<Row>> {
    return new ResultSet(query, await fitting(query, ordered.rows.slice()));
  }

  /** Applies changes. @param changes all changes since the set was made or last updated, in their order */
  apply(changes: readonly RowChange<Row>[]): void {
    for (const { old, new: current } of changes) {
      if (old !== undefined && this.#fits(old)) this.rows.delete(old);
      if (current !== undefined && this.#fits(current)) this.rows.insert(current);
    }
  }

  #fits(row: Row): boolean {
    return this.query.fits === undefined || this.query.fits(row);
  }
}

const fitting = async <Row>({ fits }: ListQuery<Row>, rows: Row[]): Promise<Row[]> =>
  fits === undefined ? rows : filterInSlices(rows, fits);
