import type { Context } from 'koa';

/** Eight or more hex digits, at least one of them a number. */
const hash = /^(?=[a-f]*\d)[0-9a-f]{8,64}$/i;
/** Eight digits that read as a date are no hash: taking a report for a build would pin it in browsers for a year. */
const date = /^(?:19|20)\d{6}$/;
const extension = /^[a-z][a-z0-9]*$/i;

const isHash = (text: string): boolean => hash.test(text) && !date.test(text);

/** Reports whether a file name has a hash of its contents: `main.3f2a9c1b.js`, `main-3f2a9c1b.js.map`. */
export function isHashedName(name: string): boolean {
  const parts = name.split('.');
  for (let index = parts.length - 1; index > 0 && extension.test(parts[index] ?? ''); index -= 1) {
    const before = parts[index - 1] ?? '';
    const hyphen = before.lastIndexOf('-');
    if ((hyphen >= 0 || index > 1) && isHash(before.slice(hyphen + 1))) return true;
  }
  return false;
}

/** `Cache-Control` of a URL whose contents never change. */
export const immutable = 'public, max-age=31536000, immutable';

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
