import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { RequestState } from '../request-state.ts';

export interface RequestStartOptions {
  /** Returns the address of the client (`client-address.ts`). */
  sourceOf: (request: IncomingMessage) => string;
  requestTimeoutMs: number;
}

/** Gives each request its state: an id, the address of its client, its lifetime. */
export function requestStart({ sourceOf, requestTimeoutMs }: RequestStartOptions): Middleware {
  return (ctx, next) => {
    ctx.state = new RequestState(ctx, { requestId: requestId(ctx.req), source: sourceOf(ctx.req), timeoutMs: requestTimeoutMs });
    return next();
  };
}

/** Returns the well-formed id that the caller has sent, or a new one. */
function requestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
}
