import type { UserQuery } from './query.ts';
import type { UserRow } from './row.ts';
import { comparator, filterInSlices, firstIndex, sortInSlices } from './sort.ts';

/** A user as it was and as it is; one of them is missing when it was made or deleted. */
export interface UserChange {
  readonly old?: UserRow;
  readonly new?: UserRow;
}

/** Up to here each change is put into its place; beyond, one pass over all is cheaper. */
const fewChanges = 128;

/** The users that fit a query, in its order, kept as such while users change. */
export class ResultSet {
  readonly query: UserQuery;
  readonly #compare: (left: UserRow, right: UserRow) => number;
  #rows: UserRow[];

  /** `rows`: what fits, in order. */
  constructor(query: UserQuery, rows: UserRow[]) {
    this.query = query;
    this.#compare = comparator(query.sortKeys);
    this.#rows = rows;
  }

  /** Out of all users, in whatever order they are. Other requests go on in between. */
  static async from(query: UserQuery, users: Iterable<UserRow>): Promise<ResultSet> {
    const rows = await fitting(query, Array.from(users));
    return new ResultSet(query, await sortInSlices(rows, comparator(query.sortKeys)));
  }

  /** Out of all users in the order of the query. Other requests go on in between. */
  static async within(query: UserQuery, ordered: ResultSet): Promise<ResultSet> {
    return new ResultSet(query, await fitting(query, ordered.rows.slice()));
  }

  get rows(): readonly UserRow[] {
    return this.#rows;
  }

  /** `changes`: all since it was made or last applied to, in their order. */
  apply(changes: readonly UserChange[]): void {
    if (changes.length > fewChanges) this.#applyMany(changes);
    else for (const change of changes) this.#applyOne(change);
  }

  #fits(row: UserRow): boolean {
    return this.query.fits === undefined || this.query.fits(row);
  }

  #applyOne({ old, new: current }: UserChange): void {
    if (old !== undefined && this.#fits(old)) {
      const index = this.#indexOf(old);
      if (this.#rows[index] === old) this.#rows.splice(index, 1);
    }
    if (current !== undefined && this.#fits(current)) this.#rows.splice(this.#indexOf(current), 0, current);
  }

  /** Where the row stands, or would stand. */
  #indexOf(row: UserRow): number {
    return firstIndex(this.#rows, (other) => this.#compare(other, row) >= 0);
  }

  #applyMany(changes: readonly UserChange[]): void {
    const gone = new Set(changes.map((change) => change.old));
    const come = changes.flatMap(({ new: row }) => (row === undefined || gone.has(row) || !this.#fits(row) ? [] : [row]));
    const stayed = this.#rows.filter((row) => !gone.has(row));
    // Two sorted runs: the sort finds them and only merges.
    this.#rows = stayed.concat(come.sort(this.#compare)).sort(this.#compare);
  }
}

const fitting = async ({ fits }: UserQuery, rows: UserRow[]): Promise<UserRow[]> =>
  fits === undefined ? rows : filterInSlices(rows, fits);
