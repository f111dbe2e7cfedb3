import { Readable } from 'node:stream';
import type { Caller } from '@atrium/http/caller.ts';
import { shownAsBoolean, wholeNumber } from '@atrium/http/input.ts';
import { cutWhenStuck } from '@atrium/http/slow-clients.ts';
import { Deadline } from '@atrium/kubernetes/deadline.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { badParameter, expired } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import type { Lister } from './lister.ts';
import { ChangeLog, type LiveRow, liveList, versionToResumeAfter } from './live-list.ts';
import type { ListProperties, Predicate } from './properties.ts';
import { parseQuery, type Scope } from './query.ts';
import type { ListParameters } from './schema.ts';
import { type RightCheck, type WhileAllowedOptions, whileAllowed } from './while-allowed.ts';

const eventStream = 'text/event-stream';
const maxSeconds = 1_800;
/** Time after which a client that reads nothing is disconnected. Comments alone are sent more often. */
const stuckMs = 60_000;
/** Bytes that wait for the socket. The rest of an answer is made as it is read. */
const highWaterMark = 16 * 1024;

/** Query parameters of an operation that also answers live. */
export const liveParameters = {
  watch: z.string().meta(shownAsBoolean).optional().describe('`true`: server-sent events, with `Accept: text/event-stream`.'),
  timeoutSeconds: wholeNumber().optional().describe('Duration of a watch in seconds, at most 1800. Default: 1800.'),
};

/** Describes the events of a live list. @param nouns plural of the objects */
export const liveDescription = (nouns: string): string =>
  `Sends server-sent events with \`watch=true\` and \`Accept: text/event-stream\`: ADDED, MODIFIED, DELETED, BOOKMARK and ERROR, with \`{"type","object"}\` as data and the resource version as id. Begins with the present ${nouns}, unless the stream resumes at the version in \`Last-Event-ID\` or \`resourceVersion\`. Ends when the caller loses the right to watch ${nouns}, or when the credential expires.`;

/** Describes the events of a live list that shows some rows to callers without the right on all. */
export const visibleLiveDescription =
  'With `watch=true` and `Accept: text/event-stream`: the changes as events, as for users. Ends with 410 once the caller may see other objects.';

/** States the type of the events in words alone: with two types, generated clients return a union for every list. */
export const liveAnswerDescription = 'The list, a page of it, or the events as `text/event-stream`.';

export interface LiveParameters extends ListParameters {
  timeoutSeconds?: number | undefined;
}

/** Reports whether a request asks for a live list. HEAD is answered like a request for an ordinary list. */
export const isLive = (ctx: Context): boolean => {
  const { querystring } = ctx.request;
  // Every spelling of the name, percent-encoded or not, contains one of these.
  if (!querystring.includes('watch') && !querystring.includes('%')) return false;
  const watch = new URLSearchParams(querystring).get('watch');
  return ctx.method === 'GET' && watch !== null && watch !== '0' && watch.toLowerCase() !== 'false';
};

export interface LiveListsOptions<Row extends LiveRow> {
  /** Cache of the objects. Must not be started yet. */
  cache: WatchCache<Row>;
  lister: Pick<Lister<Row>, 'whenReady'>;
  properties: ListProperties<Row>;
  /** API version of the objects. */
  apiVersion: string;
  kind: string;
  /** Path of the API server that serves its own watches. */
  nativePath: string;
}

interface Asking<Row> {
  caller: Caller;
  /** Checks the permission at the beginning, and again while the list is open. */
  check: RightCheck;
  /** Limits the list to the rows of this caller. Default: all rows. */
  scope?: Scope<Row> | undefined;
  /** Returns the JSON that the caller may see of a row. Default: the whole text. */
  textOf?: ((row: Row) => string) | undefined;
  signal: AbortSignal;
}

/**
 * Streams rows of a collection as server-sent events (docs/contract/users.md), until the permission or the credential of the caller is
 * revoked.
 */
export class LiveLists<Row extends LiveRow> {
  readonly #options: LiveListsOptions<Row>;
  readonly #guard: WhileAllowedOptions;
  readonly #changes: ChangeLog<Row>;

  constructor(options: LiveListsOptions<Row>, guard: WhileAllowedOptions) {
    this.#options = options;
    this.#guard = guard;
    this.#changes = new ChangeLog(options.cache);
  }

  /** Answers with a stream of events. @throws StatusError 400, 403, 503, 504 before the answer begins */
  async answer(ctx: Context, parameters: LiveParameters, { caller, check, scope, textOf, signal }: Asking<Row>): Promise<void> {
    const { cache, lister, properties, apiVersion, kind, nativePath } = this.#options;
    requireEventStream(ctx, `; other watches are at ${nativePath}`);
    for (const name of ['continue', 'page'] as const)
      if (parameters[name]) throw badParameter(name, 'cannot be used together with watch', 'FieldValueForbidden');
    await check(caller, signal);
    await lister.whenReady(signal);
    const { fits } = parseQuery(properties, parameters, scope);
    const after = versionToResumeAfter(ctx, parameters);
    if (after !== undefined) await cache.whenReady(after, signal);

    const told = scope && new Map<string, string>();
    const checkRows: RightCheck = async (...checked) => {
      await check(...checked);
      if (told) this.#requireFitting(told, fits);
    };
    const textUntil = (over: AbortSignal) =>
      liveList({ cache, changes: this.#changes, apiVersion, kind, fits, textOf, told, after, signal: over });
    answerEvents(ctx, { textUntil, check: checkRows, caller, timeoutSeconds: parameters.timeoutSeconds, signal }, this.#guard);
  }

  /** Requires that unchanged rows which the client has still fit: no event names a row that time or another object hides. @throws StatusError 410 */
  #requireFitting(told: ReadonlyMap<string, string>, fits: Predicate<Row> | undefined): void {
    for (const [name, version] of told) {
      const row = this.#options.cache.get(name);
      if (row?.resourceVersion === version && fits?.(row) === false) throw visibilityChanged();
    }
  }
}

interface EventAnswer {
  caller: Caller;
  check: RightCheck;
  timeoutSeconds: number | undefined;
  signal: AbortSignal;
  /** Makes the events until a signal aborts. A StatusError as its reason is sent before the end. */
  textUntil(over: AbortSignal): AsyncIterable<string>;
}

/** Answers with a stream of events, until the permission or the credential of the caller is revoked. */
export function answerEvents(
  ctx: Context,
  { textUntil, check, caller, timeoutSeconds = maxSeconds, signal }: EventAnswer,
  guard: WhileAllowedOptions,
): void {
  const lasting = whileAllowed(ctx, { check, caller, signal }, guard);
  const closed = new AbortController();
  // `AbortSignal.timeout` would be kept until its time, half an hour after a client that has left at once.
  const lifetime = new Deadline(AbortSignal.any([lasting.signal, closed.signal]), Math.min(timeoutSeconds, maxSeconds) * 1000);
  const over = lifetime.signal;
  const stream = Readable.from(textUntil(over), { objectMode: false, highWaterMark });
  const watchdog = cutWhenStuck(ctx.req.socket, { stuckMs, over });
  ctx.state.lifetime.onClose(() => {
    lasting.end();
    watchdog.end();
    closed.abort();
    lifetime.end();
  });
  // nginx buffers answers without this header.
  ctx.set({ 'Content-Type': eventStream, 'X-Accel-Buffering': 'no' });
  ctx.body = stream;
  ctx.flushHeaders();
}

export const visibilityChanged = () => expired('the objects that you may see can be others now; start again');

/** @throws StatusError 400 unless the request accepts an event stream @param further words after the reason */
export function requireEventStream(ctx: Context, further = ''): void {
  if (!accepts(ctx)) throw badParameter('watch', `needs the header Accept: ${eventStream}${further}`);
}

/** Reports whether the request accepts an event stream, with or without parameters and other media types. */
const accepts = (ctx: Context): boolean =>
  ctx
    .get('Accept')
    .split(',')
    .some((range) => range.split(';')[0]?.trim().toLowerCase() === eventStream);
