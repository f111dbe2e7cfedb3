import type { Context } from 'koa';

const opaque = (tag: string) => tag.trim().replace(/^W\//, '');

/**
 * Whether the caller has this very answer already (RFC 9110 sections 13.1.2 and 13.1.3). Koa's own `fresh` would also look at the
 * request's `Cache-Control`, which browsers set to `no-cache` whenever a script revalidates by itself.
 */
export function isNotModified(ctx: Context): boolean {
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

/** Says that the answer differs by these headers of the request. Koa's own way reads each list of them again. */
export function varyOn({ res, response }: Context, fields: string): void {
  if (res.hasHeader('Vary')) response.vary(fields);
  else res.setHeader('Vary', fields);
}
