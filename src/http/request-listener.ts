import type { RequestListener } from 'node:http';
import Koa, { type Context } from 'koa';
import type { RequestMiddleware } from './request-middleware.ts';
import { type Answer, type RouterOptions, routeOperations } from './router.ts';

/** Gets each request before the operations do, and hands on what is not for it. */
export type Before = (ctx: Context, next: Answer) => Promise<void> | void;

interface RequestListenerOptions extends Omit<RouterOptions, 'bounds'> {
  before?: Before;
}

/** The Koa app of one port: the frame around everything, the operations inside. */
export function requestListener(frame: RequestMiddleware, { before, ...options }: RequestListenerOptions): RequestListener {
  const koa = new Koa();
  koa.silent = true;
  // The frame has answered whatever could be answered; what comes here broke in the middle of a body.
  koa.on('error', (_error: unknown, ctx: Context | undefined) => ctx?.res.destroy());
  const operations = routeOperations({ ...options, bounds: frame });
  koa.use(frame.around(before ? (ctx) => before(ctx, operations) : operations));
  return koa.callback();
}
