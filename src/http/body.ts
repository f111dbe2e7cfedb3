import type { IncomingMessage } from 'node:http';
import { createScanner, type JSONScanner } from 'jsonc-parser';
import type { Context } from 'koa';
import bodyParser from 'koa-bodyparser';
import { badRequest, entityTooLarge, unsupportedMediaType } from '../api/status.ts';

const maxDepth = 100;

/** jsonc-parser's `SyntaxKind`: a const enum, which code that is only stripped of its types cannot import. */
const kinds = { openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, comma: 5, string: 10, number: 11, unknown: 16, end: 17 };

const decoder = new TextDecoder('utf-8', { fatal: true });

const tooLarge = (limit: number) => entityTooLarge(`the body is larger than ${limit} bytes`);

/** The announced length decides before a byte is read; a body without one is cut at the limit. */
export function checkLength(request: IncomingMessage, limit: number): void {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) throw tooLarge(limit);
}

/** Whether a request has a body (RFC 9112, 6.3). */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/**
 * The rest of a body that is not wanted is not read, and the connection cannot be used again. The end of a request without one may yet be
 * parsed: that keeps its connection.
 */
export function closeOnUnreadBody(ctx: Context): void {
  if (hasBody(ctx.req) && !ctx.req.complete) ctx.set('Connection', 'close');
}

export interface BodyRules {
  limit: number;
  mediaTypes: readonly string[];
}

/**
 * Reads the bodies of one operation, for `decodeJson`; undefined if there is no body.
 *
 * @throws StatusError 415 for another media type or any Content-Encoding, 413 over the limit, 400 for what is no text
 */
export function bodyTextReader(rules: BodyRules): (ctx: Context) => Promise<string | undefined> {
  const readText = textReader(rules);
  return async (ctx) => (hasBody(ctx.req) ? readText(ctx) : undefined);
}

/**
 * Reads the fields of one HTML form (`application/x-www-form-urlencoded`).
 *
 * @throws StatusError 415 for another media type or any Content-Encoding, 413 over the limit, 400 for what is no text
 */
export function formReader(limit: number): (ctx: Context) => Promise<URLSearchParams> {
  const readText = textReader({ limit, mediaTypes: ['application/x-www-form-urlencoded'] });
  return async (ctx) => new URLSearchParams(await readText(ctx));
}

/**
 * koa-bodyparser reads the bytes, within the limit and the announced length. Its parsers are not used: they take duplicate keys and
 * mend invalid UTF-8, and hang the whole body on their errors, passwords included.
 */
function textReader({ limit, mediaTypes }: BodyRules): (ctx: Context) => Promise<string> {
  const options = {
    enableTypes: ['text'],
    extendTypes: { text: [...mediaTypes] },
    textLimit: `${limit}b`,
    encoding: null,
    onerror(error: Error) {
      throw 'type' in error && error.type === 'entity.too.large' ? tooLarge(limit) : notText();
    },
  };
  const parse = bodyParser(options);
  return async (ctx) => {
    checkLength(ctx.req, limit);
    checkMediaType(ctx.req, mediaTypes);
    await parse(ctx, async () => undefined);
    const { rawBody } = ctx.request;
    if (!Buffer.isBuffer(rawBody)) throw unsupportedMediaType(mediaTypes);
    try {
      return decoder.decode(rawBody);
    } catch {
      throw notText();
    }
  };
}

function checkMediaType(request: IncomingMessage, accepted: readonly string[]): void {
  const mediaType = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (request.headers['content-encoding'] !== undefined || !accepted.includes(mediaType)) throw unsupportedMediaType(accepted);
}

const notText = () => badRequest('the body could not be read as UTF-8 text of the announced length');

const notJson = () => badRequest('the body is not valid JSON');

/**
 * @throws StatusError 400 for what is not strict JSON: duplicate keys, deeper than 100 levels, numbers out of range, lone surrogates, and
 *   keys that would reach an object's prototype
 */
export function decodeJson(text: string): unknown {
  checkTokens(createScanner(text, true));
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
}

/** `JSON.parse` takes the last of equal keys, any depth and 1e999; this pass over the tokens does not, and never recurses. */
function checkTokens(scanner: JSONScanner): void {
  const keys: (Set<string> | undefined)[] = [];
  for (let previous = kinds.unknown, token: number = scanner.scan(); token !== kinds.end; previous = token, token = scanner.scan()) {
    if (token === kinds.openBrace) keys.push(new Set());
    else if (token === kinds.openBracket) keys.push(undefined);
    else if (token === kinds.closeBrace || token === kinds.closeBracket) keys.pop();
    else if (token === kinds.string) checkString(scanner.getTokenValue(), isKeyPlace(previous) ? keys.at(-1) : undefined);
    else if (token === kinds.number && !Number.isFinite(Number(scanner.getTokenValue())))
      throw badRequest('the body holds a number out of range');
    if (keys.length > maxDepth) throw badRequest(`the body is nested deeper than ${maxDepth} levels`);
  }
}

const isKeyPlace = (previous: number) => previous === kinds.openBrace || previous === kinds.comma;

function checkString(value: string, keys: Set<string> | undefined): void {
  if (!value.isWellFormed()) throw badRequest('the body holds text that is not well-formed Unicode');
  if (keys === undefined) return;
  if (value === '__proto__' || value === 'constructor') throw badRequest(`the body holds the key "${value}", which is not accepted`);
  if (keys.has(value)) throw badRequest(`the body holds the key ${JSON.stringify(value.slice(0, 64))} twice`);
  keys.add(value);
}
