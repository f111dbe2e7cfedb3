import { LRUCache } from 'lru-cache';
import { parseQuery, type QueryParameters, queryKey, type UserQuery } from './query.ts';
import { ResultSet, type UserChange } from './result-set.ts';
import type { UserRow } from './row.ts';

/** A result that has missed more than these is made anew. */
const maxChanges = 8192;
const maxResults = 128;
/** References to users in all results together: 16 MiB. */
const maxReferences = 2_000_000;

interface Kept {
  readonly result: ResultSet;
  /** How many changes it knows of. */
  seen: number;
}

/**
 * Answers queries over all users. The result of a query is kept and follows the changes, so that asking again costs the changes since
 * then, however many users there are. A result that nobody asks for costs nothing when users change, and makes room when others are
 * asked for.
 */
export class UserIndex {
  readonly #users: () => Iterable<UserRow>;
  readonly #results = new LRUCache<string, Kept>({
    max: maxResults,
    maxSize: maxReferences,
    sizeCalculation: ({ result }) => result.rows.length + 1,
  });
  readonly #making = new Map<string, Promise<Kept>>();
  #changes: UserChange[] = [];
  /** How many changes came before `#changes`. */
  #forgotten = 0;

  /** `users`: all users as they are at that moment. */
  constructor(users: () => Iterable<UserRow>) {
    this.#users = users;
  }

  /** How many results are kept. */
  get size(): number {
    return this.#results.size;
  }

  /** To be called after `users` shows the change. */
  record(change: UserChange): void {
    this.#changes.push(change);
    if (this.#changes.length <= maxChanges || this.#making.size > 0) return;
    this.#forgotten += this.#changes.length;
    this.#changes = [];
  }

  /**
   * The users that fit, as they are when it resolves.
   *
   * @throws StatusError 400 for a query that is not understood
   */
  async select(parameters: QueryParameters): Promise<ResultSet> {
    const key = queryKey(parameters);
    return this.#current(key) ?? this.#caughtUp(await (this.#making.get(key) ?? this.#make(key, parseQuery(parameters))));
  }

  #make(key: string, query: UserQuery): Promise<Kept> {
    const ordered = this.#current(query.orderKey);
    const seen = this.#last;
    const making = (ordered ? ResultSet.within(query, ordered) : ResultSet.from(query, this.#users()))
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

  #current(key: string): ResultSet | undefined {
    const kept = this.#results.get(key);
    if (kept === undefined) return undefined;
    if (kept.seen >= this.#forgotten) return this.#caughtUp(kept);
    this.#results.delete(key);
    return undefined;
  }

  #caughtUp(kept: Kept): ResultSet {
    if (kept.seen < this.#last) kept.result.apply(this.#changes.slice(kept.seen - this.#forgotten));
    kept.seen = this.#last;
    return kept.result;
  }
}
