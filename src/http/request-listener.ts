import type { RequestListener } from 'node:http';
import Koa, { type Context } from 'koa';
import type { Frame } from './frame.ts';
import { type RouterOptions, routeOperations } from './router.ts';

/** The Koa app of one port: the frame around everything, the operations inside. */
export function requestListener(frame: Frame, options: Omit<RouterOptions, 'onLongRunning'>): RequestListener {
  const koa = new Koa();
  koa.silent = true;
  // The frame has answered whatever could be answered; what comes here broke in the middle of a body.
  koa.on('error', (_error: unknown, ctx: Context | undefined) => ctx?.res.destroy());
  koa.use(frame.middleware);
  koa.use(routeOperations({ ...options, onLongRunning: frame.onLongRunning }));
  return koa.callback();
}
