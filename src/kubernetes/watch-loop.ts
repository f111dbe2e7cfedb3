import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { StatusError } from '../api/status.ts';
import type { ServiceClient } from './kubernetes-client.ts';
import { listPages, type Page, type Selection, type WatchEvent, watchEvents } from './list-watch.ts';
import { watchRefusal } from './missing-rights.ts';
import { compareResourceVersions } from './resource-version.ts';
import { isOutOfReach, UpstreamError } from './upstream-error.ts';

/** Milliseconds, but for the seconds that go into a request. */
export interface WatchTimes {
  /** A watch ends after a random time between these. */
  minWatchSeconds: number;
  maxWatchSeconds: number;
  /** A watch that says nothing for so long, not even that it ends, is taken for dead. */
  silenceMs: number;
  /** The pause after a failure doubles from the first to the second of these. */
  minPauseMs: number;
  maxPauseMs: number;
}

/** A server that returns is heard of within 4 s, one that falls silent is noticed within 35 s. */
const defaultTimes: WatchTimes = { minWatchSeconds: 20, maxWatchSeconds: 25, silenceMs: 28_000, minPauseMs: 200, maxPauseMs: 4000 };

/** However long a server asks us to stay away. */
const maxRetryAfterMs = 60_000;

const staleAfterMs = 35_000;

/** A watch that ended sooner is a failure: begun again at once, it would turn in circles. */
const shortestWatchMs = 500;

/** There are more objects than are followed. */
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
  /** Milliseconds that only ever grow. */
  clock?: () => number;
  /** From 0 to 1. */
  random?: () => number;
  /** Resolves after so many milliseconds, or when the signal aborts. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Takes what the loop hears. A list counts as a whole, once `all` has been called. */
interface WatchSink {
  list(): { add(page: Page): void; all(resourceVersion: string): Promise<void> };
  event(event: WatchEvent): void;
  /** Called after every failure. */
  failed(): void;
}

export interface WatchLoopOptions {
  /** For the log. */
  name: string;
  selection: Selection;
  pageSize: number;
  sink: WatchSink;
}

/**
 * Lists, then watches from there, and never stops for good: after any failure it goes on from the last version it has seen, or, where
 * the server no longer knows that one, lists again.
 */
export class WatchLoop {
  readonly #client: ServiceClient;
  readonly #log: Logger;
  readonly #times: WatchTimes;
  readonly #clock: () => number;
  readonly #random: () => number;
  readonly #pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly #options: WatchLoopOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** Undefined: list first. */
  #version: string | undefined;
  #heardAt: number;
  /** In a row. */
  #failures = 0;
  /** Whether it was listed again because the version was refused, and no watch has gone well since. */
  #isListedAnew = false;
  #failure: string | undefined;
  #isNotInstalled = false;
  #refusal: StatusError | undefined;
  #restarts = 0;

  constructor(
    { client, log, times = defaultTimes, clock = () => performance.now(), random = Math.random, pause = pauseFor }: WatchLoopParts,
    options: WatchLoopOptions,
  ) {
    this.#client = client;
    this.#log = log;
    this.#times = times;
    this.#clock = clock;
    this.#random = random;
    this.#pause = pause;
    this.#options = options;
    this.#heardAt = clock();
  }

  start(): void {
    this.#heardAt = this.#clock();
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /** Resolves when nothing is under way any more. It cannot be started again. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the watch is stopped'));
    await this.#running;
  }

  /** Seconds since the API server was last heard of; before that, since the start. */
  ageSeconds(): number {
    return (this.#clock() - this.#heardAt) / 1000;
  }

  /** How often it was begun again after a failure. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Whether what is known may no longer be what is. */
  isStale(): boolean {
    return this.#failure !== undefined || this.#version === undefined || this.#clock() - this.#heardAt > staleAfterMs;
  }

  /** Why the last attempt failed; undefined if it did not. Names no host. */
  failure(): string | undefined {
    return this.#failure;
  }

  /** Whether it failed because the API server does not know the resource. */
  get isNotInstalled(): boolean {
    return this.#isNotInstalled;
  }

  /** The missing right or definition, which no retry cures. Undefined if none is known to be missing. */
  get refusal(): StatusError | undefined {
    return this.#refusal;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        // A watch tells what was missed only after it has begun, and what has ended would count again until then.
        if (this.#clock() - this.#heardAt > staleAfterMs) this.#version = undefined;
        if (this.#version === undefined) await this.#list(signal);
        else await this.#watch(this.#version, signal);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error, signal);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { selection, pageSize, sink } = this.#options;
    const list = sink.list();
    let version: string | undefined;
    for await (const page of listPages({ client: this.#client, signal, isBeforeWatch: true }, selection, pageSize)) {
      // The first page says as of when; the others are as of then too.
      version ??= page.resourceVersion;
      list.add(page);
    }
    if (version === undefined) return;
    // Not page by page: until all are there, what is known is as old as before.
    this.#heard();
    await list.all(version);
    this.#version = version;
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { minWatchSeconds, maxWatchSeconds, silenceMs } = this.#times;
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(new Error(`nothing was heard for ${silenceMs} ms`)), silenceMs);
    const begunAt = this.#clock();
    const onHeard = () => {
      timer.refresh();
      // Not before: the account may list what it may not watch.
      this.#refusal = undefined;
      this.#heard();
    };
    try {
      const timeoutSeconds = Math.round(minWatchSeconds + this.#random() * (maxWatchSeconds - minWatchSeconds));
      const calling = { client: this.#client, signal: AbortSignal.any([signal, silence.signal]) };
      for await (const event of watchEvents(calling, this.#options.selection, { resourceVersion: from, timeoutSeconds, onHeard })) {
        this.#take(event);
        this.#succeed();
      }
      if (this.#clock() - begunAt < shortestWatchMs) throw new Error('the watch ended as soon as it had begun');
      this.#succeed();
    } finally {
      clearTimeout(timer);
    }
  }

  #take(event: WatchEvent): void {
    // Versions that run backwards: it is another store, or one restored from a backup.
    if ((compareResourceVersions(event.resourceVersion, this.#version ?? '') ?? 0) < 0) {
      this.#version = undefined;
      throw new Error('the watch told of something older than what had been seen');
    }
    this.#options.sink.event(event);
    this.#version = event.resourceVersion;
  }

  #succeed(): void {
    this.#failures = 0;
    this.#isListedAnew = false;
  }

  #heard(): void {
    this.#heardAt = this.#clock();
    if (this.#failure === undefined) return;
    this.#log.info({ watch: this.#options.name, restarts: this.#restarts }, 'the watch is back');
    this.#failure = undefined;
    this.#isNotInstalled = false;
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    if (isToBeListed(error)) {
      this.#version = undefined;
      // A server that has come back and only has forgotten: it need not be spared like one that is down, unless a list does not help.
      if (!this.#isListedAnew) this.#failures = 0;
      this.#isListedAnew = true;
    }
    const failure = describe(error);
    const said = upstreamErrorOf(error);
    const refusal = watchRefusal(said, this.#options.selection.type);
    if (refusal !== undefined) this.#logRefusal(refusal, said);
    else if (failure !== this.#failure) this.#logFailure(failure, error);
    this.#failure = failure;
    this.#refusal = refusal;
    this.#isNotInstalled = said?.status.code === 404;
    this.#options.sink.failed();
    this.#failures += 1;
    this.#restarts += 1;
    const { minPauseMs, maxPauseMs } = this.#times;
    const pauseMs = Math.min(maxPauseMs, minPauseMs * 2 ** (this.#failures - 1)) * (0.5 + this.#random() / 2);
    const askedForMs =
      error instanceof TooManyObjects ? maxRetryAfterMs : Math.min(upstreamErrorOf(error)?.retryAfterMs ?? 0, maxRetryAfterMs);
    await this.#pause(Math.max(pauseMs, askedForMs), signal);
  }

  /** Once: an administrator has to act, and a stack tells nothing. */
  #logRefusal(refusal: StatusError, said: UpstreamError | undefined): void {
    if (this.#refusal?.message === refusal.message) return;
    this.#log.warn({ watch: this.#options.name, answer: said?.status.message }, `a watch is refused: ${refusal.message}`);
  }

  #logFailure(failure: string, error: unknown): void {
    const { name: watch } = this.#options;
    // The transport says it once for all watches.
    if (isOutOfReach(error)) this.#log.debug({ watch, failure }, 'a watch failed and is begun again');
    else this.#log.warn({ watch, failure, err: error }, 'a watch failed and is begun again');
  }
}

const pauseFor = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => undefined);

/**
 * The version is no longer known (410), or not yet (a restored API server, or one behind its siblings), or the whole resource is gone
 * (404), and what comes back under its name is something new. Or there were too many objects, and fewer are seen by a list alone.
 */
function isToBeListed(failure: unknown): boolean {
  if (failure instanceof TooManyObjects) return true;
  const error = upstreamErrorOf(failure);
  return error !== undefined && ([404, 410].includes(error.status.code) || error.hasCause('ResourceVersionTooLarge'));
}

/** What the API server itself said, also where that became a 503 of ours. */
function upstreamErrorOf(failure: unknown): UpstreamError | undefined {
  const error = failure instanceof StatusError && failure.cause instanceof UpstreamError ? failure.cause : failure;
  return error instanceof UpstreamError ? error : undefined;
}

/** In few words, for readers of `/readyz`: codes, not addresses. */
function describe(failure: unknown): string {
  // Of our own 503 and 504 the cause tells more.
  const error = failure instanceof StatusError && failure.cause instanceof Error ? failure.cause : failure;
  if (error instanceof StatusError) return `${error.status.code} ${error.status.reason ?? ''}`.trim();
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.message : 'unknown';
}
