import { compareResourceVersions } from '../kubernetes/resource-version.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import type { ListRow } from './properties.ts';
import { firstIndex } from './sort.ts';

/** As many as are sent to a client that was away for moments; one that was away for longer starts again. */
const maxChanges = 4096;

/** One row that came, changed or went. */
export class LoggedChange<Row extends ListRow> {
  readonly old: Row | undefined;
  readonly new: Row | undefined;
  readonly resourceVersion: string;
  /** Whether everything up to that version has been told with it: after a gap, many changes have one version. */
  isLast = true;
  readonly #texts = new Map<string, string>();

  constructor(change: { old: Row | undefined; new: Row | undefined; resourceVersion: string }) {
    this.old = change.old;
    this.new = change.new;
    this.resourceVersion = change.resourceVersion;
  }

  /** Made once for all who are told of it. */
  text(type: 'ADDED' | 'MODIFIED' | 'DELETED', make: () => string): string {
    const text = this.#texts.get(type) ?? make();
    this.#texts.set(type, text);
    return text;
  }
}

type Cache<Row> = Pick<WatchCache<Row>, 'onChange' | 'resourceVersion' | 'isSynced' | 'whenSynced'>;

/** The latest changes of a watched resource, for those who follow it. To be made before the cache is started. */
export class ChangeLog<Row extends ListRow> {
  readonly #cache: Cache<Row>;
  readonly #waiting = new Set<() => void>();
  #changes: LoggedChange<Row>[] = [];
  /** Position of the first that is kept. */
  #first = 0;
  /** Of the last that is not, or of the first list. */
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

  /** Position of the first change after a version that the cache has seen; undefined if it is not known what came after it. */
  after(resourceVersion: string): number | undefined {
    const isKnown = (compareResourceVersions(resourceVersion, this.#forgotten ?? '') ?? -1) >= 0;
    if (!isKnown) return undefined;
    return this.#first + firstIndex(this.#changes, (change) => (compareResourceVersions(change.resourceVersion, resourceVersion) ?? 1) > 0);
  }

  /** Undefined at the end. */
  at(position: number): LoggedChange<Row> | 'forgotten' | undefined {
    return position < this.#first ? 'forgotten' : this.#changes[position - this.#first];
  }

  /** Calls once, after the next changes. @returns a function that takes it back */
  onNext(listener: () => void): () => void {
    this.#waiting.add(listener);
    return () => this.#waiting.delete(listener);
  }

  #record(old: Row | undefined, current: Row | undefined): void {
    // The first list is what there is, not what has changed.
    if (!this.#cache.isSynced) return;
    const change = new LoggedChange({ old, new: current, resourceVersion: this.#cache.resourceVersion });
    const before = this.#changes.at(-1);
    if (before?.resourceVersion === change.resourceVersion) before.isLast = false;
    this.#changes.push(change);
    if (this.#isTelling) return;
    this.#isTelling = true;
    // Later, when all that came together is here.
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
