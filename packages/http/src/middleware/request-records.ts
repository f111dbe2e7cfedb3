import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { isProbe } from '../health.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { receivedCode } from './request-state.ts';

const maxPath = 1024;
const maxUserAgent = 256;
/** Paths with a one-time link, which replaces a password. Misspelt ones match too. */
const secretPath = /(\/identity\/{1,8}link)(?:\/|%2f).*/is;

/**
 * Records each request when its connection is done with it: one line of the access log, and the duration in the metrics, by operation id
 * and status code. Probes are logged at level `debug`.
 */
export function requestRecords(log: Logger, { requests }: Metrics): Middleware {
  const line = log.child({}, { redact: [] });
  return (ctx, next) => {
    const { path } = ctx;
    ctx.state.lifetime.onClose(() => {
      const { operationId: operation = 'none', requestId, source, startedAt, userName, viewed, refusal, trace } = ctx.state;
      const code = receivedCode(ctx);
      const ms = performance.now() - startedAt;
      requests.observe({ operation, code }, ms / 1000);
      const entry = {
        requestId,
        traceId: trace?.id,
        method: ctx.req.method,
        path: path.slice(0, maxPath).replace(secretPath, '$1/***'),
        code,
        seconds: Math.round(ms * 10) / 1e4,
        operation,
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
