import type { Middleware } from 'koa';

export interface ResponseHeadersOptions {
  /** Browsers reach the service by https, and are instructed to use nothing else. */
  isSecure?: boolean;
  isStopping: () => boolean;
}

const oneYear = 'max-age=31536000';

/** Sets the headers that every answer carries. */
export function responseHeaders({ isSecure = false, isStopping }: ResponseHeadersOptions): Middleware {
  return (ctx, next) => {
    const { res } = ctx;
    res.setHeader('X-Request-Id', ctx.state.requestId);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    res.setHeader('Referrer-Policy', 'no-referrer');
    res.setHeader('Cache-Control', 'no-store');
    if (isSecure) res.setHeader('Strict-Transport-Security', oneYear);
    if (isStopping()) res.setHeader('Connection', 'close');
    return next();
  };
}

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
