import { parseExact } from '@atrium/objects/json.ts';
import { reader } from '@atrium/objects/reader.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { ServiceClient } from './own-account.ts';
import { whileInstalled } from './own-account.ts';
import { isKubernetesObject, type KubernetesObject, type ResourceType, resourcePath } from './resource.ts';
import type { ApiCall, StreamCall } from './transport.ts';
import { UpstreamError } from './upstream-error.ts';

const newline = 0x0a;

/**
 * Decodes a stream of JSON values, one on each line, in chunks of any length. A value is returned once its line is complete; an incomplete
 * last line is dropped.
 */
export class JsonLines {
  readonly #maxLineBytes: number;
  readonly #parse: (text: string) => unknown;
  #begun: Uint8Array[] = [];
  #begunBytes = 0;

  constructor(maxLineBytes: number, parse: (text: string) => unknown = JSON.parse) {
    this.#maxLineBytes = maxLineBytes;
    this.#parse = parse;
  }

  /** Decodes a chunk. @throws Error for a line that is too long or no JSON in UTF-8, after the values before it */
  *push(chunk: Uint8Array): Generator<unknown, void, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      yield decodeLine(this.#takeLine(), this.#parse);
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  #keep(part: Uint8Array): void {
    this.#begunBytes += part.length;
    if (this.#begunBytes > this.#maxLineBytes) throw new Error(`a line is longer than ${this.#maxLineBytes} bytes`);
    this.#begun.push(part);
  }

  #takeLine(): Uint8Array {
    const line = this.#begun.length === 1 && this.#begun[0] !== undefined ? this.#begun[0] : Buffer.concat(this.#begun);
    this.#begun = [];
    this.#begunBytes = 0;
    return line;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeLine(line: Uint8Array, parse: (text: string) => unknown): unknown {
  try {
    return parse(utf8.decode(line));
  } catch {
    // The message of the parser quotes the line, which may hold secrets.
    throw new Error('a line is not JSON');
  }
}

/** Bound of a line. etcd stores no object above 1.5 MiB, and a line holds one with escapes. */
const maxLineBytes = 4 * 1024 * 1024;

/** Selection of objects that are listed and watched. */
export interface Selection {
  type: ResourceType;
  /** Default: all namespaces, or a resource without namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Requests only `metadata` of each object. */
  isMetadataOnly?: boolean;
  /** Reads integers that a double cannot hold as BigInt. */
  keepsDigits?: boolean;
}

export interface Page {
  objects: KubernetesObject[];
  resourceVersion: string;
}

/** An event of a watch. A bookmark has only the version up to which all events were sent. */
export type WatchEvent =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: KubernetesObject; resourceVersion: string }
  | { type: 'BOOKMARK'; resourceVersion: string };

interface Calling {
  client: ServiceClient;
  signal: AbortSignal;
}

/**
 * Lists all objects, page by page, as of one resource version.
 *
 * @param calling `isBeforeWatch`: see `ApiCall`
 * @throws UpstreamError 410 if the list expired while it was read, and has to be started again
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
export async function* listPages(
  { client, signal, isBeforeWatch = false }: Calling & Pick<ApiCall, 'isBeforeWatch'>,
  selection: Selection,
  pageSize: number,
): AsyncGenerator<Page, void, undefined> {
  const query = selectorsOf(selection);
  query.set('limit', String(pageSize));
  for (;;) {
    const call: ApiCall = {
      call: `list ${selection.type.resource}`,
      method: 'GET',
      path: pathOf(selection),
      query,
      accept: acceptOf(selection, 'PartialObjectMetadataList'),
      isBeforeWatch,
      keepsDigits: selection.keepsDigits ?? false,
      signal,
    };
    const list = await whileInstalled({ client, signal }, selection.type, () => client.request(call));
    const { page, next } = readPage(list);
    yield page;
    if (next === '') return;
    query.set('continue', next);
  }
}

const objectList = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().default('') }),
  // Items are checked below, in place, because zod would copy the list.
  items: z.custom<unknown[]>(Array.isArray).nullish(),
});

function readPage(list: unknown): { page: Page; next: string } {
  const { success, data } = objectList.safeParse(list);
  const objects: unknown[] = data?.items ?? [];
  if (!success || !objects.every(isKubernetesObject)) throw unusable('a list');
  return { page: { objects, resourceVersion: data.metadata.resourceVersion }, next: data.metadata.continue };
}

export interface WatchOptions {
  resourceVersion: string;
  /** Time after which the server ends the watch, so that a connection that was lost unnoticed does not last. */
  timeoutSeconds: number;
  /** Called for the headers of the answer and for every chunk, also if it completes no event. */
  onHeard: () => void;
}

/**
 * Yields the changes after a resource version, until the server ends the watch.
 *
 * @throws UpstreamError a refusal as status or in the stream; 410 requires a new list
 * @throws Error for anything but a complete event
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
export async function* watchEvents(
  { client, signal }: Calling,
  selection: Selection,
  { resourceVersion, timeoutSeconds, onHeard }: WatchOptions,
): AsyncGenerator<WatchEvent, void, undefined> {
  const query = selectorsOf(selection);
  query.set('watch', 'true');
  query.set('allowWatchBookmarks', 'true');
  query.set('resourceVersion', resourceVersion);
  query.set('timeoutSeconds', String(timeoutSeconds));
  const call: StreamCall = {
    call: `watch ${selection.type.resource}`,
    method: 'GET',
    path: pathOf(selection),
    query,
    accept: acceptOf(selection, 'PartialObjectMetadata'),
    isLong: true,
    signal,
  };
  const { body } = await whileInstalled({ client, signal }, selection.type, () => client.stream(call));
  onHeard();
  const lines = selection.keepsDigits ? new JsonLines(maxLineBytes, parseExact) : new JsonLines(maxLineBytes);
  for await (const chunk of body) {
    onHeard();
    for (const value of lines.push(chunk)) yield readEvent(value);
  }
}

const readType = reader(z.object({ type: z.string(), object: z.unknown() }));
const readBookmark = reader(z.object({ metadata: z.object({ resourceVersion: z.string() }) }));
const readCode = reader(z.object({ code: z.number() }));

function readEvent(value: unknown): WatchEvent {
  const { type, object } = readType(value);
  if (type === 'ERROR') throw errorOf(object);
  const { resourceVersion } = readBookmark(object).metadata ?? {};
  if (type === 'BOOKMARK' && resourceVersion !== undefined) return { type, resourceVersion };
  if ((type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') && isKubernetesObject(object)) {
    return { type, object, resourceVersion: object.metadata.resourceVersion };
  }
  throw unusable('a watch event');
}

function errorOf(status: unknown): Error {
  return new UpstreamError(readCode(status).code ?? 500, {}, JSON.stringify(status));
}

const unusable = (what: string) => serviceUnavailable('kubernetes', { cause: new Error(`${what} is not as the Kubernetes API says`) });

const pathOf = ({ type, namespace }: Selection) => resourcePath(type, namespace === undefined ? {} : { namespace });

function selectorsOf({ labelSelector, fieldSelector }: Selection): URLSearchParams {
  return new URLSearchParams({ ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) });
}

/** Returns the Accept header. A server without PartialObjectMetadata answers with whole objects. */
const acceptOf = ({ isMetadataOnly = false }: Selection, kind: string) =>
  isMetadataOnly ? `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json` : 'application/json';
