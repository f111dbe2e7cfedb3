import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { rangeNotSatisfiable, unknownPath } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { isNotModified } from '../middleware/representation.ts';
import type { StaticContent } from './directory.ts';
import { type Compression, isPinned, type StaticFile } from './set.ts';

/** First and last byte, inclusive. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Answers with a file, or the requested range of it.
 *
 * Ranges apply to the uncompressed file. Several ranges get the whole file, which RFC 9110, 14.2 permits: multipart answers cost more than
 * they save and are a known way to overload servers.
 *
 * @throws StatusError 416; 404 if a file on disk has changed since it was read
 */
export function sendStaticFile(ctx: Context, file: StaticFile, contentSecurityPolicy: () => string): Promise<void> | void {
  const { res } = ctx;
  const { range: wanted = '', 'accept-encoding': accepted = '' } = ctx.req.headers;
  const isPartWanted = ctx.method === 'GET' && wanted !== '';
  const encoding = isPartWanted ? undefined : preferredCompression(file, accepted);
  const content = (encoding && file.compressed[encoding]) ?? file.content;
  ctx.vary('Accept-Encoding');
  res.setHeader('Cache-Control', file.cacheControl);
  res.setHeader('ETag', content.etag);
  res.setHeader('Last-Modified', content.lastModified);
  res.setHeader('Accept-Ranges', 'bytes');
  res.setHeader('Content-Type', file.contentType);
  if (encoding) res.setHeader('Content-Encoding', encoding);
  if (file.isHtml) {
    res.setHeader('Content-Security-Policy', contentSecurityPolicy());
    res.setHeader('X-Frame-Options', 'DENY');
  }
  ctx.response.status = 200;
  if (isNotModified(ctx)) {
    ctx.response.status = 304;
    return;
  }
  const range = isPartWanted && isRangeValid(ctx.get('If-Range'), content) ? singleRange(wanted, content.size) : undefined;
  if (range) {
    ctx.status = 206;
    ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${content.size}`);
  }
  return sendBytes(ctx, content, range ?? { start: 0, end: content.size - 1 });
}

/** Files that a page loads by itself, as browsers name them. */
const partOfPage = /^(?:script|style|font|image)$/;

/** Browsers follow 16 redirects and more. With half of the replicas of the other build, a file is missed once in 4,096 times. */
const maxRetries = 12;

/**
 * Loads the page again, which is then that of this build. Once in ten seconds: a console without that code is not loaded endlessly.
 */
const reload = `const [visit] = performance.getEntriesByType('navigation');
if (visit?.type === 'reload' && performance.now() < 10_000) throw new Error('this build of the console does not have the code');
location.reload();
await new Promise(() => undefined);
`;

/**
 * Answers a page of another build, which needs a file that this build does not have: during and after an upgrade or a rollback. Redirects
 * to the same file, because the load balancer may send the next request to a replica of that build. Code that no replica has is replaced
 * by a script that loads the page again.
 *
 * @returns false if the request is not for such a file
 */
export function sendOtherBuild(ctx: Context, path: string): boolean {
  const kind = ctx.get('sec-fetch-dest');
  if (!partOfPage.test(kind) || !isPinned(path)) return false;
  const [, retries = 0] = /^retry=(\d{1,2})$/.exec(ctx.querystring) ?? [];
  if (Number(retries) < maxRetries) {
    ctx.status = 307;
    ctx.set('Location', `?retry=${Number(retries) + 1}`);
  } else if (kind === 'script' && path.endsWith('.js')) {
    ctx.type = 'text/javascript';
    ctx.body = reload;
  } else return false;
  ctx.set('Cache-Control', 'no-store');
  return true;
}

/** Sends bytes synchronously, unless the file is not in memory. */
function sendBytes(ctx: Context, content: StaticContent, { start, end }: ByteRange): Promise<void> | void {
  const { source, size } = content;
  if (Buffer.isBuffer(source)) {
    ctx.response.body = end - start + 1 === size ? source : source.subarray(start, end + 1);
    return;
  }
  if (ctx.method === 'HEAD') {
    ctx.body = Readable.from([]);
    ctx.length = size;
    return;
  }
  return sendFromDisk(ctx, source.path, content, { start, end });
}

async function sendFromDisk(ctx: Context, path: string, { size, modified }: StaticContent, { start, end }: ByteRange): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
  const stats = await handle?.stat();
  // The ETag belongs to the bytes that were read; other bytes must not be sent with it.
  if (handle === undefined || stats?.size !== size || stats.mtime.getTime() !== modified.getTime()) {
    await handle?.close();
    throw unknownPath();
  }
  ctx.body = handle.createReadStream({ start, end });
  ctx.length = end - start + 1;
}

/** Checks If-Range (RFC 9110, 13.1.5): a range is useful only to callers with the rest of the same file. */
const isRangeValid = (condition: string, { etag, lastModified }: StaticContent): boolean =>
  condition === '' || condition === etag || condition === lastModified;

/**
 * Parses a single range of bytes (RFC 9110, 14.1.2); undefined for a header to ignore: another unit, several ranges, an invalid range.
 *
 * @throws StatusError 416
 */
function singleRange(header: string, size: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header) ?? [];
  if (first === '' && last === '') return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (start > end) throw rangeNotSatisfiable(size);
  return { start, end };
}

/** Returns the preferred compression (RFC 9110, 12.5.3), the smaller one of equals; undefined for the uncompressed file. */
function preferredCompression({ content, compressed }: StaticFile, header: string): Compression | undefined {
  if (header === '') return undefined;
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    weights.set(name, weight);
  }
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0;
  // Identity is acceptable unless it is excluded, and every named encoding is preferred to it.
  let best: { compression: Compression | undefined; weight: number; size: number } = {
    compression: undefined,
    weight: weights.get('identity') ?? 0,
    size: content.size,
  };
  for (const compression of ['br', 'gzip'] as const) {
    const size = compressed[compression]?.size;
    const weight = weightOf(compression);
    if (size === undefined || !(weight > 0)) continue;
    if (weight > best.weight || (weight === best.weight && size < best.size)) best = { compression, weight, size };
  }
  return best.compression;
}
