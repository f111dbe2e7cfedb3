import { type StatusError, serviceUnavailable } from '../api/status.ts';
import type { Metrics } from '../http/metrics.ts';
import { abortable } from './abortable.ts';
import type { Page, Selection, WatchEvent } from './list-watch.ts';
import type { KubernetesObject } from './resource.ts';
import { compareResourceVersions } from './resource-version.ts';
import { Slices } from './slices.ts';
import { until } from './until.ts';
import { TooManyObjects, WatchLoop, type WatchLoopParts } from './watch-loop.ts';

/** What every watch cache of a service shares. */
export interface WatchCacheParts extends WatchLoopParts {
  metrics: Metrics;
}

export interface WatchCacheOptions<Row> extends Selection {
  /** Label of the metrics. */
  name: string;
  /** What is kept of an object, undefined for nothing. Called once per change; the object is not held. */
  keep(object: KubernetesObject): Row | undefined;
  pageSize?: number;
  /** With more, the list fails, and is tried again each minute. Default: no bound. */
  maxObjects?: number;
}

/** One row that came, changed or went. */
export interface Change<Row> {
  key: string;
  old?: Row;
  new?: Row;
}

/**
 * `pending` until the first list is complete, `synced` from then on, `notInstalled` as long as the API server does not know the resource:
 * then there are no objects.
 */
export type WatchState = 'pending' | 'synced' | 'notInstalled';

/** A timer takes no more than some weeks; after this time it is asked again. */
const longMs = 60_000;

interface Entry<Row> {
  readonly row: Row;
  readonly resourceVersion: string;
}

/** What is kept of the selected objects, following every change in the cluster. */
export class WatchCache<Row> {
  readonly #options: WatchCacheOptions<Row>;
  readonly #loop: WatchLoop;
  readonly #log: WatchCacheParts['log'];
  readonly #forget: () => void;
  readonly #listeners = new Set<(change: Change<Row>) => void>();
  readonly #waiting = new Set<() => void>();
  readonly #synced = Promise.withResolvers<void>();
  #entries = new Map<string, Entry<Row>>();
  #isSynced = false;
  #resourceVersion = '';
  #revision = 0;

  constructor(parts: WatchCacheParts, options: WatchCacheOptions<Row>) {
    const { name, pageSize = 500 } = options;
    this.#options = options;
    this.#log = parts.log;
    this.#loop = new WatchLoop(parts, {
      name,
      selection: options,
      pageSize,
      sink: { list: () => this.#list(), event: (event) => this.#event(event), failed: () => this.#look() },
    });
    this.#forget = parts.metrics.watch(() => ({ name, ageSeconds: this.ageSeconds(), restarts: this.restarts, objects: this.size }));
  }

  start(): void {
    this.#loop.start();
  }

  /** It cannot be started again. */
  stop(): Promise<void> {
    this.#forget();
    return this.#loop.stop();
  }

  /** Whether the first list is complete. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  get state(): WatchState {
    if (this.#loop.isNotInstalled) return 'notInstalled';
    return this.#isSynced ? 'synced' : 'pending';
  }

  /** Why the rows may not be what there is now; undefined if they are. Of a resource that is not installed there is nothing. */
  outdated(): string | undefined {
    if (this.state === 'notInstalled' || (this.#isSynced && !this.isStale())) return undefined;
    return this.missing() ?? 'nothing was heard for too long';
  }

  /** @throws the signal's reason when it aborts before */
  async whenSynced(signal?: AbortSignal): Promise<void> {
    await (signal === undefined ? this.#synced.promise : abortable(this.#synced.promise, signal));
  }

  /** Resolves when the first list is complete, or when there is nothing to list: the resource is not installed. @throws the signal's reason */
  async whenKnown(signal: AbortSignal): Promise<void> {
    while (this.state === 'pending') {
      await this.until(() => this.state !== 'pending', longMs, signal);
      signal.throwIfAborted();
    }
  }

  /** `key` is the name; `namespace/name` where a resource with namespaces is watched in all of them. */
  get(key: string): Row | undefined {
    return this.#entries.get(key)?.row;
  }

  *entries(): IterableIterator<[string, Row]> {
    for (const [key, { row }] of this.#entries) yield [key, row];
  }

  *values(): IterableIterator<Row> {
    for (const { row } of this.#entries.values()) yield row;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The newest seen, also by bookmarks; '' before the first list. */
  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  /** Grows with every change of a row, and only then: what was computed from the rows holds as long as it stands still. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * Tells of every row that comes, changes or goes, after the fact; also of the first list, before it counts as complete, and, after a
   * gap, of the differences. A row of an object that has not changed stays the same object.
   *
   * @returns a function that ends it
   */
  onChange(listener: (change: Change<Row>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Whether the cache has seen that version, or sees it in time: then it holds what a write with that version did, or something newer.
   *
   * @throws the signal's reason when it aborts
   */
  async waitFor(resourceVersion: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const isSeen = await this.until(() => this.#hasSeen(resourceVersion), timeoutMs, signal);
    signal.throwIfAborted();
    return isSeen;
  }

  /**
   * Whether something is true of the rows, or becomes so in time. Does not throw when the signal aborts: a write that its caller no longer
   * waits for is done all the same.
   */
  until(isTrue: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return until(isTrue, (look) => this.#onLook(look), timeoutMs, signal);
  }

  /** Seconds since the API server was last heard of on this watch; before that, since the start. */
  ageSeconds(): number {
    return this.#loop.ageSeconds();
  }

  /** How often the watch was begun again after a failure. */
  get restarts(): number {
    return this.#loop.restarts;
  }

  /** Whether the rows may be old: the last attempt failed, or nothing was heard for 35 s, or there is no list yet. */
  isStale(): boolean {
    return this.#loop.isStale();
  }

  /** Why the last attempt failed, e.g. `404 NotFound` while a resource is not installed; undefined if it did not. */
  failure(): string | undefined {
    return this.#loop.failure();
  }

  /** True if the cluster lacks rights or the definition, so that an administrator has to act. */
  get isRefused(): boolean {
    return this.#loop.refusal !== undefined;
  }

  /** For a caller who needs rows that are not known: what to apply, or to try again. */
  unavailable(): StatusError {
    const why = this.missing() ?? 'nothing was heard for too long';
    return this.#loop.refusal ?? serviceUnavailable('kubernetes', { cause: new Error(`${this.#options.name}: ${why}`) });
  }

  /** The same before the first list too: why the rows are not all that there is. */
  missing(): string | undefined {
    return this.failure() ?? (this.#isSynced ? undefined : 'not listed yet');
  }

  #hasSeen(resourceVersion: string): boolean {
    return (compareResourceVersions(this.#resourceVersion, resourceVersion) ?? -1) >= 0;
  }

  #list(): { add(page: Page): void; all(resourceVersion: string): Promise<void> } {
    const entries = new Map<string, Entry<Row>>();
    return {
      add: ({ objects }) => {
        for (const object of objects) {
          const key = this.#keyOf(object);
          const entry = this.#entryOf(key, object);
          if (entry !== undefined) entries.set(key, entry);
        }
        this.#requireRoom(entries.size);
      },
      all: async (resourceVersion) => {
        if (!this.#isSynced) await this.#fill(entries);
        this.#replace(entries, resourceVersion);
      },
    };
  }

  /** In slices: told at once, a first list of 100,000 objects would keep the event loop for a quarter of a second. */
  async #fill(entries: Map<string, Entry<Row>>): Promise<void> {
    const slices = new Slices();
    for (const [key, entry] of entries) {
      const turn = slices.end();
      if (turn !== undefined) await turn;
      this.#put(key, entry);
    }
  }

  #replace(entries: Map<string, Entry<Row>>, resourceVersion: string): void {
    const old = this.#entries;
    this.#entries = entries;
    this.#resourceVersion = resourceVersion;
    for (const [key, entry] of old) if (!entries.has(key)) this.#tell(key, entry, undefined);
    for (const [key, entry] of entries) if (entry !== old.get(key)) this.#tell(key, old.get(key), entry);
    this.#isSynced = true;
    this.#synced.resolve();
    this.#look();
  }

  #event(event: WatchEvent): void {
    this.#resourceVersion = event.resourceVersion;
    if (event.type !== 'BOOKMARK') {
      const key = this.#keyOf(event.object);
      const old = this.#entries.get(key);
      const entry = event.type === 'DELETED' ? undefined : this.#entryOf(key, event.object);
      if (entry !== undefined) this.#put(key, entry);
      else if (this.#entries.delete(key)) this.#tell(key, old, undefined);
      this.#requireRoom(this.#entries.size);
    }
    this.#look();
  }

  #put(key: string, entry: Entry<Row>): void {
    const old = this.#entries.get(key);
    this.#entries.set(key, entry);
    if (entry !== old) this.#tell(key, old, entry);
  }

  /** @throws TooManyObjects */
  #requireRoom(size: number): void {
    const { maxObjects = Number.POSITIVE_INFINITY } = this.#options;
    if (size > maxObjects) throw new TooManyObjects(maxObjects);
  }

  #keyOf({ metadata: { namespace, name } }: KubernetesObject): string {
    return namespace === undefined || this.#options.namespace !== undefined ? name : `${namespace}/${name}`;
  }

  /** The one that is there already if the object has not changed since. */
  #entryOf(key: string, object: KubernetesObject): Entry<Row> | undefined {
    const known = this.#entries.get(key);
    const { resourceVersion } = object.metadata;
    if (known?.resourceVersion === resourceVersion) return known;
    const row = this.#guard(key, () => this.#options.keep(object));
    return row === undefined ? undefined : { row, resourceVersion };
  }

  #tell(key: string, old: Entry<Row> | undefined, entry: Entry<Row> | undefined): void {
    this.#revision += 1;
    const change: Change<Row> = { key, ...(old && { old: old.row }), ...(entry && { new: entry.row }) };
    for (const listener of this.#listeners) this.#guard(key, () => listener(change));
  }

  /** One object that a listener cannot cope with must not keep all others from being followed. */
  #guard<T>(key: string, act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      this.#log.error({ watch: this.#options.name, key, err: error }, 'an object could not be taken in');
      return undefined;
    }
  }

  /** Calls after every list, change, bookmark and failure. */
  #onLook(look: () => void): () => void {
    this.#waiting.add(look);
    return () => this.#waiting.delete(look);
  }

  #look(): void {
    for (const look of this.#waiting) look();
  }
}
