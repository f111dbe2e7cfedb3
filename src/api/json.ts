import { hash } from 'node:crypto';
import type { Context } from 'koa';

/** A JSON text made once per change, with its strong ETag, to be sent many times. */
export interface JsonText {
  readonly bytes: Buffer;
  readonly etag: string;
  /** The text itself where it is short: with its headers it goes out in one piece, bytes go out beside them. */
  readonly short: string | undefined;
}

/** Shorter than what is ever compressed. */
const maxShort = 1000;

export const jsonText = (value: unknown): JsonText => preparedJson(JSON.stringify(value));

/** The same for a text that is JSON already. */
export function preparedJson(text: string): JsonText {
  const bytes = Buffer.from(text);
  return { bytes, etag: `"${hash('sha256', text).slice(0, 32)}"`, short: bytes.length <= maxShort ? text : undefined };
}

/** Sends a prepared JSON text with its ETag; an equal If-None-Match becomes 304 in the frame. */
export function sendJsonText(ctx: Context, { bytes, etag, short }: JsonText): void {
  const { res, request, response } = ctx;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('ETag', etag);
  // Bytes go out as they are; what is indented has to be read again.
  response.body = short ?? (request.querystring !== '' && request.query.pretty === 'true' ? bytes.toString() : bytes);
}

/** `pretty=true` indents any JSON. The indented text is another representation, so its ETag differs. */
export function indentJson(ctx: Context): void {
  if (
    !ctx.request.querystring.includes('pretty=true') ||
    ctx.query.pretty !== 'true' ||
    ctx.body === null ||
    ctx.body === undefined ||
    !ctx.response.is('json')
  )
    return;
  const value: unknown = typeof ctx.body === 'string' ? JSON.parse(ctx.body) : ctx.body;
  if (typeof value !== 'object' || Buffer.isBuffer(value) || isStream(value)) return;
  const etag = ctx.response.get('ETag');
  if (etag) ctx.set('ETag', etag.replace(/"$/, '.pretty"'));
  ctx.body = `${JSON.stringify(value, null, 2)}\n`;
}

const isStream = (value: object | null) => value !== null && 'pipe' in value;
