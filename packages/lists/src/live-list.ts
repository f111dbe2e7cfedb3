import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { compareResourceVersions } from '@atrium/kubernetes/resource-version.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { badParameter, expired, type StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import type { ListRow, Predicate } from './properties.ts';
import { firstIndex } from './sort.ts';

/** Interval of comments, short enough for proxies that close connections after half a minute of silence. */
export const commentMs = 15_000;
/** Rows that are visited between two turns of the event loop. */
const slice = 1_000;

export interface LiveRow extends ListRow {
  readonly resourceVersion: string;
}

interface LiveListOptions<Row extends LiveRow> {
  cache: Pick<WatchCache<Row>, 'values' | 'resourceVersion'>;
  changes: ChangeLog<Row>;
  apiVersion: string;
  kind: string;
  /** Selects rows. Undefined for all rows. */
  fits: Predicate<Row> | undefined;
  /** Returns the JSON that the client may see of a row. Undefined for the whole text. */
  textOf?: ((row: Row) => string) | undefined;
  /**
   * Versions of the rows that the client has, by name. Set if time or other objects decide, too, which rows fit: a row that no longer fits
   * when it is deleted is DELETED as well.
   */
  told?: Map<string, string> | undefined;
  /** Version of the last event that the client has seen. Undefined to begin with the existing rows. */
  after: string | undefined;
  /** Ends the stream. A StatusError as its reason is sent before. */
  signal: AbortSignal;
}

/**
 * Streams the existing rows and their changes as server-sent events (HTML Standard, 9.2): event ADDED, MODIFIED, DELETED, BOOKMARK or
 * ERROR, with `{"type","object"}` as in a Kubernetes watch. A row that no longer matches is DELETED. An event has an id if all changes up
 * to that version were sent, so that a client that resumes after it misses nothing. Events are made as fast as they are read, so that
 * nothing accumulates for a slow reader.
 */
export async function* liveList<Row extends LiveRow>(options: LiveListOptions<Row>): AsyncGenerator<string> {
  const { cache, changes, after, signal } = options;
  const position = after === undefined ? changes.end : changes.after(after);
  const version = after ?? cache.resourceVersion;
  if (after === undefined) yield* initialEvents(options, version);
  yield* position === undefined ? [tooOld()] : changeEvents(options, { position, version });
  yield* endEvents(signal);
}

/** Yields the reason for which a stream ends, if its client has to know it. */
export function* endEvents({ reason }: { readonly reason: unknown }): Generator<string> {
  if (isStatusError(reason)) yield errorEvent(reason);
}

/** Progress of a client. */
interface Progress {
  /** Position of the next change. */
  position: number;
  /** Version up to which no change is missing. */
  version: string;
}

async function* changeEvents<Row extends LiveRow>(options: LiveListOptions<Row>, progress: Progress): AsyncGenerator<string> {
  const { changes, signal } = options;
  while (!signal.aborted) {
    const change = changes.at(progress.position);
    if (change === 'forgotten') {
      yield tooOld();
      return;
    }
    const text = change === undefined ? await silence(options, progress) : pass(change, progress, options);
    if (text !== undefined) yield text;
    else if (progress.position % slice === 0) await yieldToEventLoop();
  }
}

type Shown<Row extends LiveRow> = Pick<LiveListOptions<Row>, 'fits' | 'textOf' | 'told'>;

function pass<Row extends LiveRow>(change: LoggedChange<Row>, progress: Progress, shown: Shown<Row>): string | undefined {
  progress.position += 1;
  if (change.isLast) progress.version = change.resourceVersion;
  return eventOf(change, shown);
}

/**
 * Waits for changes. Returns undefined once there are some; otherwise a comment, and a bookmark if the version has advanced without a
 * change that matches.
 */
async function silence<Row extends LiveRow>(options: LiveListOptions<Row>, progress: Progress): Promise<string | undefined> {
  const { cache, changes, signal } = options;
  const hasNext = await nextOrPause(changes, signal);
  if (hasNext || signal.aborted || changes.end !== progress.position) return undefined;
  if ((compareResourceVersions(cache.resourceVersion, progress.version) ?? 0) <= 0) return ':\n\n';
  progress.version = cache.resourceVersion;
  return `:\n${bookmark(options, progress.version)}`;
}

async function* initialEvents<Row extends LiveRow>(options: LiveListOptions<Row>, version: string): AsyncGenerator<string> {
  const { cache, fits, textOf, told, signal } = options;
  let seen = 0;
  for (const row of cache.values()) {
    if (signal.aborted) return;
    seen += 1;
    // Rows that have changed since are sent as changes.
    const isChangedSince = (compareResourceVersions(row.resourceVersion, version) ?? 0) > 0;
    if (!isChangedSince && (fits === undefined || fits(row))) {
      told?.set(row.name, row.resourceVersion);
      yield event('ADDED', textOf?.(row) ?? row.text);
    } else if (seen % slice === 0) await yieldToEventLoop();
  }
  yield bookmark(options, version);
}

function eventOf<Row extends LiveRow>(change: LoggedChange<Row>, { fits, textOf, told }: Shown<Row>): string | undefined {
  const { old, new: current, resourceVersion, isLast } = change;
  const id = isLast ? resourceVersion : undefined;
  const didFit = old !== undefined && (fits === undefined || told?.has(old.name) || fits(old));
  const doesFit = current !== undefined && (fits === undefined || fits(current));
  if (doesFit) told?.set(current.name, current.resourceVersion);
  else if (old) told?.delete(old.name);
  // The new state of a row that no longer fits is hidden from clients who see a part of each row.
  if (textOf && didFit && !doesFit) return event('DELETED', textOf(old), id);
  if (textOf && doesFit) return event(didFit ? 'MODIFIED' : 'ADDED', textOf(current), id);
  if (doesFit) return change.text(didFit ? 'MODIFIED' : 'ADDED', () => event(didFit ? 'MODIFIED' : 'ADDED', current.text, id));
  return didFit ? change.text('DELETED', () => event('DELETED', (current ?? old).text, id)) : undefined;
}

/** Formats an event. @param json text of an object, without line breaks */
export const event = (type: string, json: string, id?: string): string =>
  `event: ${type}\n${id === undefined ? '' : `id: ${id}\n`}data: {"type":"${type}","object":${json}}\n\n`;

export const bookmark = ({ apiVersion, kind }: Pick<LiveListOptions<never>, 'apiVersion' | 'kind'>, resourceVersion: string): string =>
  event('BOOKMARK', JSON.stringify({ apiVersion, kind, metadata: { resourceVersion } }), resourceVersion);

export const tooOld = () => errorEvent(expired('the changes since then are no longer known; start again'));

/** An empty id makes an EventSource forget its last id, so that it reconnects and starts again. */
const errorEvent = ({ status }: StatusError): string => event('ERROR', JSON.stringify(status), '');

const isStatusError = (reason: unknown): reason is StatusError => reason instanceof Error && 'status' in reason;

/** Waits for changes, a pause or the signal. @returns whether there are changes */
async function nextOrPause(changes: Pick<ChangeLog<never>, 'onNext'>, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), commentMs);
  const forget = changes.onNext(() => resolve(true));
  const stop = () => resolve(false);
  signal.addEventListener('abort', stop, { once: true });
  const hasNext = await promise;
  clearTimeout(timer);
  forget();
  signal.removeEventListener('abort', stop);
  return hasNext;
}

/** Returns the version to resume after. `Last-Event-ID`, which an EventSource sends when it reconnects, wins over the query. */
export function versionToResumeAfter(ctx: Context, { resourceVersion }: { resourceVersion: string }): string | undefined {
  const lastEventID = ctx.get('Last-Event-ID');
  if (lastEventID !== '' && !/^(0|[1-9][0-9]{0,19})$/.test(lastEventID)) throw badParameter('Last-Event-ID', 'must be the id of an event');
  const version = lastEventID || resourceVersion;
  return version === '' || version === '0' ? undefined : version;
}

/** Bound of the changes that are kept. A client that was disconnected for longer starts again. */
const maxChanges = 4096;

/** A row that was added, changed or deleted. */
class LoggedChange<Row extends ListRow> {
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
  /** Version of the last change that was dropped, or of the first list. Undefined: no version can be resumed after. */
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
    const { resourceVersion } = this.#cache;
    if (resourceVersion === '') this.#forgetAll();
    else this.#add(new LoggedChange({ old, new: current, resourceVersion }));
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

  #add(change: LoggedChange<Row>): void {
    this.#forgotten ??= change.resourceVersion;
    const before = this.#changes.at(-1);
    if (before?.resourceVersion === change.resourceVersion) before.isLast = false;
    this.#changes.push(change);
  }

  /** Forgets all changes after the rows were dropped, so that each client starts again. */
  #forgetAll(): void {
    this.#first = this.end + 1;
    this.#changes = [];
    this.#forgotten = undefined;
  }

  #trim(): void {
    if (this.#changes.length <= maxChanges) return;
    const gone = this.#changes.splice(0, this.#changes.length - maxChanges / 2);
    this.#first += gone.length;
    this.#forgotten = gone.at(-1)?.resourceVersion ?? this.#forgotten;
  }
}
