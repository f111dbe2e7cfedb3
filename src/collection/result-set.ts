import type { ListRow } from './properties.ts';
import type { ListQuery } from './query.ts';
import { comparator, filterInSlices, sortInSlices } from './sort.ts';
import { SortedRows } from './sorted-rows.ts';

/** A row as it was and as it is; one of them is missing when it was made or deleted. */
export interface RowChange<Row> {
  readonly old?: Row;
  readonly new?: Row;
}

/** The rows that fit a query, in its order, kept as such while they change. */
export class ResultSet<Row extends ListRow> {
  readonly query: ListQuery<Row>;
  readonly rows: SortedRows<Row>;

  /** `rows`: what fits, in order. */
  constructor(query: ListQuery<Row>, rows: readonly Row[]) {
    this.query = query;
    this.rows = new SortedRows(rows, comparator(query.sortKeys));
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

  /** `changes`: all since it was made or last applied to, in their order. */
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
