import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { isProbe } from '../health.ts';
import { receivedCode } from '../request-state.ts';

const maxPath = 1024;
const maxUserAgent = 256;
/** A one-time link is worth a password, also on a path that is nearly right. */
const secretPath = /(\/identity\/{1,8}link)(?:\/|%2f).*/is;

/** Writes one line for each request when its connection is done with it. Probes are logged at level `debug`. */
export function accessLog(log: Logger): Middleware {
  const line = log.child({}, { redact: [] });
  return (ctx, next) => {
    const { path } = ctx;
    const { requestId, source, startedAt, lifetime } = ctx.state;
    lifetime.onClose(() => {
      const { operationId = 'none', userName, viewed, refusal, trace } = ctx.state;
      const entry = {
        requestId,
        traceId: trace?.id,
        method: ctx.req.method,
        path: path.slice(0, maxPath).replace(secretPath, '$1/***'),
        code: receivedCode(ctx),
        seconds: Math.round((performance.now() - startedAt) * 10) / 1e4,
        operation: operationId,
        source,
        user: userName,
        viewedAs: viewed?.target.name.slice(0, maxUserAgent),
        refusal,
        userAgent: (ctx.req.headers['user-agent'] ?? '').slice(0, maxUserAgent),
      };
      line[isProbe(path) ? 'debug' : 'info'](entry, 'request');
    });
    return next();
  };
}
