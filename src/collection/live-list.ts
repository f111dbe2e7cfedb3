import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Context } from 'koa';
import { badParameter, expired, type StatusError } from '../api/status.ts';
import { compareResourceVersions } from '../kubernetes/resource-version.ts';
import type { WatchCache } from '../watch/watch-cache.ts';
import type { ChangeLog, LoggedChange } from './change-log.ts';
import type { ListRow, Predicate } from './properties.ts';

/** Interval of comments, short enough for proxies that close connections after half a minute of silence. */
const commentMs = 15_000;
/** Rows that are visited between two turns of the event loop. */
const slice = 1_000;

export interface LiveRow extends ListRow {
  readonly resourceVersion: string;
}

export interface LiveListOptions<Row extends LiveRow> {
  cache: Pick<WatchCache<Row>, 'values' | 'resourceVersion'>;
  changes: ChangeLog<Row>;
  apiVersion: string;
  kind: string;
  /** Selects rows. Undefined for all rows. */
  fits: Predicate<Row> | undefined;
  /** Returns the JSON that the client may see of a row. Undefined for the whole text. */
  textOf?: ((row: Row) => string) | undefined;
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
  const reason: unknown = signal.reason;
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

type Shown<Row extends LiveRow> = Pick<LiveListOptions<Row>, 'fits' | 'textOf'>;

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
  const { cache, fits, textOf, signal } = options;
  let seen = 0;
  for (const row of cache.values()) {
    if (signal.aborted) return;
    seen += 1;
    // Rows that have changed since are sent as changes.
    const isChangedSince = (compareResourceVersions(row.resourceVersion, version) ?? 0) > 0;
    if (!isChangedSince && (fits === undefined || fits(row))) yield event('ADDED', textOf?.(row) ?? row.text);
    else if (seen % slice === 0) await yieldToEventLoop();
  }
  yield bookmark(options, version);
}

function eventOf<Row extends LiveRow>(change: LoggedChange<Row>, { fits, textOf }: Shown<Row>): string | undefined {
  const { old, new: current, resourceVersion, isLast } = change;
  const id = isLast ? resourceVersion : undefined;
  const didFit = old !== undefined && (fits === undefined || fits(old));
  const doesFit = current !== undefined && (fits === undefined || fits(current));
  // The new state of a row that no longer fits is hidden from clients who see a part of each row.
  if (textOf && didFit && !doesFit) return event('DELETED', textOf(old), id);
  if (textOf && doesFit) return event(didFit ? 'MODIFIED' : 'ADDED', textOf(current), id);
  if (doesFit) return change.text(didFit ? 'MODIFIED' : 'ADDED', () => event(didFit ? 'MODIFIED' : 'ADDED', current.text, id));
  return didFit ? change.text('DELETED', () => event('DELETED', (current ?? old).text, id)) : undefined;
}

/** Formats an event. @param json text of an object, without line breaks */
const event = (type: string, json: string, id?: string): string =>
  `event: ${type}\n${id === undefined ? '' : `id: ${id}\n`}data: {"type":"${type}","object":${json}}\n\n`;

const bookmark = ({ apiVersion, kind }: Pick<LiveListOptions<never>, 'apiVersion' | 'kind'>, resourceVersion: string): string =>
  event('BOOKMARK', JSON.stringify({ apiVersion, kind, metadata: { resourceVersion } }), resourceVersion);

const tooOld = () => errorEvent(expired('the changes since then are no longer known; start again'));

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
