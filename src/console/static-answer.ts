import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { StatusError, unknownPath } from '../api/status.ts';
import { isNotModified } from '../http/conditional.ts';
import type { StaticContent } from './static-directory.ts';
import type { Compression, StaticFile } from './static-set.ts';

/** First and last byte, both included. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Answers with a file, or the part of it that is asked for.
 *
 * A part is always one of the file as it is, and only one: several ranges get the whole file (RFC 9110, 14.2 leaves that to the server;
 * an answer in many parts costs more than it saves and is a known way to keep a server busy).
 *
 * @throws StatusError 416; 404 if a file that is read from disk has changed since the start
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

/** At once, but for a file that is not held in memory. */
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
  // Other bytes than those that the ETag stands for must not go out under it.
  if (handle === undefined || stats?.size !== size || stats.mtime.getTime() !== modified.getTime()) {
    await handle?.close();
    throw unknownPath();
  }
  ctx.body = handle.createReadStream({ start, end });
  ctx.length = end - start + 1;
}

/** If-Range (RFC 9110, 13.1.5): a part is of use only to who has the rest of this very file. */
const isRangeValid = (condition: string, { etag, lastModified }: StaticContent): boolean =>
  condition === '' || condition === etag || condition === lastModified;

/**
 * One range of bytes (RFC 9110, 14.1.2); undefined for what is to be ignored: another unit, several ranges, no range at all.
 *
 * @throws StatusError 416
 */
function singleRange(header: string, size: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header) ?? [];
  if (first === '' && last === '') return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (start > end) {
    throw new StatusError(416, 'BadRequest', 'the range lies outside the file', { headers: { 'Content-Range': `bytes */${size}` } });
  }
  return { start, end };
}

/** The compression that the request likes best (RFC 9110, 12.5.3), the smaller of equals; undefined for the file as it is. */
function preferredCompression({ content, compressed }: StaticFile, header: string): Compression | undefined {
  if (header === '') return undefined;
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    weights.set(name, weight);
  }
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0;
  // Identity is acceptable unless it is ruled out, but not preferred to anything that is named.
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
