import type { Context } from 'koa';
import type { Logger } from 'pino';
import { internalError, StatusError } from '../api/status.ts';
import { closeOnUnreadBody } from './body.ts';

/**
 * Writes a failure: a StatusError as it is, anything else as a bare 500. What the caller does not get to see (cause, stack) is logged
 * here, once.
 */
export function answerError(ctx: Context, error: unknown, log: Logger, level: 'error' | 'debug' = 'error'): void {
  const failure = error instanceof StatusError ? error : internalError();
  if (failure.status.code >= 500) log[level]({ requestId: ctx.state.requestId, err: error }, 'request failed');
  if (failure.status.code === 401 && failure.cause instanceof Error) ctx.state.refusal = failure.cause.message.slice(0, 256);
  for (const name of ['ETag', 'Last-Modified', 'Content-Encoding', 'Content-Disposition', 'Content-Length', 'Accept-Ranges'])
    ctx.remove(name);
  ctx.set('Cache-Control', 'no-store');
  ctx.set(failure.headers);
  ctx.status = failure.status.code;
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = JSON.stringify(failure.status);
  closeOnUnreadBody(ctx);
}
