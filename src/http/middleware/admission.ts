import type { Context, Middleware } from 'koa';
import { type StatusError, timedOut, tooManyRequests } from '../../api/status.ts';
import { networkOf } from '../../limits/rate-limit.ts';
import { ConcurrencyLimit } from '../../limits/semaphore.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { isProbe } from '../health.ts';
import type { RequestBounds } from '../operation.ts';
import type { Kind, RequestLifetime } from '../request-deadline.ts';
import { UnfinishedBodies, type UnfinishedBody, UnreadAnswers } from '../slow-clients.ts';

export interface AdmissionOptions {
  maxInFlight: number;
  requestTimeoutMs: number;
  /** Milliseconds until a body that is not streamed must have arrived. Default: ten seconds. */
  bodyTimeoutMs?: number;
  metrics: Metrics;
}

/** Live lists, watches, followed logs and connections together. */
const maxLongOfCaller = 100;
/** Bound within the last tenth of the places, so that a few callers cannot take all. */
const maxLongOfCallerInReserve = 10;

/**
 * Bounds the requests in flight by kind. A request whose body has not arrived is `receiving`, one that is being answered is `short`, one
 * whose answer waits for its reader is `unread`, and one that may outlive the deadline is `long`. Only `short` requests are in flight;
 * the other kinds have bounds of their own, so that a client that stalls keeps no other client out. Probes are always answered.
 */
export class Admission implements RequestBounds {
  readonly #options: AdmissionOptions;
  readonly #inFlight: Record<Kind, number> = { receiving: 0, short: 0, unread: 0, long: 0 };
  readonly #unfinished: UnfinishedBodies;
  readonly #unread: UnreadAnswers;
  readonly #longOfCallers: ConcurrencyLimit;
  readonly #long = new Set<RequestLifetime>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
    options.metrics.countInFlight(() => this.#inFlight);
    this.#unfinished = new UnfinishedBodies(options.maxInFlight, options.bodyTimeoutMs);
    this.#unread = new UnreadAnswers(options.maxInFlight);
    this.#longOfCallers = new ConcurrencyLimit({
      maxEach: maxLongOfCaller,
      maxInAll: options.maxInFlight,
      reserve: { places: Math.floor(options.maxInFlight / 10), maxEach: maxLongOfCallerInReserve },
      what: 'watches, logs and connections',
    });
  }

  /** Counts each request until its response is closed. @throws StatusError 429 */
  readonly middleware: Middleware = (ctx, next) => {
    this.#count(ctx);
    if (ctx.state.lifetime.kind === 'short' && this.#isFull(ctx)) throw this.#refuse();
    return next();
  };

  readonly onLongRunning = (ctx: Context, holder: string): void => {
    const { lifetime } = ctx.state;
    if (lifetime.kind === 'long') return;
    if (this.#inFlight.long >= this.#options.maxInFlight) throw this.#refuse();
    const leave = this.#longOfCallers.begin(holder);
    this.#move(lifetime, 'long');
    lifetime.becomeLong();
    this.#long.add(lifetime);
    lifetime.onClose(() => {
      leave();
      this.#long.delete(lifetime);
    });
  };

  /** A slow request is still one of those that a stopping replica waits for. */
  readonly onSlow = (ctx: Context, timeoutMs: number): void => {
    if (timeoutMs > this.#options.requestTimeoutMs) ctx.state.lifetime.becomeSlow(timeoutMs);
  };

  /** Number of requests by kind. */
  get inFlight(): Readonly<Record<Kind, number>> {
    return this.#inFlight;
  }

  /** Ends the long requests. Clients resume watches at another replica. */
  endLongRunning(): void {
    for (const lifetime of this.#long) lifetime.endAnswer();
  }

  #count(ctx: Context): void {
    const { lifetime, source } = ctx.state;
    this.#inFlight[lifetime.kind] += 1;
    const unfinished = lifetime.kind === 'receiving' ? this.#receive(ctx) : undefined;
    const endUnread = this.#unread.watch(ctx.res, {
      source,
      isLong: () => lifetime.kind === 'long',
      onChange: (isUnread) => {
        if (unfinished) this.#unfinished.remove(unfinished);
        this.#move(lifetime, isUnread ? 'unread' : 'short');
      },
    });
    lifetime.onClose(() => {
      endUnread();
      if (unfinished) this.#unfinished.remove(unfinished);
      this.#inFlight[lifetime.kind] -= 1;
    });
  }

  /** A request with a body is in flight once the body has arrived. */
  #receive(ctx: Context): UnfinishedBody {
    const { lifetime, source } = ctx.state;
    const body: UnfinishedBody = {
      request: ctx.req,
      network: networkOf(source),
      isStreamed: () => lifetime.isSlow,
      done: () => {
        if (lifetime.kind !== 'receiving') return;
        this.#move(lifetime, 'short');
        if (this.#isFull(ctx)) lifetime.abort(this.#refuse());
      },
      cut: (reason) => lifetime.abort(reason === 'slow' ? timedOut('the body of the request') : this.#refuse()),
    };
    this.#unfinished.add(body);
    return body;
  }

  #isFull(ctx: Context): boolean {
    return this.#inFlight.short > this.#options.maxInFlight && !isProbe(ctx.path);
  }

  #move(lifetime: RequestLifetime, kind: Kind): void {
    this.#inFlight[lifetime.kind] -= 1;
    this.#inFlight[kind] += 1;
    lifetime.kind = kind;
  }

  #refuse(): StatusError {
    this.#options.metrics.refused.inc();
    return tooManyRequests('too many requests are in flight, try again');
  }
}
