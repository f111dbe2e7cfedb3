import { setTimeout as sleep } from 'node:timers/promises';
import { runOutsideTraces } from '@atrium/http/telemetry/tracing.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Logger } from 'pino';
import { listPages, type Page, type Selection, type WatchEvent, watchEvents } from '../list-watch.ts';
import type { ServiceClient } from '../own-account.ts';
import { isNotInstalled, watchRefusal } from '../own-account.ts';
import { compareResourceVersions } from '../resource-version.ts';
import { answerOf, isUnreachable, type UpstreamError, upstreamRefusal } from '../upstream-error.ts';

/** Times of a watch, in milliseconds except for those in a request. */
export interface WatchTimes {
  /** Bounds of the random duration of a watch. */
  minWatchSeconds: number;
  maxWatchSeconds: number;
  /** Time without data after which a watch counts as lost. */
  silenceMs: number;
  /** Bounds of the pause after a failure, which doubles each time. */
  minPauseMs: number;
  maxPauseMs: number;
}

/**
 * Default times. A server that recovers is noticed within 4 s, and at once after it has answered another call; a server that is silent on one
 * watch alone within 35 s.
 */
const defaultTimes: WatchTimes = { minWatchSeconds: 20, maxWatchSeconds: 25, silenceMs: 28_000, minPauseMs: 200, maxPauseMs: 4000 };

/** Bound of the Retry-After of a server. */
const maxRetryAfterMs = 60_000;

/** Silence after which the known objects may be outdated. */
export const staleAfterMs = 35_000;

/** Shortest duration of a watch that succeeded. A shorter one is a failure, because an immediate restart would loop. */
const shortestWatchMs = 500;

/** Error for more objects than the bound. */
export class TooManyObjects extends Error {
  override readonly name = 'TooManyObjects';

  constructor(max: number) {
    super(`there are more than ${max} objects`);
  }
}

export interface WatchLoopParts {
  client: ServiceClient;
  log: Logger;
  times?: WatchTimes;
  /** Monotonic clock, in milliseconds. */
  clock?: () => number;
  /** Random number from 0 to 1. */
  random?: () => number;
  /** Resolves after the time in milliseconds, or when the signal aborts. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Receives lists and events. A list counts as a whole, once `all` was called. */
interface WatchSink {
  list(): { add(page: Page): void; all(resourceVersion: string): Promise<void> };
  event(event: WatchEvent): void;
  /** Called after every failure. */
  failed(): void;
}

/** Facts about a watch, which the loop updates. */
interface WatchHealth {
  /** Version to watch from. Undefined to list first. */
  version: string | undefined;
  /** Time of the last data from the API server, or of the start, by the clock of the loop. */
  heardAt: number;
  /** Reason why the last attempt failed, undefined if it succeeded. Names no host. */
  failure: string | undefined;
  /** True if the last attempt failed because the API server does not know the resource. */
  isNotInstalled: boolean;
  /** Error for a missing permission or definition, which no retry cures. Undefined if none is known to be missing. */
  refusal: StatusError | undefined;
  /** Number of restarts after a failure. */
  restarts: number;
}

export interface WatchLoopOptions {
  /** Name in the log. */
  name: string;
  selection: Selection;
  pageSize: number;
  sink: WatchSink;
}

/**
 * Lists and then watches objects until it is stopped. After a failure it resumes from the last version, or lists again if the server no
 * longer knows that version.
 */
export class WatchLoop {
  readonly #client: ServiceClient;
  readonly #log: Logger;
  readonly #times: WatchTimes;
  /** Monotonic clock, in milliseconds. */
  readonly clock: () => number;
  readonly health: Readonly<WatchHealth>;
  readonly #health: WatchHealth;
  readonly #random: () => number;
  readonly #pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly #options: WatchLoopOptions;
  readonly #stopping = new AbortController();
  /** Ends the attempt or the pause in progress once the API server answers again. */
  #resuming = new AbortController();
  #running: Promise<void> | undefined;
  /** Time of the last data, also of a list that is not complete. */
  #answeredAt = 0;
  /** Number of consecutive failures. */
  #failures = 0;
  /** True if objects were listed again because the version was refused, and no watch has succeeded since. */
  #isListedAnew = false;

  constructor(
    { client, log, times = defaultTimes, clock = () => performance.now(), random = Math.random, pause = pauseFor }: WatchLoopParts,
    options: WatchLoopOptions,
  ) {
    this.#client = client;
    this.#log = log;
    this.#times = times;
    this.clock = clock;
    this.#random = random;
    this.#pause = pause;
    this.#options = options;
    this.#health = { version: undefined, heardAt: clock(), failure: undefined, isNotInstalled: false, refusal: undefined, restarts: 0 };
    this.health = this.#health;
  }

  start(): void {
    this.#health.heardAt = this.clock();
    this.#running ??= runOutsideTraces(() => this.#run(this.#stopping.signal));
  }

  /** Stops the loop, which cannot be started again. Resolves when no call is in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the watch is stopped'));
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const forget = this.#client.onRecovery((outageMs) => this.#resume(outageMs));
    while (!signal.aborted) {
      this.#resuming = new AbortController();
      const { signal: resumed } = this.#resuming;
      const either = AbortSignal.any([signal, resumed]);
      try {
        // A resumed watch counts as current before it has sent the missed events, so that deleted objects would be valid again until then.
        if (this.clock() - this.#health.heardAt > staleAfterMs) this.#health.version = undefined;
        if (this.#health.version === undefined) await this.#list(either);
        else await this.#watch(this.#health.version, either);
      } catch (error) {
        if (!either.aborted) await this.#recover(error, signal, either);
      }
    }
    forget();
  }

  /** Ends an attempt or pause that began before or in an outage: its connection may be dead, and would hold it up for half a minute. */
  #resume(outageMs: number): void {
    if (this.clock() - this.#answeredAt >= outageMs) this.#resuming.abort(new Error('the API server answers again'));
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { selection, pageSize, sink } = this.#options;
    const list = sink.list();
    let version: string | undefined;
    for await (const page of listPages({ client: this.#client, signal, isBeforeWatch: true }, selection, pageSize)) {
      // The first page has the version of the list, and the other pages are as of the same version.
      version ??= page.resourceVersion;
      list.add(page);
      this.#answeredAt = this.clock();
    }
    if (version === undefined) return;
    // Not called for each page, because the known objects are outdated until the list is complete.
    this.#heard();
    await list.all(version);
    this.#health.version = version;
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { minWatchSeconds, maxWatchSeconds, silenceMs } = this.#times;
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(new Error(`the watch was silent for ${silenceMs} ms`)), silenceMs);
    const begunAt = this.clock();
    const onHeard = () => {
      timer.refresh();
      // Cleared by a watch and not by a list, because the account may be allowed to list only.
      this.#health.refusal = undefined;
      this.#heard();
    };
    try {
      const timeoutSeconds = Math.round(minWatchSeconds + this.#random() * (maxWatchSeconds - minWatchSeconds));
      const calling = { client: this.#client, signal: AbortSignal.any([signal, silence.signal]) };
      for await (const event of watchEvents(calling, this.#options.selection, { resourceVersion: from, timeoutSeconds, onHeard })) {
        this.#take(event);
        this.#succeed();
      }
      if (this.clock() - begunAt < shortestWatchMs) throw new Error('the watch ended as soon as it had begun');
      this.#succeed();
    } finally {
      clearTimeout(timer);
    }
  }

  #take(event: WatchEvent): void {
    // An older version shows that the store was replaced, or restored from a backup.
    if ((compareResourceVersions(event.resourceVersion, this.#health.version ?? '') ?? 0) < 0) {
      this.#health.version = undefined;
      throw new Error('the watch reported an older version than before');
    }
    this.#options.sink.event(event);
    this.#health.version = event.resourceVersion;
  }

  #succeed(): void {
    this.#failures = 0;
    this.#isListedAnew = false;
  }

  #heard(): void {
    this.#answeredAt = this.clock();
    this.#health.heardAt = this.#answeredAt;
    if (this.#health.failure === undefined) return;
    this.#log.info({ watch: this.#options.name, restarts: this.#health.restarts }, 'watch restored');
    this.#health.failure = undefined;
    this.#health.isNotInstalled = false;
  }

  /** @param resumed also aborts once the API server answers again */
  async #recover(error: unknown, signal: AbortSignal, resumed: AbortSignal): Promise<void> {
    if (requiresList(error)) {
      this.#health.version = undefined;
      // A server that only lost its history need not be spared like one that is down, unless a list does not help.
      if (!this.#isListedAnew) this.#failures = 0;
      this.#isListedAnew = true;
    }
    const failure = describe(error);
    const said = answerOf(error);
    const refusal = watchRefusal(error);
    if (refusal !== undefined) this.#logRefusal(refusal, said);
    else if (failure !== this.#health.failure) this.#logFailure(failure, error);
    this.#health.failure = failure;
    this.#health.refusal = refusal;
    this.#health.isNotInstalled = isNotInstalled(error);
    this.#options.sink.failed();
    this.#failures += 1;
    this.#health.restarts += 1;
    const { minPauseMs, maxPauseMs } = this.#times;
    const pauseMs = Math.min(maxPauseMs, minPauseMs * 2 ** (this.#failures - 1)) * (0.5 + this.#random() / 2);
    const askedForMs = error instanceof TooManyObjects ? maxRetryAfterMs : Math.min(said?.retryAfterMs ?? 0, maxRetryAfterMs);
    // A time that the server names is waited for.
    await this.#pause(Math.max(pauseMs, askedForMs), askedForMs > 0 ? signal : resumed);
  }

  /** Logs a refusal once and without a stack, because an administrator has to act. */
  #logRefusal(refusal: StatusError, said: UpstreamError | undefined): void {
    if (this.#health.refusal?.message === refusal.message) return;
    this.#log.warn({ watch: this.#options.name, answer: said?.status.message }, `a watch is refused: ${refusal.message}`);
  }

  #logFailure(failure: string, error: unknown): void {
    const { name: watch } = this.#options;
    // The transport logs it once for all watches.
    if (isUnreachable(error)) this.#log.debug({ watch, failure }, 'watch failed, retrying');
    else this.#log.warn({ watch, failure, err: error }, 'watch failed, retrying');
  }
}

const pauseFor = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => undefined);

/**
 * Reports whether a new list is needed: the version is no longer known (410), or not yet (a restored API server, or one behind the others),
 * or the resource is not installed, and may return with new objects. After too many objects, only a list shows that there are fewer.
 */
function requiresList(failure: unknown): boolean {
  if (failure instanceof TooManyObjects) return true;
  const refusal = upstreamRefusal(failure);
  return isNotInstalled(failure) || refusal?.status.code === 410 || (refusal?.hasCause('ResourceVersionTooLarge') ?? false);
}

/** Describes a failure for `/readyz` by its code, or by its message if it has none, without addresses. */
function describe(failure: unknown): string {
  // The cause of a 503 or 504 of the service is more specific.
  const error = failure instanceof StatusError && failure.cause instanceof Error ? failure.cause : failure;
  if (error instanceof StatusError) return `${error.status.code} ${error.status.reason ?? ''}`.trim();
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.message : 'unknown';
}
