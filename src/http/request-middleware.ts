import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import type { Logger } from 'pino';
import { indentJson } from '../api/json.ts';
import { headersTooLarge, methodNotAllowed, StatusError, timedOut, tooManyRequests, unknownPath } from '../api/status.ts';
import { clientAddress } from './client-address.ts';
import { chooseEncoding, compress } from './compression.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { isNotModified } from './conditional.ts';
import { answerError } from './error-answer.ts';
import { checkHost } from './host.ts';
import type { Metrics } from './metrics.ts';
import { networkOf } from './network.ts';
import { type Kind, RequestLifetime } from './request-deadline.ts';
import { type RequestState, stateOf } from './request-state.ts';
import type { Answer } from './router.ts';
import { UnfinishedBodies, type UnfinishedBody } from './unfinished-bodies.ts';
import { UnreadAnswers } from './unread-answers.ts';

export interface RequestMiddlewareOptions {
  basePath: string;
  /** Whether browsers reach the service by https: they are told to use nothing else. */
  isSecure?: boolean;
  trustedProxies: readonly string[];
  requestTimeoutMs: number;
  maxInFlight: number;
  /** How long a body may take that is not streamed. Default: ten seconds. */
  bodyTimeoutMs?: number;
  log: Logger;
  metrics: Metrics;
  isStopping: () => boolean;
}

const maxHeaders = 200;
/** Live lists, watches, followed logs and connections together. */
const maxLongOfCaller = 100;
/** Bound within the last tenth of the places, so that a few callers cannot take all. */
const maxLongOfCallerInReserve = 10;
/** Bound of the request line and of all headers except those that carry a bearer token. */
const maxHeaderBytes = 16 * 1024;
/** A credential up to this length counts with the rest. */
const maxShort = 1024;
const carriesCredential = /^(?:authorization|sec-websocket-protocol)$/i;
/** A one-time link, which is worth a password: also where it is answered by a refusal, and where the path is not quite right. */
const secretPath = /(\/identity\/{1,8}link)(?:\/|%2f).*/is;
const oneYear = 'max-age=31536000';
/** Answered whatever the load is: a probe that gets 429 would make things worse. They come every few seconds, and would drown the log. */
const isProbe = /\/(livez|readyz|healthz)$/;

/**
 * What surrounds every request: its id, the headers that every answer carries, the deadline, the bound on requests in flight, the
 * error answer, the access log and the request metrics.
 */
export class RequestMiddleware {
  readonly #options: RequestMiddlewareOptions;
  readonly #addressOf: ReturnType<typeof clientAddress>;
  readonly #inFlight = { receiving: 0, short: 0, unread: 0, long: 0 };
  readonly #unfinished: UnfinishedBodies;
  readonly #unread: UnreadAnswers;
  readonly #long: ConcurrencyLimit;
  #untrustedProxy: string | undefined;
  readonly #lasting = new Set<RequestLifetime>();
  readonly #line: Logger;

  constructor(options: RequestMiddlewareOptions) {
    this.#options = options;
    this.#line = options.log.child({}, { redact: [] });
    options.metrics.countInFlight(() => this.#inFlight);
    this.#addressOf = clientAddress(options.trustedProxies, (peer) => this.#distrust(peer));
    this.#unfinished = new UnfinishedBodies(options.maxInFlight, options.bodyTimeoutMs);
    this.#unread = new UnreadAnswers(options.maxInFlight);
    this.#long = new ConcurrencyLimit({
      maxEach: maxLongOfCaller,
      maxInAll: options.maxInFlight,
      reserve: { places: Math.floor(options.maxInFlight / 10), maxEach: maxLongOfCallerInReserve },
      what: 'watches, logs and connections',
    });
  }

  /** What is around an answer: the only middleware of its app. */
  around(answer: Answer): Middleware {
    return (ctx: Context): Promise<void> | undefined => {
      const request = new RequestLifetime(ctx, this.#options.requestTimeoutMs);
      this.#begin(ctx, request);
      try {
        this.#admit(ctx);
        if (leadsToBase(ctx, this.#options.basePath)) return undefined;
        stripBasePath(ctx, this.#options.basePath);
        const answering = answer(ctx);
        const pending = answering instanceof Promise ? answering.then(() => finish(ctx)) : finish(ctx);
        return pending && this.#await(ctx, request, pending);
      } catch (error) {
        this.#fail(ctx, request, error);
        return undefined;
      }
    };
  }

  async #await(ctx: Context, request: RequestLifetime, pending: Promise<void>): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        request.onCut = reject;
        if (request.cutBy !== undefined) reject(request.cutBy);
        pending.then(resolve, reject);
      });
    } catch (error) {
      this.#fail(ctx, request, error);
    }
  }

  #fail(ctx: Context, request: RequestLifetime, error: unknown): void {
    if (request.isAbandoned) {
      ctx.respond = false;
      return;
    }
    const reason = request.cutBy ?? error;
    answerError(ctx, reason instanceof StatusError ? reason : error, this.#options.log, isProbe.test(ctx.path) ? 'debug' : 'error');
    indentJson(ctx);
  }

  /** Which peer forwards for others and is not trusted, as a check of the service; undefined if none has. */
  untrustedProxy(): string | undefined {
    return this.#untrustedProxy && `${this.#untrustedProxy} sends X-Forwarded-For and is not in server.trustedProxies`;
  }

  /** Moves a request to those that may outlive the deadline. @throws StatusError 429 */
  readonly onLongRunning = (ctx: Context, holder: string): void => {
    const lifetime = lifetimeOf(ctx);
    if (lifetime === undefined || lifetime.kind === 'long') return;
    if (this.#inFlight.long >= this.#options.maxInFlight) throw this.#refuse();
    const leave = this.#long.begin(holder);
    this.#move(lifetime, 'long');
    lifetime.becomeLong();
    this.#lasting.add(lifetime);
    lifetime.onEnd = () => {
      leave();
      this.#lasting.delete(lifetime);
    };
  };

  /** Gives a request more time than others have; it is still one of those that are waited for at the end. */
  readonly onSlow = (ctx: Context, timeoutMs: number): void => {
    if (timeoutMs > this.#options.requestTimeoutMs) lifetimeOf(ctx)?.becomeSlow(timeoutMs);
  };

  /** Ends the requests that may outlive the deadline: who watches goes on elsewhere, from the last thing that was told. */
  endLongRunning(): void {
    for (const lifetime of this.#lasting) lifetime.endAnswer();
  }

  #begin(ctx: Context, lifetime: RequestLifetime): void {
    const { req, res, request } = ctx;
    const { path } = request;
    const started = performance.now();
    const source = this.#addressOf(req.socket.remoteAddress ?? '', req.headers['x-forwarded-for']);
    const state = new RequestFacts(requestId(req.headers['x-request-id']), source, lifetime);
    ctx.state = state;
    this.#inFlight[lifetime.kind] += 1;
    const unfinished = lifetime.kind === 'receiving' ? this.#receive(ctx, lifetime, source) : undefined;
    const endUnread = this.#unread.watch(res, {
      source,
      isLong: () => lifetime.kind === 'long',
      onChange: (isUnread) => {
        if (unfinished) this.#unfinished.remove(unfinished);
        this.#move(lifetime, isUnread ? 'unread' : 'short');
      },
    });
    res.setHeader('X-Request-Id', state.requestId);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    res.setHeader('Referrer-Policy', 'no-referrer');
    res.setHeader('Cache-Control', 'no-store');
    if (this.#options.isSecure) res.setHeader('Strict-Transport-Security', oneYear);
    if (this.#options.isStopping()) res.setHeader('Connection', 'close');
    res.once('close', () => {
      lifetime.end();
      endUnread();
      if (unfinished) this.#unfinished.remove(unfinished);
      this.#inFlight[lifetime.kind] -= 1;
      this.#tell(ctx, path, (performance.now() - started) / 1000);
    });
  }

  /** The line of the access log, and the metrics. */
  #tell(ctx: Context, path: string, seconds: number): void {
    const { requestId, operationId = 'none', userName, refusal, source } = stateOf(ctx);
    const { req, res } = ctx;
    const code = res.writableFinished ? res.statusCode : 499;
    this.#options.metrics.requests.observe({ operation: operationId, code }, seconds);
    const entry = {
      requestId,
      method: req.method,
      path: shown(path),
      code,
      seconds: Math.round(seconds * 1e4) / 1e4,
      operation: operationId,
      source,
      user: userName,
      refusal,
      userAgent: (req.headers['user-agent'] ?? '').slice(0, 256),
    };
    this.#line[isProbe.test(path) ? 'debug' : 'info'](entry, 'request');
  }

  /** All clients behind such a proxy share its address, and with it every limit. Told once: any client can send the header. */
  #distrust(peer: string): void {
    if (this.#untrustedProxy !== undefined) return;
    this.#untrustedProxy = peer;
    const why = 'if it is your proxy, name it there: until then limits count all its clients as one';
    this.#options.log.warn({ peer }, `X-Forwarded-For comes from an address that is not in server.trustedProxies; ${why}`);
  }

  #admit(ctx: Context): void {
    if (ctx.req.rawHeaders.length > 2 * maxHeaders || bytesWithoutCredential(ctx.req) > maxHeaderBytes) throw headersTooLarge();
    checkHost(ctx.req);
    if (lifetimeOf(ctx)?.kind === 'short' && this.#isFull(ctx)) throw this.#refuse();
  }

  #isFull(ctx: Context): boolean {
    return this.#inFlight.short > this.#options.maxInFlight && !isProbe.test(ctx.path);
  }

  /** A request counts in flight once its body is there. */
  #receive(ctx: Context, lifetime: RequestLifetime, source: string): UnfinishedBody {
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

/** What the frame keeps of a request. */
class RequestFacts implements RequestState {
  readonly requestId: string;
  readonly source: string;
  readonly lifetime: RequestLifetime;
  operationId?: string;
  userName?: string;
  isCompressed?: true;
  refusal?: string;

  constructor(requestId: string, source: string, lifetime: RequestLifetime) {
    this.requestId = requestId;
    this.source = source;
    this.lifetime = lifetime;
  }

  get signal(): AbortSignal {
    return this.lifetime.signal;
  }

  leftMs(): number {
    return this.lifetime.leftMs;
  }
}

/** Hung on the request itself: out of a WeakMap nothing goes before a major collection, and every request would grow old. */
const lifetimeOf = (ctx: Context): RequestLifetime | undefined => ctx.state.lifetime;

const requestId = (given: string | string[] | undefined): string =>
  typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();

/** The base path without its slash leads to the one with it. @throws StatusError 405 */
function leadsToBase(ctx: Context, basePath: string): boolean {
  if (basePath === '' || ctx.path !== basePath) return false;
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') throw methodNotAllowed(ctx.method, ['GET', 'HEAD']);
  ctx.status = 308;
  ctx.set('Location', `${basePath}/${ctx.search}`);
  return true;
}

/** Everything lives below the base path of the public URL. */
function stripBasePath(ctx: Context, basePath: string): void {
  if (basePath === '') return;
  if (!ctx.path.startsWith(`${basePath}/`)) throw unknownPath();
  ctx.path = ctx.path.slice(basePath.length);
}

const shown = (path: string): string => path.slice(0, 1024).replace(secretPath, '$1/***');

/** What is done to every answer but a failure. */
function finish(ctx: Context): Promise<void> | undefined {
  indentJson(ctx);
  const encoding = stateOf(ctx).isCompressed && chooseEncoding(ctx);
  if (isNotModified(ctx) && ctx.status === 200 && (ctx.method === 'GET' || ctx.method === 'HEAD')) ctx.status = 304;
  else if (encoding) return compress(ctx, encoding);
  return undefined;
}

function bytesWithoutCredential({ url = '', rawHeaders }: IncomingMessage): number {
  let bytes = url.length;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    // Short ones need no look at their name.
    bytes += name.length + (value.length > maxShort && carriesCredential.test(name) ? 0 : value.length);
  }
  return bytes;
}
