import type { Middleware } from 'koa';

/**
 * Ends the work for a request at its deadline, or when its caller goes away. A handler that ignores its signal is left behind.
 *
 * @throws StatusError 504, or the reason of the abort
 */
export const callOff: Middleware = (ctx, next) =>
  new Promise((resolve, reject) => {
    ctx.state.lifetime.onAbort = reject;
    next().then(resolve, reject);
  });
