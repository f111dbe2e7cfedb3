import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { exactValue, parseExact } from './exact-json.ts';

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

const indentedTexts = new WeakMap<JsonText, JsonText>();

/** Returns the same JSON indented, made at the first request for it. */
function indentedText(text: JsonText): JsonText {
  const known = indentedTexts.get(text);
  if (known !== undefined) return known;
  const made = { bytes: Buffer.from(indented(parseExact(text.bytes.toString()))), etag: indentedTag(text.etag), short: undefined };
  indentedTexts.set(text, made);
  return made;
}

const indented = (value: unknown): string => `${JSON.stringify(value, exactValue, 2)}\n`;

/** The indented text is another representation, with an ETag of its own. */
const indentedTag = (etag: string): string => etag.replace(/"$/, '.pretty"');

/** Reports whether the caller asks for indented JSON, by `pretty=true`. */
export const isIndentedWanted = ({ request }: Context): boolean =>
  request.querystring.includes('pretty=true') && request.query.pretty === 'true';

/** Sends a prepared JSON text with its ETag; an equal If-None-Match becomes 304 in the frame. */
export function sendJsonText(ctx: Context, text: JsonText): void {
  // A short text is indented by the frame.
  sendText(ctx, text.short === undefined && isIndentedWanted(ctx) ? indentedText(text) : text, 'application/json; charset=utf-8');
}

/** Sends a prepared text of any type with its ETag. */
export function sendText({ res, response }: Context, { bytes, etag, short }: JsonText, type: string): void {
  res.setHeader('Content-Type', type);
  res.setHeader('ETag', etag);
  response.body = short ?? bytes;
}

/** Indents the JSON of any answer that is not prepared, where the caller asks for that. */
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
