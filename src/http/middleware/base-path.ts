import type { Middleware } from 'koa';
import { methodNotAllowed, unknownPath } from '../../api/status.ts';

/**
 * Strips the base path of the public URL off the path. Redirects from the base path without its slash.
 *
 * @throws StatusError 404 outside of the base path, 405
 */
export function stripBasePath(basePath: string): Middleware {
  return (ctx, next) => {
    if (ctx.path === basePath) {
      if (ctx.method !== 'GET' && ctx.method !== 'HEAD') throw methodNotAllowed(ctx.method, ['GET', 'HEAD']);
      ctx.status = 308;
      ctx.set('Location', `${basePath}/${ctx.search}`);
      return undefined;
    }
    if (!ctx.path.startsWith(`${basePath}/`)) throw unknownPath();
    ctx.path = ctx.path.slice(basePath.length);
    return next();
  };
}
