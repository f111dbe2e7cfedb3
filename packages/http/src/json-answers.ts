/** JSON texts as answers: prepared with their ETag, and indented for a caller who asks. */
import { hash } from 'node:crypto';
import { exactValue, parseExact } from '@atrium/objects/json.ts';
import type { Context } from 'koa';

/** Prepared JSON text with its strong ETag, which is sent many times. */
export interface JsonText {
  readonly bytes: Buffer;
  readonly etag: string;
  /** The text itself if it is short: Node.js sends a string together with its headers, and a buffer separately. */
  readonly short: string | undefined;
}

/** Bound of short texts, below the size of compressed answers. */
const maxShort = 1000;

export const jsonText = (value: unknown): JsonText => preparedJson(JSON.stringify(value));

/** Prepares a text that is already JSON. */
export function preparedJson(text: string): JsonText {
  const bytes = Buffer.from(text);
  return { bytes, etag: `"${hash('sha256', text).slice(0, 32)}"`, short: bytes.length <= maxShort ? text : undefined };
}

const indentedTexts = new WeakMap<JsonText, JsonText>();

/** Returns the same JSON indented. The first request creates it. */
function indentedText(text: JsonText): JsonText {
  const known = indentedTexts.get(text);
  if (known !== undefined) return known;
  const made = { bytes: Buffer.from(indented(parseExact(text.bytes.toString()))), etag: indentedTag(text.etag), short: undefined };
  indentedTexts.set(text, made);
  return made;
}

const indented = (value: unknown): string => `${JSON.stringify(value, exactValue, 2)}\n`;

/** Returns the ETag of the indented text, which is another representation. */
const indentedTag = (etag: string): string => etag.replace(/"$/, '.pretty"');

/** Reports whether the caller requests indented JSON, by `pretty=true`. */
export const isIndentedWanted = ({ request }: Context): boolean =>
  request.querystring.includes('pretty=true') && request.query.pretty === 'true';

/** Sends the JSON text of one object, which is not prepared. */
export function sendJson(ctx: Context, json: string): void {
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = json;
}

/** Sends a prepared JSON text with its ETag. The request chain answers 304 to an equal If-None-Match. */
export function sendJsonText(ctx: Context, text: JsonText): void {
  // The request chain indents short texts.
  sendText(ctx, text.short === undefined && isIndentedWanted(ctx) ? indentedText(text) : text, 'application/json; charset=utf-8');
}

/** Sends a prepared text of any media type with its ETag. */
export function sendText({ res, response }: Context, { bytes, etag, short }: JsonText, type: string): void {
  res.setHeader('Content-Type', type);
  res.setHeader('ETag', etag);
  response.body = short ?? bytes;
}

/** Indents the JSON of an unprepared answer, if the caller requests it. */
export function indentJson(ctx: Context): void {
  const { body } = ctx;
  if (!isIndentedWanted(ctx) || body === null || body === undefined || !ctx.response.is('json')) return;
  const value: unknown = typeof body === 'string' ? parseExact(body) : body;
  if (typeof value !== 'object' || Buffer.isBuffer(value) || isStream(value)) return;
  const etag = ctx.response.get('ETag');
  if (etag) ctx.set('ETag', indentedTag(etag));
  ctx.body = indented(value);
}

const isStream = (value: object | null) => value !== null && 'pipe' in value;
