import { LRUCache } from 'lru-cache';
import type { ListProperties, ListRow } from './properties.ts';
import { type ListQuery, parseQuery, type QueryParameters, queryKey, type Scope } from './query.ts';
import { ResultSet, type RowChange } from './result-set.ts';
import type { ReadonlyRows } from './sorted-rows.ts';

/** Beyond them the older half is forgotten, and a result that has missed one of those is rebuilt. */
const maxChanges = 4096;
const maxResults = 128;
/** References to rows in all results together: 16 MiB. */
const maxReferences = 2_000_000;

/** What fits a query. */
export interface Selected<Row> {
  readonly query: ListQuery<Row>;
  readonly rows: ReadonlyRows<Row>;
  /** Of the rows, at least: each change up to that one is in them. */
  readonly resourceVersion: string;
}

interface Kept<Row extends ListRow> {
  readonly result: ResultSet<Row>;
  /** How many changes it knows of. */
  seen: number;
}

/**
 * Answers queries over all rows of a resource. The result of a query is kept and follows the changes, so that asking again costs the changes since
 * then, however many rows there are. A result that is not asked for costs nothing when they change, and makes room when others are
 * asked for.
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
  /** How many changes came before `#changes`. */
  #forgotten = 0;

  /** `all`: all rows as they are at that moment, and the version up to which changes were recorded. */
  constructor(properties: ListProperties<Row>, all: { rows: () => Iterable<Row>; resourceVersion: () => string }) {
    this.#properties = properties;
    this.#rows = all.rows;
    this.#resourceVersion = all.resourceVersion;
  }

  /** How many results are kept. */
  get size(): number {
    return this.#results.size;
  }

  /** To be called after `rows` shows the change. */
  record(change: RowChange<Row>): void {
    this.#changes.push(change);
    if (this.#changes.length <= maxChanges || this.#making.size > 0) return;
    const half = this.#changes.length >>> 1;
    this.#changes.splice(0, half);
    this.#forgotten += half;
  }

  /**
   * The rows that fit, as they are when it resolves. The caller hears of that a moment later: a version that it read by itself could be newer.
   *
   * @throws StatusError 400 for a query that is not understood
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

  /** The number of the last change. */
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
