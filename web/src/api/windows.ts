import { type Signal, signal } from '@preact/signals';
import { asProblem, type Problem } from './problem';
import { windowSize } from './window-size';

/** Page of a list as the service returns it. */
interface Slice<T> {
  items: readonly T[];
  total: number;
  metadata: { resourceVersion: string };
}

/** @param page from 1 */
export type FetchSlice<T> = (page: number, signal: AbortSignal) => Promise<Slice<T>>;

const keptWindows = 5;

/** Long list, of which the parts in sight are fetched and a few are kept. */
export class Windows<T extends { metadata: { uid: string } }> {
  /** Unknown until the first answer. */
  readonly total: Signal<number | undefined> = signal(undefined);
  readonly error: Signal<Problem | undefined> = signal(undefined);
  /** Incremented whenever a row arrives or changes. */
  readonly revision: Signal<number> = signal(0);
  /** Oldest part since the last refresh, at which a live list begins: another object after each refresh. */
  readonly origin: Signal<{ resourceVersion: string } | undefined> = signal(undefined);

  readonly #fetch: FetchSlice<T>;
  readonly #kept = new Map<number, readonly T[]>();
  readonly #running = new Map<number, AbortController>();
  /** Kept rows that a refresh has not read again. */
  readonly #outdated = new Set<number>();
  #wanted: readonly number[] = [1];
  #oldest: { resourceVersion: string } | undefined;

  constructor(fetch: FetchSlice<T>) {
    this.#fetch = fetch;
  }

  row(index: number): T | undefined {
    void this.revision.value;
    return this.#kept.get(Math.floor(index / windowSize) + 1)?.[index % windowSize];
  }

  /** Sets the rows in sight: fetches the missing ones, and aborts requests for others. */
  want(first: number, last: number): void {
    const [from, to] = [first, Math.max(first, last)].map((index) => Math.floor(index / windowSize) + 1) as [number, number];
    this.#wanted = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    for (const [page, running] of this.#running) {
      if (this.#wanted.includes(page)) continue;
      running.abort();
      this.#running.delete(page);
    }
    const isRead = (page: number) => this.#kept.has(page) && !this.#outdated.has(page);
    for (const page of this.#wanted) if (!isRead(page) && !this.#running.has(page)) void this.#load(page);
  }

  /** Fetches the rows in sight again, and forgets the others. Shown rows stay until the answer arrives. */
  async refresh(): Promise<void> {
    for (const page of this.#kept.keys()) if (!this.#wanted.includes(page)) this.#kept.delete(page);
    for (const page of this.#kept.keys()) this.#outdated.add(page);
    this.#oldest = undefined;
    await Promise.all(this.#wanted.map((page) => this.#load(page)));
  }

  /** Puts a newer version of a row in its place, if it is kept. */
  replace(row: T): void {
    for (const [page, rows] of this.#kept) {
      const at = rows.findIndex(({ metadata }) => metadata.uid === row.metadata.uid);
      if (at === -1) continue;
      this.#kept.set(page, rows.with(at, row));
      this.revision.value += 1;
      return;
    }
  }

  stop(): void {
    for (const running of this.#running.values()) running.abort();
  }

  async #load(page: number): Promise<void> {
    this.#running.get(page)?.abort();
    const mine = new AbortController();
    this.#running.set(page, mine);
    try {
      const { items, total, metadata } = await this.#fetch(page, mine.signal);
      if (mine.signal.aborted) return;
      this.#kept.delete(page);
      this.#kept.set(page, items);
      for (const old of [...this.#kept.keys()].slice(0, -keptWindows)) if (!this.#wanted.includes(old)) this.#kept.delete(old);
      this.#outdated.delete(page);
      this.#oldest ??= { resourceVersion: metadata.resourceVersion };
      this.total.value = total;
      if (!this.#wanted.some((one) => this.#outdated.has(one))) {
        this.origin.value = this.#oldest;
        this.error.value = undefined;
      }
      this.revision.value += 1;
    } catch (error) {
      if (!mine.signal.aborted) this.error.value = asProblem(error);
    } finally {
      if (this.#running.get(page) === mine) this.#running.delete(page);
    }
  }
}
