import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Context, Middleware } from 'koa';
import type { ViewedAccess, ViewTarget } from '../caller.ts';
import { networkOf } from '../client-address.ts';
import { isProbe } from '../health.ts';
import type { RequestFlow } from '../limits/semaphore.ts';
import { RequestLifetime } from '../request-deadline.ts';
import { runInTrace, type Trace, type Tracing } from '../telemetry/tracing.ts';

interface RequestStateOptions {
  /** Returns the address of the client (`client-address.ts`). */
  sourceOf: (request: IncomingMessage) => string;
  requestTimeoutMs: number;
  tracing: Tracing;
}

/** Gives each request its state: an id, the address of its client, its lifetime, its trace. */
export function requestState({ sourceOf, requestTimeoutMs, tracing }: RequestStateOptions): Middleware {
  return (ctx, next) => {
    const id = requestId(ctx.req);
    const source = sourceOf(ctx.req);
    const state = new RequestState(ctx, { requestId: id, source, network: networkOf(source), timeoutMs: requestTimeoutMs });
    ctx.state = state;
    const trace = tracing.traceOf(ctx.req.headers);
    if (trace === undefined || isProbe(ctx.path)) return next();
    state.trace = trace;
    state.lifetime.onClose(() => trace.end(state.operationId ?? 'none', ctx.method, receivedCode(ctx)));
    return runInTrace(trace, next);
  };
}

/** Returns the well-formed id that the caller has sent, or a new one. */
function requestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
}

interface RequestStart {
  requestId: string;
  source: string;
  network: string;
  timeoutMs: number;
}

/** Facts about one request, as `ctx.state` while it is under way. */
class RequestState {
  readonly requestId: string;
  /** Address of the peer, or the one that a trusted proxy forwards for. */
  readonly source: string;
  readonly startedAt = performance.now();
  readonly lifetime: RequestLifetime;
  readonly flow: RequestFlow;
  operationId?: string;
  /** Undefined if the request belongs to no trace. */
  trace?: Trace;
  /** Bytes of the body that were read. Undefined for a form, which has credentials: its length helps to guess them. */
  bodyBytes: number | undefined;
  /** For the access log; never a credential. */
  userName?: string;
  /** View of the request, which is checked again while a long request is open. */
  viewed?: { readonly target: ViewTarget; readonly access: ViewedAccess };
  /** True if the request may outlive the request deadline. */
  isLasting?: true;
  /** True if the operation allows compressed answers. */
  isCompressed?: true;
  /** True if refusals have the members of OAuth, too. */
  hasOAuthErrors?: true;
  /** Browser that a user has logged in with before, once it is looked up. */
  knownBrowser?: { readonly id: string; readonly user: string } | 'unknown';
  /** Id of the issuer whose callback the request is. */
  issuerID?: string;
  /** User code of a device (RFC 8628), taken out of the URL. */
  userCode?: string;
  /** Why a credential was refused, for the access log: callers are not told. */
  refusal?: string;

  constructor(ctx: Context, { requestId, source, network, timeoutMs }: RequestStart) {
    this.requestId = requestId;
    this.source = source;
    this.flow = { key: `network ${network}` };
    this.lifetime = new RequestLifetime(ctx, timeoutMs);
  }

  /** Aborts at the deadline, and when the caller goes away. */
  get signal(): AbortSignal {
    return this.lifetime.signal;
  }

  /** Returns the milliseconds until the deadline, for operations that can report partial work. */
  leftMs(): number {
    return this.lifetime.leftMs;
  }
}

declare module 'koa' {
  interface Context {
    state: RequestState;
  }
  interface DefaultState extends RequestState {}
}

/** Returns the status code that the caller has received; 499 for a caller that left before the end of the answer. */
export const receivedCode = ({ res }: Context): number => (res.writableFinished ? res.statusCode : 499);
