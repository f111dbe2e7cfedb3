import type { Context } from 'koa';

const opaque = (tag: string) => tag.trim().replace(/^W\//, '');

/**
 * Returns whether the caller has this very answer (RFC 9110, 13.1.2 and 13.1.3). Koa's `fresh` also reads the `Cache-Control` of the
 * request, which browsers set to `no-cache` when a script revalidates by itself.
 */
export function isNotModified(ctx: Context): boolean {
  if (ctx.status !== 200 || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return false;
  const { 'if-none-match': given, 'if-modified-since': date } = ctx.req.headers;
  if (given === undefined && date === undefined) return false;
  // Koa's types say otherwise: there may be none.
  const etag: string | undefined = ctx.response.get('ETag');
  if (given !== undefined && given !== '')
    return !!etag && (given.trim() === '*' || given.split(',').some((tag) => opaque(tag) === opaque(etag)));
  const since = Date.parse(date ?? '');
  const modified = Date.parse(ctx.response.get('Last-Modified'));
  return modified <= since;
}
