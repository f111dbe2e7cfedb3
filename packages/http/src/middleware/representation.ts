/** The form of an answer: its encoding, and whether its caller has it or may keep it (RFC 9110, 8 and 13). */
import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, createBrotliCompress, createGzip, gzip, constants as zlib } from 'node:zlib';
import type { Context, Middleware } from 'koa';
import { indentJson } from '../json-answers.ts';

/** Smaller answers fit into one packet anyway. */
const minBytes = 1024;
/** Bound of compressions in progress, each of which takes memory outside of the heap. Further answers are sent uncompressed. */
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

/** Compressed forms of bytes that are sent many times (prepared documents, pages of lists). They live as long as the bytes. */
const made = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();
let underWay = 0;

/**
 * Sends an answer in the form that its caller asks for: indented for `pretty=true`, compressed where the operation allows it, without a
 * body (304) for a caller that has it. A 304 needs only the ETag of the encoding.
 */
export const representation: Middleware = async (ctx, next) => {
  await next();
  indentJson(ctx);
  const encoding = ctx.state.isCompressed && chooseEncoding(ctx);
  if (isNotModified(ctx)) ctx.status = 304;
  else if (encoding) await compress(ctx, encoding);
};

/**
 * Chooses how the answer of an operation that allows it is encoded, by `Accept-Encoding`, and marks the answer so that caches and
 * conditional requests tell the encodings apart (RFC 9110, 8.8.3.3).
 *
 * @returns undefined for an answer that is sent as it is
 */
export function chooseEncoding(ctx: Context): Encoding | undefined {
  const { response, res } = ctx;
  // Koa would serialize a plain object later, after the headers are chosen.
  if (isPlain(response.body) && !res.headersSent && isText(ctx)) response.body = JSON.stringify(response.body);
  if (isShort(response.body) || !isText(ctx) || res.headersSent || res.hasHeader('Content-Encoding')) return undefined;
  const body = asBytes(response.body);
  if (!Buffer.isBuffer(body) && !(body instanceof Readable)) return undefined;
  if (body !== response.body) response.body = body;
  if (Buffer.isBuffer(body) && body.length < minBytes) return undefined;
  ctx.vary('Accept-Encoding');
  const encoding = accepted(ctx);
  if (encoding === undefined || (underWay >= maxUnderWay && !isMade(body, encoding))) return undefined;
  const etag = response.get('ETag');
  if (etag) res.setHeader('ETag', etag.replace(/"$/, `${suffixes[encoding]}"`));
  return encoding;
}

/** Returns the encoding that the caller prefers; undefined for the answer as it is. */
function accepted({ req, request }: Context): Encoding | undefined {
  if (req.headers['accept-encoding'] === undefined) return undefined;
  const chosen = request.acceptsEncodings('br', 'gzip', 'identity');
  return chosen === 'br' || chosen === 'gzip' ? chosen : undefined;
}

/** Compresses the body outside of the event loop. */
async function compress(ctx: Context, encoding: Encoding): Promise<void> {
  const { body } = ctx;
  ctx.set('Content-Encoding', encoding);
  ctx.body = Buffer.isBuffer(body) ? await compressed(body, encoding) : compressing(body as Readable, encoding);
}

const isShort = (body: unknown): boolean =>
  (Buffer.isBuffer(body) && body.length < minBytes) || (typeof body === 'string' && Buffer.byteLength(body) < minBytes);

const isText = ({ res, response }: Context): boolean =>
  res.statusCode < 300 && (isJson(res.getHeader('Content-Type')) || response.is('json', 'yaml', 'text/javascript', 'text/css') !== false);

/** The most frequent type; `response.is` parses it each time. */
const isJson = (type: unknown): boolean => type === 'application/json; charset=utf-8';

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
