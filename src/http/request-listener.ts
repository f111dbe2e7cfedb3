import type { RequestListener } from 'node:http';
import type { ParsedUrlQuery } from 'node:querystring';
import Koa, { type Context, type Request } from 'koa';
import type { RequestMiddleware } from './request-middleware.ts';
import { type Answer, type RouterOptions, routeOperations } from './router.ts';

/** Gets each request before the operations do, and hands on what is not for it. */
export type Before = (ctx: Context, next: Answer) => Promise<void> | void;

interface RequestListenerOptions extends Omit<RouterOptions, 'bounds'> {
  before?: Before;
}

/**
 * Returns the parameters of a query as Koa does, in one pass. Koa looks for all values of a name once for each time that the name is there:
 * a name that fills the request line takes 300 ms.
 */
function queryOf(text: string): ParsedUrlQuery {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? all[0] : all]));
}

/** The Koa app of one port: the frame around everything, the operations inside. */
export function requestListener(frame: RequestMiddleware, { before, ...options }: RequestListenerOptions): RequestListener {
  const koa = new Koa();
  koa.silent = true;
  Object.defineProperty(koa.request, 'query', {
    get(this: Request) {
      return queryOf(this.querystring);
    },
  });
  // The frame has answered whatever could be answered; what comes here broke in the middle of a body.
  koa.on('error', (_error: unknown, ctx: Context | undefined) => ctx?.res.destroy());
  const operations = routeOperations({ ...options, bounds: frame });
  koa.use(frame.around(before ? (ctx) => before(ctx, operations) : operations));
  return koa.callback();
}
