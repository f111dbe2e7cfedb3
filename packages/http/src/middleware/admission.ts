import { Readable } from 'node:stream';
import { StatusError, timedOut, tooManyRequests } from '@atrium/objects/status.ts';
import type { Context, Middleware } from 'koa';
import type { Counter } from 'prom-client';
import { networkOf } from '../client-address.ts';
import { ConcurrencyLimit } from '../limits/concurrency-limit.ts';
import { reportPlaces } from '../limits/reports.ts';
import { runInFlow, Semaphore } from '../limits/semaphore.ts';
import type { RequestBounds, RequestClass } from '../operation.ts';
import type { Kind, RequestLifetime } from '../request-deadline.ts';
import { UnfinishedBodies, type UnfinishedBody, UnreadAnswers } from '../slow-clients.ts';
import type { Metrics } from '../telemetry/metrics.ts';

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

/** Parts of `server.maxInFlight`. */
const parts: Readonly<Record<RequestClass, number>> = { people: 1 / 2, strangers: 1 / 4, static: 1 / 4 };
/** Part of the places of its class that one flow can take. */
const partOfFlow = 1 / 5;
/** Least places of a class and of a flow. */
const leastPlaces = 3;
/** Credentials that take longer to read wait for another server. */
const readWithinMs = 100;

const placesOf = (all: number, part: number): number => Math.max(leastPlaces, Math.ceil(all * part));

/**
 * Bounds the requests in flight, as API priority and fairness of the API server does (docs/operations.md). Each class has places that other
 * classes cannot take: people whose credential was accepted, strangers, and static files. A flow, which is a person or else a client
 * network, has a share of them. A request beyond the share of its flow is refused, and one that finds its class full waits for its turn.
 *
 * A place is held until the answer is handed over, except while a body arrives. Bodies that arrive (`receiving`), answers that wait for
 * their reader (`unread`) and requests that may outlive the deadline (`long`) have bounds of their own.
 */
export class Admission implements RequestBounds {
  readonly #options: AdmissionOptions;
  readonly #refused: Counter<'class'>;
  readonly #inFlight: Record<Kind, number> = { receiving: 0, short: 0, unread: 0, long: 0 };
  readonly #classes: Readonly<Record<RequestClass, Semaphore>>;
  readonly #unfinished: UnfinishedBodies;
  readonly #unread: UnreadAnswers;
  readonly #longOfCallers: ConcurrencyLimit;
  readonly #long = new Set<RequestLifetime>();

  constructor(options: AdmissionOptions) {
    const { maxInFlight, metrics } = options;
    this.#options = options;
    metrics.read(
      {
        name: 'atrium_http_requests_in_flight',
        help: 'Requests by kind: receiving (the body has not arrived), short, unread (the answer waits for its reader), and long such as watches.',
        labelNames: ['kind'],
      },
      () => Object.entries(this.#inFlight).map(([kind, count]) => [{ kind }, count] as const),
    );
    this.#refused = metrics.counter({
      name: 'atrium_http_requests_refused_total',
      help: 'Requests answered 429 because their flow has no place left, by class (people, strangers, static), or because there are too many of their kind (receiving, long).',
      labelNames: ['class'],
    });
    this.#unfinished = new UnfinishedBodies(maxInFlight, options.bodyTimeoutMs);
    this.#unread = new UnreadAnswers(maxInFlight);
    this.#classes = {
      people: this.#placesOf('people', 'requests of yours are under way'),
      strangers: this.#placesOf('strangers', 'requests from this network are under way'),
      static: this.#placesOf('static', 'requests from this network are under way'),
    };
    this.#longOfCallers = new ConcurrencyLimit({
      maxEach: maxLongOfCaller,
      maxInAll: maxInFlight,
      reserve: { places: Math.floor(maxInFlight / 10), maxEach: maxLongOfCallerInReserve },
      what: 'watches, logs and connections',
    });
  }

  #placesOf(name: RequestClass, what: string): Semaphore {
    const atOnce = placesOf(this.#options.maxInFlight, parts[name]);
    const ofFlow = placesOf(atOnce, partOfFlow);
    // Many people may share a network, and log in at the same time.
    const maxOfFlow = name === 'people' ? ofFlow : atOnce;
    const places = new Semaphore({ atOnce, ofFlow, maxOfFlow, maxWaiting: atOnce, what });
    reportPlaces(this.#options.metrics, name, places);
    this.#refused.inc({ class: name }, 0);
    return places;
  }

  /** Counts each request until its response is closed. */
  readonly middleware: Middleware = (ctx, next) => {
    const { lifetime, source, flow } = ctx.state;
    this.#inFlight[lifetime.kind] += 1;
    const unfinished = lifetime.kind === 'receiving' ? this.#receive(ctx) : undefined;
    const endUnread = this.#unread.watch(ctx.res, {
      source,
      isLong: () => lifetime.kind === 'long',
      onChange: (isUnread) => {
        if (unfinished) this.#unfinished.remove(unfinished);
        this.#move(lifetime, isUnread ? 'unread' : 'short');
        if (isUnread && lifetime.place) lifetime.leavePlace();
      },
    });
    lifetime.onClose(() => {
      endUnread();
      if (unfinished) this.#unfinished.remove(unfinished);
      this.#inFlight[lifetime.kind] -= 1;
      lifetime.leavePlace();
    });
    return runInFlow(flow, next);
  };

  readonly whileReading = <T>(ctx: Context, reading: Promise<T>): Promise<T> => {
    let isRead = false;
    const settle = () => {
      isRead = true;
    };
    reading.then(settle, settle);
    atEndOfTurn(() => {
      if (isRead) return;
      setTimeout(() => {
        if (!isRead && ctx.res.writable) this.#retake(ctx).catch(() => undefined);
      }, readWithinMs).unref();
    });
    return reading;
  };

  readonly inPlace = async (ctx: Context, work: () => Promise<void>, requestClass?: RequestClass): Promise<void> => {
    const { lifetime } = ctx.state;
    await this.enter(ctx, requestClass);
    lifetime.retakePlace = () => this.#retake(ctx, requestClass);
    try {
      await work();
    } finally {
      if (!(ctx.body instanceof Readable)) lifetime.leavePlace();
    }
  };

  readonly enter = (ctx: Context, requestClass = classOf(ctx)): Promise<void> | undefined => {
    const { lifetime, flow } = ctx.state;
    const { key } = flow;
    const places = this.#classes[requestClass];
    // Also ends a wait for another place.
    if (lifetime.place) lifetime.leavePlace();
    let wait: AbortController | undefined;
    const taken = () => {
      if (wait?.signal.aborted || lifetime.isClosed || lifetime.kind === 'long') places.leave(key);
      else lifetime.place = () => places.leave(key);
    };
    const refused = (error: unknown) => {
      if (error instanceof StatusError && error.status.code === 429) this.#refused.inc({ class: requestClass });
      throw error;
    };
    try {
      const turn = places.enter(key, () => {
        wait = new AbortController();
        return AbortSignal.any([lifetime.signal, wait.signal]);
      });
      if (turn !== undefined) {
        lifetime.place = () => wait?.abort(noLongerNeeded);
        return turn.then(taken, refused);
      }
      taken();
    } catch (error) {
      refused(error);
    }
    return undefined;
  };

  readonly onLongRunning = (ctx: Context, holder: string): void => {
    const { lifetime } = ctx.state;
    if (lifetime.kind === 'long') return;
    if (this.#inFlight.long >= this.#options.maxInFlight) throw this.#refuse('long');
    const leave = this.#longOfCallers.begin(holder);
    this.#move(lifetime, 'long');
    lifetime.becomeLong();
    lifetime.leavePlace();
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

  /** Takes a place for a request that is being served already, and ends the request if its flow has none. @throws StatusError 429 */
  async #retake(ctx: Context, requestClass?: RequestClass): Promise<void> {
    try {
      await this.enter(ctx, requestClass);
    } catch (error) {
      if (error !== noLongerNeeded) ctx.state.lifetime.abort(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  }

  /** A request with a body is in flight once the body has been read. */
  #receive(ctx: Context): UnfinishedBody {
    const { lifetime, source } = ctx.state;
    const body: UnfinishedBody = {
      request: ctx.req,
      network: networkOf(source),
      isStreamed: () => lifetime.isSlow,
      done: () => {
        if (lifetime.kind === 'receiving') this.#move(lifetime, 'short');
      },
      cut: (reason) => lifetime.abort(reason === 'slow' ? timedOut('the body of the request') : this.#refuse('receiving')),
    };
    this.#unfinished.add(body);
    return body;
  }

  #move(lifetime: RequestLifetime, kind: Kind): void {
    this.#inFlight[lifetime.kind] -= 1;
    this.#inFlight[kind] += 1;
    lifetime.kind = kind;
  }

  #refuse(kind: Kind): StatusError {
    this.#refused.inc({ class: kind });
    return tooManyRequests('too many requests are in flight, try again');
  }
}

/** Ends the wait of a request for a place that it no longer needs. */
const noLongerNeeded = new Error('the request no longer waits for a place');

const classOf = ({ state: { flow } }: Context): RequestClass => (flow.isPerson ? 'people' : 'strangers');

const looks: (() => void)[] = [];

/** Calls back once the current turn of the event loop is over. All requests of a turn share one callback. */
function atEndOfTurn(look: () => void): void {
  if (looks.push(look) > 1) return;
  setImmediate(() => {
    for (const each of looks.splice(0)) each();
  });
}
