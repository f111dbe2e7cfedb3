import { internalError, StatusError } from '@atrium/objects/status.ts';
import type { Context, Middleware } from 'koa';
import type { Logger } from 'pino';
import { closeOnUnreadBody } from '../body.ts';
import { isProbe } from '../health.ts';
import { indentJson } from '../json-answers.ts';
import { oauthMembers } from '../oauth-errors.ts';

const headersOfTheAnswer = ['ETag', 'Last-Modified', 'Content-Encoding', 'Content-Disposition', 'Content-Length', 'Accept-Ranges'];

/**
 * Ends the work for a request at its deadline, or when its caller goes away. Answers a StatusError with its Status, and any other error
 * with a bare 500. Logs the cause and the stack of a 5xx once; callers see neither. A caller that has gone gets no answer, and causes no
 * log line.
 */
export function errorAnswers(log: Logger): Middleware {
  return async (ctx, next) => {
    const { lifetime } = ctx.state;
    try {
      await lifetime.limit(next);
    } catch (error) {
      if (lifetime.isAbandoned) {
        ctx.respond = false;
        return;
      }
      answerError(ctx, lifetime.endReason instanceof StatusError ? lifetime.endReason : error, log);
    }
  };
}

function answerError(ctx: Context, error: unknown, log: Logger): void {
  const failure = error instanceof StatusError ? error : internalError();
  const state = ctx.state;
  if (failure.status.code >= 500) log[isProbe(ctx.path) ? 'debug' : 'error']({ requestId: state.requestId, err: error }, 'request failed');
  if (failure.status.code === 401 && failure.cause instanceof Error) state.refusal = failure.cause.message.slice(0, 256);
  for (const name of headersOfTheAnswer) ctx.remove(name);
  ctx.set('Cache-Control', 'no-store');
  ctx.set(failure.headers);
  ctx.status = failure.status.code;
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = JSON.stringify({ ...failure.status, ...(state.hasOAuthErrors && oauthMembers(failure)) });
  closeOnUnreadBody(ctx);
  indentJson(ctx);
}
