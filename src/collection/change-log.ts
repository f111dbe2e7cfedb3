import { compareResourceVersions } from '../kubernetes/resource-version.ts';
import type { WatchCache } from '../watch/watch-cache.ts';
import type { ListRow } from './properties.ts';
import { firstIndex } from './sort.ts';

/** Bound of the changes that are kept. A client that was disconnected for longer starts again. */
const maxChanges = 4096;

/** A row that was added, changed or deleted. */
export class LoggedChange<Row extends ListRow> {
  readonly old: Row | undefined;
  readonly new: Row | undefined;
  readonly resourceVersion: string;
  /** True for the last change of its version. After a gap, many changes have one version. */
  isLast = true;
  readonly #texts = new Map<string, string>();

  constructor(change: { old: Row | undefined; new: Row | undefined; resourceVersion: string }) {
    this.old = change.old;
    this.new = change.new;
    this.resourceVersion = change.resourceVersion;
  }

  /** Returns the text of an event, which all streams share. */
  text(type: 'ADDED' | 'MODIFIED' | 'DELETED', make: () => string): string {
    const text = this.#texts.get(type) ?? make();
    this.#texts.set(type, text);
    return text;
  }
}

type Cache<Row> = Pick<WatchCache<Row>, 'onChange' | 'resourceVersion' | 'isSynced' | 'whenSynced'>;

/** The latest changes of a watched resource, for streams that follow it. Must be created before the cache is started. */
export class ChangeLog<Row extends ListRow> {
  readonly #cache: Cache<Row>;
  readonly #waiting = new Set<() => void>();
  #changes: LoggedChange<Row>[] = [];
  /** Position of the first change that is kept. */
  #first = 0;
  /** Version of the last change that was dropped, or of the first list. */
  #forgotten: string | undefined;
  #isTelling = false;

  constructor(cache: Cache<Row>) {
    this.#cache = cache;
    cache.onChange(({ old, new: current }) => this.#record(old, current));
    void cache.whenSynced().then(() => {
      this.#forgotten ??= cache.resourceVersion;
    });
  }

  /** Position of the next change. */
  get end(): number {
    return this.#first + this.#changes.length;
  }

  /** Returns the position of the first change after a version that the cache has seen, undefined if changes after it were dropped. */
  after(resourceVersion: string): number | undefined {
    const isKnown = (compareResourceVersions(resourceVersion, this.#forgotten ?? '') ?? -1) >= 0;
    if (!isKnown) return undefined;
    return this.#first + firstIndex(this.#changes, (change) => (compareResourceVersions(change.resourceVersion, resourceVersion) ?? 1) > 0);
  }

  /** Returns the change at a position, undefined at the end. */
  at(position: number): LoggedChange<Row> | 'forgotten' | undefined {
    return position < this.#first ? 'forgotten' : this.#changes[position - this.#first];
  }

  /** Calls the listener once, after the next changes. @returns a function that removes it */
  onNext(listener: () => void): () => void {
    this.#waiting.add(listener);
    return () => this.#waiting.delete(listener);
  }

  #record(old: Row | undefined, current: Row | undefined): void {
    // The first list adds rows that existed before, which are no changes.
    if (!this.#cache.isSynced) return;
    const change = new LoggedChange({ old, new: current, resourceVersion: this.#cache.resourceVersion });
    const before = this.#changes.at(-1);
    if (before?.resourceVersion === change.resourceVersion) before.isLast = false;
    this.#changes.push(change);
    if (this.#isTelling) return;
    this.#isTelling = true;
    // Deferred, so that changes that arrive together are sent together.
    setImmediate(() => {
      this.#isTelling = false;
      this.#trim();
      const waiting = [...this.#waiting];
      this.#waiting.clear();
      for (const tell of waiting) tell();
    });
  }

  #trim(): void {
    if (this.#changes.length <= maxChanges) return;
    const gone = this.#changes.splice(0, this.#changes.length - maxChanges / 2);
    this.#first += gone.length;
    this.#forgotten = gone.at(-1)?.resourceVersion ?? this.#forgotten;
  }
}
