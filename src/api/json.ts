import { hash } from 'node:crypto';
import type { Context } from 'koa';

/** A JSON text made once per change, with its strong ETag, to be sent many times. */
export interface JsonText {
  readonly bytes: Buffer;
  readonly etag: string;
}

export const jsonText = (value: unknown): JsonText => preparedJson(JSON.stringify(value));

/** The same for a text that is JSON already. */
export const preparedJson = (text: string): JsonText => ({ bytes: Buffer.from(text), etag: `"${hash('sha256', text).slice(0, 32)}"` });

/** Sends a prepared JSON text with its ETag; an equal If-None-Match becomes 304 in the frame. */
export function sendJsonText(ctx: Context, { bytes, etag }: JsonText): void {
  ctx.type = 'application/json; charset=utf-8';
  ctx.set('ETag', etag);
  // Bytes go out as they are; what is indented has to be read again.
  ctx.body = ctx.query.pretty === 'true' ? bytes.toString() : bytes;
}

/** `pretty=true` indents any JSON. The indented text is another representation, so its ETag differs. */
export function indentJson(ctx: Context): void {
  if (
    !ctx.querystring.includes('pretty=true') ||
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
