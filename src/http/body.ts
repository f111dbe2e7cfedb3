import type { IncomingMessage } from 'node:http';
import { createScanner, type JSONScanner } from 'jsonc-parser';
import getRawBody from 'raw-body';
import { badRequest, entityTooLarge, unsupportedMediaType } from './status.ts';

const maxDepth = 100;

/** jsonc-parser's `SyntaxKind`: a const enum, which code that is only stripped of its types cannot import. */
const kinds = { openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, comma: 5, string: 10, number: 11, unknown: 16, end: 17 };

const tooLarge = (limit: number) => entityTooLarge(`the body is larger than ${limit} bytes`);

/** The announced length decides before a byte is read; a body without one is cut at the limit. */
export function checkLength(request: IncomingMessage, limit: number): void {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) throw tooLarge(limit);
}

export interface BodyRules {
  limit: number;
  mediaTypes: readonly string[];
}

/**
 * Reads a JSON body.
 *
 * @returns the decoded value; undefined if there is no body
 * @throws StatusError 415 for another media type or any Content-Encoding, 413 over the limit, 400 for what is not strict JSON: duplicate
 *   keys, deeper than 100 levels, numbers out of range, lone surrogates, and keys that would reach an object's prototype
 */
export async function readJson(request: IncomingMessage, { limit, mediaTypes }: BodyRules): Promise<unknown> {
  checkLength(request, limit);
  const hasBody = request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
  if (!hasBody) return undefined;
  checkMediaType(request, mediaTypes);
  return decodeJson(await readText(request, limit));
}

/**
 * Reads the fields of an HTML form (`application/x-www-form-urlencoded`).
 *
 * @throws StatusError 415 for another media type or any Content-Encoding, 413 over the limit, 400 for what is no text
 */
export async function readForm(request: IncomingMessage, limit: number): Promise<URLSearchParams> {
  checkLength(request, limit);
  checkMediaType(request, ['application/x-www-form-urlencoded']);
  return new URLSearchParams(await readText(request, limit));
}

function checkMediaType(request: IncomingMessage, accepted: readonly string[]): void {
  const mediaType = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (request.headers['content-encoding'] !== undefined || !accepted.includes(mediaType)) throw unsupportedMediaType(accepted);
}

async function readText(request: IncomingMessage, limit: number): Promise<string> {
  try {
    const bytes = await getRawBody(request, { limit });
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof Error && 'type' in error && error.type === 'entity.too.large') throw tooLarge(limit);
    throw badRequest('the body could not be read as UTF-8 text of the announced length');
  }
}

const notJson = () => badRequest('the body is not valid JSON');

/** @throws StatusError 400 */
function decodeJson(text: string): unknown {
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
