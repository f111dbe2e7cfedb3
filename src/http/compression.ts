import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, createBrotliCompress, createGzip, gzip, constants as zlib } from 'node:zlib';
import type { Context } from 'koa';

/** Below this the headers of a packet are most of what is sent. */
const minBytes = 1024;
/** Each takes memory outside of the heap; what comes beyond is sent as it is. */
const maxUnderWay = 32;

const suffixes = { br: '.br', gzip: '.gz' } as const;
type Encoding = keyof typeof suffixes;

const brotli = (bytes = 0) => ({
  params: {
    [zlib.BROTLI_PARAM_MODE]: zlib.BROTLI_MODE_TEXT,
    [zlib.BROTLI_PARAM_QUALITY]: 5,
    [zlib.BROTLI_PARAM_SIZE_HINT]: bytes,
  },
});
const [gzipped, brotlied] = [promisify(gzip), promisify(brotliCompress)];

/** Texts that are sent many times (prepared documents, pages of lists) are compressed once: the promise lives as long as the bytes. */
const made = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();
let underWay = 0;

/**
 * Chooses how the answer of an operation that allows it is encoded, by `Accept-Encoding`, and marks the answer so that caches and
 * conditional requests tell the encodings apart (RFC 9110, 8.8.3.3).
 *
 * @returns undefined for an answer that is sent as it is
 */
export function chooseEncoding(ctx: Context): Encoding | undefined {
  // What Koa would make a text of when it answers, it makes one of here.
  if (isPlain(ctx.body) && !ctx.headerSent && isText(ctx)) ctx.body = JSON.stringify(ctx.body);
  if (isShort(ctx.body) || !isText(ctx) || ctx.headerSent || ctx.response.get('Content-Encoding')) return undefined;
  const body = asBytes(ctx.body);
  if (!Buffer.isBuffer(body) && !(body instanceof Readable)) return undefined;
  if (body !== ctx.body) ctx.body = body;
  if (Buffer.isBuffer(body) && body.length < minBytes) return undefined;
  ctx.vary('Accept-Encoding');
  const encoding = ctx.acceptsEncodings('br', 'gzip', 'identity');
  if ((encoding !== 'br' && encoding !== 'gzip') || (underWay >= maxUnderWay && !isMade(body, encoding))) return undefined;
  const etag: string | undefined = ctx.response.get('ETag');
  if (etag) ctx.set('ETag', etag.replace(/"$/, `${suffixes[encoding]}"`));
  return encoding;
}

/** Encodes the body as chosen, outside of the event loop. */
export async function compress(ctx: Context, encoding: Encoding): Promise<void> {
  const { body } = ctx;
  ctx.set('Content-Encoding', encoding);
  ctx.body = Buffer.isBuffer(body) ? await compressed(body, encoding) : compressing(body as Readable, encoding);
}

const isShort = (body: unknown): boolean =>
  (Buffer.isBuffer(body) && body.length < minBytes) || (typeof body === 'string' && Buffer.byteLength(body) < minBytes);

const isText = (ctx: Context): boolean => ctx.status < 300 && ctx.response.is('json', 'yaml') !== false;

const asBytes = (body: unknown): unknown => (typeof body === 'string' ? Buffer.from(body) : body);

const isPlain = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && !Buffer.isBuffer(body) && !(body instanceof Readable);

const isMade = (body: Buffer | Readable, encoding: Encoding): boolean => Buffer.isBuffer(body) && made.get(body)?.has(encoding) === true;

function compressed(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  const byEncoding = made.get(bytes) ?? new Map<Encoding, Promise<Buffer>>();
  made.set(bytes, byEncoding);
  const known = byEncoding.get(encoding);
  if (known) return known;
  underWay += 1;
  const making = (encoding === 'gzip' ? gzipped(bytes) : brotlied(bytes, brotli(bytes.length))).finally(() => {
    underWay -= 1;
  });
  byEncoding.set(encoding, making);
  making.catch(() => byEncoding.delete(encoding));
  return making;
}

function compressing(source: Readable, encoding: Encoding): Readable {
  underWay += 1;
  const target = encoding === 'gzip' ? createGzip() : createBrotliCompress(brotli());
  return pipeline(source, target, () => {
    underWay -= 1;
  });
}
