import type { Context } from 'koa';

const opaque = (tag: string) => tag.trim().replace(/^W\//, '');

/**
 * Whether the caller has this very answer already (RFC 9110 sections 13.1.2 and 13.1.3). Koa's own `fresh` would also look at the
 * request's `Cache-Control`, which browsers set to `no-cache` whenever a script revalidates by itself.
 */
export function isNotModified(ctx: Context): boolean {
  // Koa's types say otherwise: there may be none.
  const etag: string | undefined = ctx.response.get('ETag');
  const given = ctx.get('If-None-Match');
  if (given !== '') return !!etag && (given.trim() === '*' || given.split(',').some((tag) => opaque(tag) === opaque(etag)));
  const since = Date.parse(ctx.get('If-Modified-Since'));
  const modified = Date.parse(ctx.response.get('Last-Modified'));
  return modified <= since;
}
