import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';

const opaque = (tag: string) => tag.trim().replace(/^W\//, '');

/** Answers 304 where the caller has this very answer already (RFC 9110, 13.1.2 and 13.1.3). */
export const conditional: Middleware = async (ctx, next) => {
  await next();
  if (isNotModified(ctx)) ctx.status = 304;
};

/** Koa's own `fresh` also reads the request's `Cache-Control`, which browsers set to `no-cache` when a script revalidates by itself. */
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

/** What `Vary` becomes, by what it was and what is added: of most answers, both come from code alone. */
const joined = new LRUCache<string, string>({ max: 64 });

/** Says that the answer differs by these headers of the request. Koa's own way reads each list of them again. */
export function varyOn({ res, response }: Context, fields: string): void {
  const before = res.getHeader('Vary');
  if (before === undefined) {
    res.setHeader('Vary', fields);
    return;
  }
  const key = `${String(before)}|${fields}`;
  const known = joined.get(key);
  if (known !== undefined) {
    res.setHeader('Vary', known);
    return;
  }
  response.vary(fields);
  joined.set(key, String(res.getHeader('Vary')));
}
