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
export function requestRecords(log: Logger, metrics: Metrics): Middleware {
  const times = metrics.histogram({
    name: 'atrium_http_request_duration_seconds',
    help: 'Time from the request line to the end of the answer, by operation id and status code.',
    labelNames: ['operation', 'code'],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  });
  const line = log.child({}, { redact: [] });
  return (ctx, next) => {
    const { path } = ctx;
    ctx.state.lifetime.onClose(() => {
      const { operationId: operation = 'none', requestId, source, startedAt, userName, viewed, refusal, trace } = ctx.state;
      const code = receivedCode(ctx);
      const ms = performance.now() - startedAt;
      times.observe({ operation, code }, ms / 1000);
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
