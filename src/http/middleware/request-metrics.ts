import type { Middleware } from 'koa';
import type { Metrics } from '../../telemetry/metrics.ts';
import { receivedCode } from '../request-state.ts';

/** Observes the duration of each request, by operation id and status code. */
export function requestMetrics({ requests }: Metrics): Middleware {
  return (ctx, next) => {
    const state = ctx.state;
    state.lifetime.onClose(() => {
      const { operationId = 'none', startedAt } = state;
      requests.observe({ operation: operationId, code: receivedCode(ctx) }, (performance.now() - startedAt) / 1000);
    });
    return next();
  };
}
