import type { RequestListener } from 'node:http';
import Koa, { type Context, type Middleware } from 'koa';
import type { RequestMiddleware } from './request-middleware.ts';
import { type RouterOptions, routeOperations } from './router.ts';

interface RequestListenerOptions extends Omit<RouterOptions, 'bounds'> {
  /** Gets each request before the operations do, e.g. an app that is mounted below a path. */
  before?: Middleware;
}

/** The Koa app of one port: the frame around everything, the operations inside. */
export function requestListener(frame: RequestMiddleware, { before, ...options }: RequestListenerOptions): RequestListener {
  const koa = new Koa();
  koa.silent = true;
  // The frame has answered whatever could be answered; what comes here broke in the middle of a body.
  koa.on('error', (_error: unknown, ctx: Context | undefined) => ctx?.res.destroy());
  koa.use(frame.middleware);
  if (before) koa.use(before);
  koa.use(routeOperations({ ...options, bounds: frame }));
  return koa.callback();
}
