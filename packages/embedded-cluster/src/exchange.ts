/** Request and answer: the body that was received, the JSON that is sent, and refusals in the words of the API server. */
import { entityTooLarge, type GroupResource, StatusError } from '@atrium/objects/status.ts';
import { warningHeaders } from '@atrium/objects/write-options.ts';
import getRawBody from 'raw-body';
import { parseJson } from './decode.ts';
import type { JsonObject } from './objects.ts';
import { decodeProtobuf } from './protobuf.ts';
import type { Exchange } from './resources.ts';

const maximumBodyBytes = 3 * 1024 * 1024;
const jsonType = 'application/json';
const protobufType = 'application/vnd.kubernetes.protobuf';

/** Reads the whole body. @throws StatusError 413 */
export async function bodyBytes({ request }: Exchange): Promise<Buffer> {
  try {
    return await getRawBody(request, { limit: maximumBodyBytes });
  } catch (error) {
    const isTooLarge = error instanceof Error && 'type' in error && error.type === 'entity.too.large';
    if (isTooLarge) throw entityTooLarge(`Request entity too large: limit is ${maximumBodyBytes}`);
    throw new StatusError(400, 'BadRequest', 'the body could not be read', { cause: error });
  }
}

/** Reads the object in the body, undefined without a body. `kind` is the expected kind. @throws StatusError 400, 413 or 415 */
export async function bodyObject(exchange: Exchange, kind: string): Promise<JsonObject | undefined> {
  const [mediaType = ''] = (exchange.request.headers['content-type'] || jsonType).split(';');
  const bytes = await bodyBytes(exchange);
  if (bytes.length === 0) return undefined;
  const given = mediaType.trim().toLowerCase();
  if (given === jsonType) return parseJson(bytes.toString(), kind);
  const decoded = given === protobufType ? decodeProtobuf(bytes) : undefined;
  if (!decoded) throw bodyFormatUnknown(given === protobufType ? [jsonType] : [jsonType, protobufType]);
  return decoded;
}

/** Reads an object whose body is required. */
export async function requiredObject(exchange: Exchange, kind: string): Promise<JsonObject> {
  return (await bodyObject(exchange, kind)) ?? parseJson('', kind);
}

export function sendJson(exchange: Pick<Exchange, 'request' | 'response'>, code: number, body: unknown, contentType = jsonType): void {
  sendBytes(exchange, code, contentType, Buffer.from(`${JSON.stringify(body)}\n`));
}

export function sendBytes(
  { request, response }: Pick<Exchange, 'request' | 'response'>,
  code: number,
  contentType: string,
  bytes: Buffer,
): void {
  response.writeHead(code, { 'Content-Type': contentType, 'Content-Length': bytes.length, 'Cache-Control': 'no-cache, private' });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

export function sendText({ request, response }: Pick<Exchange, 'request' | 'response'>, code: number, text: string): void {
  response.writeHead(code, { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' });
  response.end(request.method === 'HEAD' ? undefined : text);
}

/** Adds a warning header, whose text kubectl shows. */
export function addWarning({ response }: Pick<Exchange, 'response'>, text: string): void {
  response.appendHeader('Warning', warningHeaders([text]));
}

export const pathUnknown = () => new StatusError(404, 'NotFound', 'the server could not find the requested resource', { details: {} });

export const methodRefused = () =>
  new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', { details: {} });

/** 405 for a custom resource, which is named by its resource. */
export const verbRefused = (verb: string, { group, resource }: GroupResource) =>
  new StatusError(405, 'MethodNotAllowed', `${verb} is not supported on resources of kind "${resource}.${group}"`, {
    details: { group, kind: resource },
  });

/** Returns a 500 without a reason, as upstream answers for some mistakes of the client. */
export function unclassified(message: string): StatusError {
  const error = new StatusError(500, 'InternalError', message);
  delete error.status.reason;
  return error;
}

/** `accepted` are media types. */
export const bodyFormatUnknown = (accepted: readonly string[]) =>
  new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
