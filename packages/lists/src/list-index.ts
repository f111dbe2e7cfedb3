import { LRUCache } from 'lru-cache';
import type { ListProperties, ListRow } from './properties.ts';
import { type ListQuery, parseQuery, type QueryParameters, queryKey, type Scope } from './query.ts';
import { comparator, filterInSlices, firstIndex, sortInSlices } from './sort.ts';

/** Bound of the recorded changes. Above it the older half is dropped, and a result that has missed one of those is rebuilt. */
const maxChanges = 4096;
const maxResults = 128;
/** Bound of the references to rows in all results: 16 MiB. */
const maxReferences = 2_000_000;

/** Rows that match a query. */
export interface Selected<Row> {
  readonly query: ListQuery<Row>;
  readonly rows: ReadonlyRows<Row>;
  /** Version that the rows have at least: they include each change up to it. */
  readonly resourceVersion: string;
}

interface Kept<Row extends ListRow> {
  readonly result: ResultSet<Row>;
  /** Number of the changes that are applied to the result. */
  seen: number;
}

/**
 * Answers queries over all rows of a resource. Results are cached and updated, so that the next equal query costs only the changes since
 * then, for any number of rows. A result that is not requested costs nothing when rows change, and is evicted when other results need its
 * room.
 */
export class ListIndex<Row extends ListRow> {
  readonly #properties: ListProperties<Row>;
  readonly #rows: () => Iterable<Row>;
  readonly #resourceVersion: () => string;
  readonly #results = new LRUCache<string, Kept<Row>>({
    max: maxResults,
    maxSize: maxReferences,
    sizeCalculation: ({ result }) => result.rows.length + 1,
  });
  readonly #making = new Map<string, Promise<Kept<Row>>>();
  #changes: RowChange<Row>[] = [];
  /** Number of the changes that were dropped from `#changes`. */
  #forgotten = 0;

  /** @param all returns all rows as they are at that moment, and the version up to which changes were recorded */
  constructor(properties: ListProperties<Row>, all: { rows: () => Iterable<Row>; resourceVersion: () => string }) {
    this.#properties = properties;
    this.#rows = all.rows;
    this.#resourceVersion = all.resourceVersion;
  }

  /** Number of cached results. */
  get size(): number {
    return this.#results.size;
  }

  /** Records a change. Must be called after `rows` shows it. */
  record(change: RowChange<Row>): void {
    this.#changes.push(change);
    if (this.#changes.length <= maxChanges || this.#making.size > 0) return;
    const half = this.#changes.length >>> 1;
    this.#changes.splice(0, half);
    this.#forgotten += half;
  }

  /**
   * Returns the rows that match, as they are when the promise resolves. Use the version of the result: the caller continues a moment later,
   * when the current version may be newer than the rows.
   *
   * @throws StatusError 400 for an invalid query
   */
  async select(parameters: QueryParameters, scope?: Scope<Row>): Promise<Selected<Row>> {
    const key = queryKey(this.#properties, parameters, scope);
    const result =
      this.#current(key) ??
      this.#caughtUp(await (this.#making.get(key) ?? this.#make(key, parseQuery(this.#properties, parameters, scope))));
    return { query: result.query, rows: result.rows, resourceVersion: this.#resourceVersion() };
  }

  #make(key: string, query: ListQuery<Row>): Promise<Kept<Row>> {
    const ordered = this.#current(query.orderKey);
    const seen = this.#last;
    const making = (ordered ? ResultSet.within(query, ordered) : ResultSet.from(query, this.#rows()))
      .then((result) => {
        const kept = { result, seen };
        this.#results.set(key, kept);
        this.#caughtUp(kept);
        return kept;
      })
      .finally(() => this.#making.delete(key));
    this.#making.set(key, making);
    return making;
  }

  /** Number of the last change. */
  get #last(): number {
    return this.#forgotten + this.#changes.length;
  }

  #current(key: string): ResultSet<Row> | undefined {
    const kept = this.#results.get(key);
    if (kept === undefined) return undefined;
    if (kept.seen >= this.#forgotten) return this.#caughtUp(kept);
    this.#results.delete(key);
    return undefined;
  }

  #caughtUp(kept: Kept<Row>): ResultSet<Row> {
    if (kept.seen < this.#last) kept.result.apply(this.#changes.slice(kept.seen - this.#forgotten));
    kept.seen = this.#last;
    return kept.result;
  }
}

/** Length of a block. A block of more than twice as many rows is split. */
const blockLength = 512;

/** Rows that changes update: read them synchronously, or copy them. */
export type ReadonlyRows<Row> = Omit<SortedRows<Row>, 'insert' | 'delete'>;

/**
 * Sorted rows in blocks: an insertion or deletion moves only the rows of its block. In one array of 100,000 rows it moved half of them,
 * which took more than a third of all work at 1,000 changes a second.
 */
export class SortedRows<Row> {
  readonly #compare: (left: Row, right: Row) => number;
  /** Blocks of rows, none of which is empty. */
  readonly #blocks: Row[][] = [];
  #length: number;

  /** @param ordered rows in the order of `compare`, of which no two are equal */
  constructor(ordered: readonly Row[], compare: (left: Row, right: Row) => number) {
    this.#compare = compare;
    this.#length = ordered.length;
    for (let at = 0; at < ordered.length; at += blockLength) this.#blocks.push(ordered.slice(at, at + blockLength));
  }

  get length(): number {
    return this.#length;
  }

  insert(row: Row): void {
    const { at, index } = this.#placeOf(row);
    const block = this.#blocks[at];
    this.#length += 1;
    if (block === undefined) {
      this.#blocks.push([row]);
      return;
    }
    block.splice(index, 0, row);
    if (block.length > 2 * blockLength) this.#blocks.splice(at + 1, 0, block.splice(blockLength));
  }

  /** Deletes this very row. A row that is only equal stays. */
  delete(row: Row): void {
    const { at, index } = this.#placeOf(row);
    const block = this.#blocks[at];
    if (block?.[index] !== row) return;
    this.#length -= 1;
    block.splice(index, 1);
    if (block.length === 0) this.#blocks.splice(at, 1);
  }

  /** Returns rows like `Array.prototype.slice`, for indexes that are not negative. */
  slice(start = 0, end = this.#length): Row[] {
    const rows: Row[] = [];
    let first = 0;
    for (const block of this.#blocks) {
      if (first >= end) break;
      if (first + block.length > start) rows.push(...block.slice(Math.max(0, start - first), end - first));
      first += block.length;
    }
    return rows;
  }

  /**
   * Returns the index of the first row for which `isBehind` holds, the length if there is none. The predicate must hold for a tail of the
   * rows.
   */
  firstIndex(isBehind: (row: Row) => boolean): number {
    const { at, index } = this.#place(isBehind);
    return this.#blocks.slice(0, at).reduce((sum, block) => sum + block.length, index);
  }

  /** Returns the place of a row, whether or not it exists. */
  #placeOf(row: Row): { at: number; index: number } {
    return this.#place((other) => this.#compare(other, row) >= 0);
  }

  #place(isBehind: (row: Row) => boolean): { at: number; index: number } {
    const behind = firstIndex(this.#blocks, (block) => {
      const last = block.at(-1);
      return last !== undefined && isBehind(last);
    });
    const at = Math.max(0, Math.min(behind, this.#blocks.length - 1));
    return { at, index: firstIndex(this.#blocks[at] ?? [], isBehind) };
  }
}

/** A change of a row. `old` is missing if the row was added, `new` if it was deleted. */
interface RowChange<Row> {
  readonly old?: Row;
  readonly new?: Row;
}

/** Rows that match a query, in its order, updated by changes. */
class ResultSet<Row extends ListRow> {
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
