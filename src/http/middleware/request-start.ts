import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { runInTrace, type Tracing } from '../../telemetry/tracing.ts';
import { isProbe } from '../health.ts';
import { RequestState, receivedCode } from '../request-state.ts';

export interface RequestStartOptions {
  /** Returns the address of the client (`client-address.ts`). */
  sourceOf: (request: IncomingMessage) => string;
  requestTimeoutMs: number;
  tracing: Tracing;
}

/** Gives each request its state: an id, the address of its client, its lifetime, its trace. */
export function requestStart({ sourceOf, requestTimeoutMs, tracing }: RequestStartOptions): Middleware {
  return (ctx, next) => {
    const state = new RequestState(ctx, { requestId: requestId(ctx.req), source: sourceOf(ctx.req), timeoutMs: requestTimeoutMs });
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
