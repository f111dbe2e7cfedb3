import { LRUCache } from 'lru-cache';
import type { ListProperties, ListRow } from './properties.ts';
import { type ListQuery, parseQuery, type QueryParameters, queryKey, type Scope } from './query.ts';
import { type ReadonlyRows, ResultSet, type RowChange } from './sorted-rows.ts';

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
