import type { Middleware } from 'koa';
import { stateOf } from '../request-state.ts';

/**
 * Ends the work for a request at its deadline, or when its caller goes away. A handler that ignores its signal is left behind.
 *
 * @throws StatusError 504, or the reason of the abort
 */
export const deadline: Middleware = async (ctx, next) => {
  const { lifetime } = stateOf(ctx);
  await new Promise<void>((resolve, reject) => {
    lifetime.onAbort = reject;
    next().then(resolve, reject);
  });
};
