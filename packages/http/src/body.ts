import type { IncomingMessage } from 'node:http';
import { badRequest, entityTooLarge, unsupportedMediaType } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import bodyParser from 'koa-bodyparser';

const maxDepth = 100;
/** Three times the tokens of the largest body of an operation, a group of 5,000 members. Reading that many takes 10 ms. */
const maxTokens = 2 ** 16;

const decoder = new TextDecoder('utf-8', { fatal: true });

const tooLarge = (limit: number) => entityTooLarge(`the body is larger than ${limit} bytes`);

/** The announced length decides before a byte is read; a body without one is cut at the limit. */
export function checkLength(request: IncomingMessage, limit: number): void {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) throw tooLarge(limit);
}

/** Reports whether a request has a body (RFC 9112, 6.3). */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/**
 * Waits until the body has arrived, or as much of it as Node.js takes before it is read.
 *
 * @throws the signal's reason
 */
export async function bodyArrival(request: IncomingMessage, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => {
    if (request.complete || request.readableLength >= request.readableHighWaterMark || signal.aborted) resolve();
  };
  look();
  // Each new listener gets the event at once.
  request.on('readable', look);
  signal.addEventListener('abort', look);
  await promise;
  request.off('readable', look);
  signal.removeEventListener('abort', look);
  signal.throwIfAborted();
}

/** Gives the place of a request back while its body arrives. @returns a function that waits for a place again */
export function leavePlaceUntilArrival({ req, state: { lifetime } }: Context): () => Promise<void> {
  if (req.complete) return async () => undefined;
  lifetime.leavePlace();
  return () => lifetime.retakePlace();
}

/** Refuses a body where it has no meaning: proxies and servers disagree about its end. @throws StatusError 400 */
export function refuseBody(req: IncomingMessage, methods: readonly string[]): void {
  const { method = '' } = req;
  if (methods.includes(method) && hasBody(req)) throw badRequest(`a ${method} request must not have a body`);
}

/**
 * Closes the connection if the body of the request was not read. A request without a body keeps its connection, also before its end is
 * parsed.
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
 * @throws StatusError 415 for another media type or any Content-Encoding, 413 over the limit, 400 for invalid UTF-8
 */
export function bodyTextReader(rules: BodyRules): (ctx: Context) => Promise<string | undefined> {
  const readText = textReader(rules);
  return async (ctx) => (hasBody(ctx.req) ? readText(ctx) : undefined);
}

/**
 * Reads the bodies of one operation that are parsed elsewhere; undefined if there is no body.
 *
 * @throws StatusError 415 for another media type or any Content-Encoding, 413 over the limit
 */
export function bodyBytesReader(rules: BodyRules): (ctx: Context) => Promise<Buffer | undefined> {
  const readBytes = bytesReader(rules);
  return async (ctx) => (hasBody(ctx.req) ? readBytes(ctx) : undefined);
}

/**
 * Reads the fields of one HTML form (`application/x-www-form-urlencoded`).
 *
 * @throws StatusError 415 for another media type or any Content-Encoding, 413 over the limit, 400 for what is no text
 */
export function formReader(limit: number): (ctx: Context) => Promise<URLSearchParams> {
  const readText = textReader({ limit, mediaTypes: ['application/x-www-form-urlencoded'] });
  return async (ctx) => {
    const text = await readText(ctx);
    // Forms have credentials.
    ctx.state.bodyBytes = undefined;
    return new URLSearchParams(text);
  };
}

/**
 * koa-bodyparser reads the bytes, within the limit and the announced length. Its parsers are not used: they take duplicate keys and
 * mend invalid UTF-8, and hang the whole body on their errors, passwords included.
 */
function bytesReader({ limit, mediaTypes }: BodyRules): (ctx: Context) => Promise<Buffer> {
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
    const arrived = leavePlaceUntilArrival(ctx);
    await parse(ctx, async () => undefined);
    await arrived();
    const { rawBody } = ctx.request;
    if (!Buffer.isBuffer(rawBody)) throw unsupportedMediaType(mediaTypes);
    ctx.state.bodyBytes = rawBody.length;
    return rawBody;
  };
}

function textReader(rules: BodyRules): (ctx: Context) => Promise<string> {
  const readBytes = bytesReader(rules);
  return async (ctx) => {
    const bytes = await readBytes(ctx);
    try {
      return decoder.decode(bytes);
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
  checkTokens(text);
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
}

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
const spaces = /[ \n\r\t]*/y;
const isQuote = (code: number) => code === 0x22;
const isSign = (code: number) => code === 0x2c || code === 0x3a || code === 0x5b || code === 0x5d || code === 0x7b || code === 0x7d;
/** A number or literal name, with all that stands behind it up to a sign, a string or a space. */
const word = /(?:-?\d|true|false|null)[^ \t\n\r{}[\],:"]*/y;

/**
 * Checks what `JSON.parse` does not: it takes the last of equal names, any depth, any number of values and 1e999. Each character is looked
 * at once. `JSON.parse` refuses invalid JSON, and gets no more than `maxTokens`.
 *
 * @see RFC 8259, section 2
 */
function checkTokens(text: string): void {
  const names: (Set<string> | undefined)[] = [];
  let tokens = 0;
  let isNamePlace = false;
  for (let at = 0, end = 0; at < text.length; at = end) {
    const code = text.charCodeAt(at);
    end = at + 1;
    if (isSpace(code)) {
      spaces.lastIndex = at;
      spaces.test(text);
      end = spaces.lastIndex;
      continue;
    }
    tokens += 1;
    if (tokens > maxTokens) throw badRequest(`the body contains more than ${maxTokens} JSON tokens: names, values and signs`);
    if (isQuote(code)) {
      end = endOfString(text, at);
      checkString(text.slice(at, end), isNamePlace ? names.at(-1) : undefined);
    } else if (isSign(code)) nest(names, text.charAt(at));
    else {
      word.lastIndex = at;
      const [found = ''] = word.exec(text) ?? [];
      checkWord(found);
      end = at + found.length;
    }
    isNamePlace = code === 0x7b || code === 0x2c;
  }
}

/** Past the quotation mark that no backslash escapes. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (isQuote(code)) return at + 1;
    at += code === 0x5c ? 2 : 1;
  }
  throw notJson();
}

function nest(names: (Set<string> | undefined)[], sign: string): void {
  if (sign === '}' || sign === ']') names.pop();
  else if (sign === '{') names.push(new Set());
  else if (sign === '[') names.push(undefined);
  if (names.length > maxDepth) throw badRequest(`the body is nested deeper than ${maxDepth} levels`);
}

function checkWord(found: string): void {
  if (found === '') throw notJson();
  if (Number(found) === Infinity || Number(found) === -Infinity) throw badRequest('the body contains a number out of range');
}

function checkString(quoted: string, names: Set<string> | undefined): void {
  // A body is UTF-8, so that only `\u` can name half of a pair.
  if (names === undefined && !quoted.includes('\\u')) return;
  const value = quoted.includes('\\') ? unescaped(quoted) : quoted.slice(1, -1);
  if (!value.isWellFormed()) throw badRequest('the body contains text that is not well-formed Unicode');
  if (names === undefined) return;
  if (value === '__proto__' || value === 'constructor') throw badRequest(`the body contains the key "${value}", which is not accepted`);
  if (names.has(value)) throw badRequest(`the body contains the key ${JSON.stringify(value.slice(0, 64))} twice`);
  names.add(value);
}

function unescaped(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    throw notJson();
  }
}
