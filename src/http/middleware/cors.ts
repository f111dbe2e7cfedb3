import type { Middleware } from 'koa';

/** Lets pages of the listed origins read answers (CORS: Fetch Standard, section 3.3). The router answers preflight requests. */
export function cors(origins: readonly string[]): Middleware {
  return (ctx, next) => {
    ctx.vary('Origin');
    const origin = ctx.get('Origin');
    if (origins.includes(origin)) {
      ctx.set('Access-Control-Allow-Origin', origin);
      ctx.set('Access-Control-Allow-Credentials', 'true');
      ctx.set('Access-Control-Expose-Headers', 'ETag, Link, Location, Retry-After, Warning, X-Request-Id');
    }
    return next();
  };
}
