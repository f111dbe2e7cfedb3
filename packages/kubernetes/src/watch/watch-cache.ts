import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { resourceVersionTooLarge, type StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import { abortable, seenWithinMs, until } from '../deadline.ts';
import type { Page, Selection, WatchEvent } from '../list-watch.ts';
import type { KubernetesObject } from '../resource.ts';
import { compareResourceVersions } from '../resource-version.ts';
import { Slices } from '../slices.ts';
import { staleAfterMs, TooManyObjects, WatchLoop, type WatchLoopParts } from './watch-loop.ts';
import { reportWatch } from './watch-metrics.ts';

/** Parts that all watch caches of a service share. */
export interface WatchCacheParts extends WatchLoopParts {
  metrics: Metrics;
}

export interface WatchCacheOptions<Row> extends Selection {
  /** Label in the metrics. */
  name: string;
  /** Returns the row of an object, undefined to leave it out. Called once per change; the object is not retained. */
  keep(object: KubernetesObject): Row | undefined;
  pageSize?: number;
  /** Bound of the objects, above which the list fails and is retried each minute. Default: none. */
  maxObjects?: number;
}

/** A row that was added, changed or deleted. */
export interface Change<Row> {
  key: string;
  old?: Row;
  new?: Row;
}

/**
 * State of a watch: `pending` until the first list is complete, then `synced`; `notInstalled` while the API server does not know the
 * resource, so that there are no objects.
 */
export type WatchState = 'pending' | 'synced' | 'notInstalled';

/** Bound of the wait for the `resourceVersion` of a request, which another replica may have returned. */
const freshnessTimeoutMs = 3_000;

/** Timeout of a wait without a bound, after which it is repeated, because timers are limited to some weeks. */
const longMs = 60_000;

/**
 * Answers in a row, over about a minute, that a resource is not installed. Then its rows are dropped: a proxy may answer 404 for a while.
 */
const absencesUntilDropped = 20;

interface Entry<Row> {
  readonly row: Row;
  readonly resourceVersion: string;
}

/** Rows of the selected objects, updated by every change in the cluster. */
export class WatchCache<Row> {
  readonly #options: WatchCacheOptions<Row>;
  readonly #loop: WatchLoop;
  readonly #log: WatchCacheParts['log'];
  readonly #metrics: Metrics;
  #forget: (() => void) | undefined;
  readonly #listeners = new Set<(change: Change<Row>) => void>();
  readonly #waiting = new Set<() => void>();
  readonly #synced = Promise.withResolvers<void>();
  #entries = new Map<string, Entry<Row>>();
  #isSynced = false;
  #resourceVersion = '';
  #revision = 0;
  /** Number of consecutive answers that the resource is not installed. */
  #absences = 0;

  constructor(parts: WatchCacheParts, options: WatchCacheOptions<Row>) {
    const { name, pageSize = 500 } = options;
    this.#options = options;
    this.#metrics = parts.metrics;
    this.#log = parts.log;
    this.#loop = new WatchLoop(parts, {
      name,
      selection: options,
      pageSize,
      sink: { list: () => this.#list(), event: (event) => this.#event(event), failed: () => this.#failed() },
    });
  }

  start(): void {
    this.#forget ??= reportWatch(this.#metrics, this.#options.name, this);
    this.#loop.start();
  }

  /** Stops the watch, which cannot be started again. */
  stop(): Promise<void> {
    this.#forget?.();
    return this.#loop.stop();
  }

  /** Reports whether the first list is complete. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  get state(): WatchState {
    if (this.#loop.health.isNotInstalled) return 'notInstalled';
    return this.#isSynced ? 'synced' : 'pending';
  }

  /**
   * Returns the reason why the rows may be outdated, undefined if they are current. No rows are current for a resource that is not
   * installed, because it has no objects.
   */
  outdated(): string | undefined {
    const isWithoutObjects = this.state === 'notInstalled' && this.size === 0;
    if (isWithoutObjects || (this.#isSynced && !this.isStale())) return undefined;
    return this.missing() ?? 'the watch was silent for too long';
  }

  /**
   * Waits until the first list is complete.
   *
   * @param options `orNotInstalled` ends the wait also once the resource is known to be not installed
   * @throws the reason of the signal if it aborts before
   */
  async whenSynced(signal?: AbortSignal, { orNotInstalled = false } = {}): Promise<void> {
    if (signal === undefined) return this.#synced.promise;
    if (!orNotInstalled) return abortable(this.#synced.promise, signal);
    while (this.state === 'pending') {
      await this.until(() => this.state !== 'pending', longMs, signal);
      signal.throwIfAborted();
    }
  }

  /** Waits until rows of the version that a caller requests are there. @throws StatusError 504; the reason of the signal if it aborts */
  async whenReady(resourceVersion: string, signal: AbortSignal): Promise<void> {
    if (await this.until(() => this.hasSeen(resourceVersion), freshnessTimeoutMs, signal)) return;
    signal.throwIfAborted();
    throw resourceVersionTooLarge(resourceVersion, this.#resourceVersion);
  }

  /** Returns a row. @param key name; `namespace/name` if a resource with namespaces is watched in all of them */
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

  /** Newest version that was seen, also by bookmarks; '' before the first list. */
  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  /** Number that grows with every change of a row, and only then. Values that were computed from the rows are valid until it changes. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * Calls the listener after every addition, change or deletion of a row. Rows of the first list are included, before it counts as
   * complete, and after a gap the differences. The row of an unchanged object stays the same object.
   *
   * @returns a function that removes the listener
   */
  onChange(listener: (change: Change<Row>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reports whether the rows are those of that version, or newer. */
  hasSeen(resourceVersion: string): boolean {
    return (compareResourceVersions(this.#resourceVersion, resourceVersion) ?? -1) >= 0;
  }

  /**
   * Waits for a moment until the cache holds the result of a write. Does not throw, so that the write is audited in any case.
   *
   * @param written version of the written object, or a condition on the rows, such as the absence of a deleted object
   */
  async waitForWrite(written: string | (() => boolean), signal: AbortSignal): Promise<void> {
    await this.until(typeof written === 'string' ? () => this.hasSeen(written) : written, seenWithinMs, signal);
  }

  /**
   * Waits until a condition on the rows is true. Does not throw when the signal aborts, because a write is done even if its caller no
   * longer waits.
   *
   * @returns whether the condition is true
   */
  until(isTrue: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return until(isTrue, (look) => this.#onLook(look), timeoutMs, signal);
  }

  /** Seconds since the last data from the API server on this watch, or since the start. */
  ageSeconds(): number {
    const { clock, health } = this.#loop;
    return (clock() - health.heardAt) / 1000;
  }

  /** Reports whether nothing was received for so long. A resource that is not installed has no events. */
  isSilent(maxSeconds: number): boolean {
    return this.ageSeconds() > maxSeconds && this.state !== 'notInstalled';
  }

  /** Number of restarts after a failure. */
  get restarts(): number {
    return this.#loop.health.restarts;
  }

  /** Reports whether the rows may be outdated: the last attempt failed, or nothing was received for 35 s, or there is no list yet. */
  isStale(): boolean {
    const { failure, version, heardAt } = this.#loop.health;
    return failure !== undefined || version === undefined || this.#loop.clock() - heardAt > staleAfterMs;
  }

  /**
   * Returns the reason why the last attempt failed, such as `404 NotFound` for a resource that is not installed; undefined if it succeeded.
   */
  failure(): string | undefined {
    return this.#loop.health.failure;
  }

  /** True if the cluster lacks permissions or the definition, so that an administrator has to act. */
  get isRefused(): boolean {
    return this.#loop.health.refusal !== undefined;
  }

  /** Returns the error for a caller that needs rows that are not known: the manifest to apply, or a 503. */
  unavailable(): StatusError {
    const why = this.missing() ?? 'the watch was silent for too long';
    return this.#loop.health.refusal ?? serviceUnavailable('kubernetes', { cause: new Error(`${this.#options.name}: ${why}`) });
  }

  /** Returns the reason why rows may be missing, also before the first list. */
  missing(): string | undefined {
    return this.failure() ?? (this.#isSynced ? undefined : 'not listed yet');
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

  /** Adds rows in slices. At once, a first list of 100,000 objects would block the event loop for a quarter of a second. */
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
    this.#absences = 0;
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

  /** Drops the rows of a resource that stays absent. Its objects were deleted with the definition. */
  #failed(): void {
    this.#absences = this.#loop.health.isNotInstalled ? this.#absences + 1 : 0;
    if (this.#absences >= absencesUntilDropped) {
      const old = this.#entries;
      this.#entries = new Map();
      // The rows are dropped without a version, so that nobody resumes after the last one and misses their end.
      this.#resourceVersion = '';
      for (const [key, entry] of old) this.#tell(key, entry, undefined);
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

  /** Returns the existing entry if the object has not changed since. */
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

  /** Logs an error of `keep` or of a listener, so that one object does not stop the watch of all others. */
  #guard<T>(key: string, act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      this.#log.error({ watch: this.#options.name, key, err: error }, 'object ignored: it could not be read');
      return undefined;
    }
  }

  /** Calls after every list, change, bookmark and failure. @returns a function that removes the callback */
  #onLook(look: () => void): () => void {
    this.#waiting.add(look);
    return () => this.#waiting.delete(look);
  }

  #look(): void {
    for (const look of this.#waiting) look();
  }
}
