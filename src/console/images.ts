import type { Caller } from '@atrium/http/caller.ts';
import { reportCache } from '@atrium/http/limits/reports.ts';
import { isGone, isRefusal } from '@atrium/kubernetes/upstream-error.ts';
import { subdomainPattern } from '@atrium/objects/labels.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { LRUCache } from 'lru-cache';
import type { Services } from '../services.ts';
import type { ConfigMap, ConfigMapContents, MapWithContents } from './config-map-labels.ts';
import type { ConfigMaps } from './config-maps.ts';

const begins = (bytes: Buffer, signature: string, at = 0): boolean => bytes.toString('latin1', at, at + signature.length) === signature;

/** RFC 9649 and ISO 14496-12: a file type box whose major or compatible brands name AVIF. */
function isAvif(bytes: Buffer): boolean {
  if (bytes.length < 16 || !begins(bytes, 'ftyp', 4)) return false;
  const end = Math.min(bytes.readUInt32BE(0), bytes.length, 256);
  for (let at = 8; at + 4 <= end; at += 4) {
    if (at !== 12 && /^avi[fs]$/.test(bytes.toString('latin1', at, at + 4))) return true;
  }
  return false;
}

/** Checks more than the two letters, which text may begin with: the reserved field is empty and the header has a known size. */
const isBmp = (bytes: Buffer): boolean =>
  bytes.length >= 26 &&
  begins(bytes, 'BM') &&
  bytes.readUInt32LE(6) === 0 &&
  [12, 40, 52, 56, 64, 108, 124].includes(bytes.readUInt32LE(14));

/** An icon directory with at least one entry, whose reserved byte is empty. */
const isIco = (bytes: Buffer): boolean =>
  bytes.length >= 22 && begins(bytes, '\0\0\x01\0') && bytes.readUInt16LE(4) > 0 && bytes.readUInt8(9) === 0;

const kinds: readonly { type: string; matches: (bytes: Buffer) => boolean }[] = [
  { type: 'image/png', matches: (bytes) => begins(bytes, '\x89PNG\r\n\x1a\n') },
  { type: 'image/jpeg', matches: (bytes) => begins(bytes, '\xff\xd8\xff') },
  { type: 'image/gif', matches: (bytes) => begins(bytes, 'GIF87a') || begins(bytes, 'GIF89a') },
  { type: 'image/webp', matches: (bytes) => begins(bytes, 'RIFF') && begins(bytes, 'WEBP', 8) },
  { type: 'image/avif', matches: isAvif },
  { type: 'image/x-icon', matches: isIco },
  { type: 'image/bmp', matches: isBmp },
  { type: 'image/svg+xml', matches: isSvg },
];

/** Returns the media type by the bytes alone, because names and declared types are only claims; undefined if browsers do not show it. */
const imageType = (bytes: Buffer): string | undefined => kinds.find(({ matches }) => matches(bytes))?.type;

function isSvg(bytes: Buffer): boolean {
  // Only a byte order mark, blanks and `<` may come first, so that large binaries are not decoded.
  if (!/^(?:\xef\xbb\xbf)?\s*</.test(bytes.toString('latin1', 0, 1024))) return false;
  try {
    return hasSvgRoot(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return false;
  }
}

/** Reports whether the root element is `svg`, after XML declaration, comments, processing instructions and document type (XML 1.0, 2.8). */
function hasSvgRoot(text: string): boolean {
  for (let at = 0; at >= 0; ) {
    at = afterBlanks(text, at);
    if (text.startsWith('<!--', at)) at = after(text, '-->', at + 4);
    else if (text.startsWith('<?', at)) at = after(text, '?>', at + 2);
    else if (text.startsWith('<!DOCTYPE', at)) at = afterDocumentType(text, at + 9);
    else return /^<(?:[A-Za-z_][\w.-]*:)?svg[\s/>]/.test(text.slice(at, at + 256));
  }
  return false;
}

function afterBlanks(text: string, from: number): number {
  const blanks = /[ \t\r\n]*/y;
  blanks.lastIndex = from;
  blanks.exec(text);
  return blanks.lastIndex;
}

/** Returns the position after the next `end`; -1 if it is missing. */
function after(text: string, end: string, from: number): number {
  const at = text.indexOf(end, from);
  return at < 0 ? -1 : at + end.length;
}

/** A document type ends at the first `>` outside quotes, comments and the brackets of its internal subset. */
function afterDocumentType(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at >= 0 && at < text.length; ) {
    const character = text[at] ?? '';
    if (character === '>' && depth === 0) return at + 1;
    if (character === '[') depth += 1;
    else if (character === ']') depth -= 1;
    if (character === '"' || character === "'") at = after(text, character, at + 1);
    else at = text.startsWith('<!--', at) ? after(text, '-->', at + 4) : at + 1;
  }
  return -1;
}

interface Image {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The images of one version of a ConfigMap, by key. */
type ImageSet = ReadonlyMap<string, Image>;

export interface FoundImage extends Image {
  readonly etag: string;
  readonly isPublic: boolean;
  readonly isStale: boolean;
}

export interface ImageQuestion {
  name: string;
  key: string;
  caller: Caller | undefined;
  signal: AbortSignal;
}

/** Bound of the decoded images in memory, in bytes. */
const maxBytes = 64 * 1024 * 1024;
const legalKey = /^(?!\.{1,2}$)[-._a-zA-Z0-9]{1,253}$/;

/** The same error for every missing image, which reveals nothing about private maps. */
const imageNotFound = () => new StatusError(404, 'NotFound', 'the image was not found', { details: { kind: 'configmaps' } });

/** Images in ConfigMaps. */
export class ConfigMapImages {
  readonly #configMaps: ConfigMaps;
  /** Images by version of the ConfigMap. */
  readonly #decoded = new LRUCache<string, ImageSet>({
    maxSize: maxBytes,
    sizeCalculation: (images) => [...images.values()].reduce((sum, { bytes }) => sum + bytes.length, 1024),
  });

  constructor({ metrics }: Services, configMaps: ConfigMaps) {
    this.#configMaps = configMaps;
    reportCache(metrics, 'images', () => this.#decoded.size);
  }

  /**
   * Returns the image of that name and key, from the first namespace where the caller may see one. Public maps come from the watch cache.
   * Other maps are read from the API server with the caller's own rights, so that its audit log shows the reader.
   *
   * @throws StatusError 404 with the same body for all reasons; 403 if the caller may get the map in no namespace, even if it does not
   *   exist; 401, 503 and 504 of the API server
   */
  async find({ name, key, caller, signal }: ImageQuestion): Promise<FoundImage> {
    if (name.length > 253 || !subdomainPattern.test(name) || !legalKey.test(key)) throw imageNotFound();
    let refusal: StatusError | undefined;
    let isSeen = caller === undefined;
    for (const namespace of this.#configMaps.imageNamespaces) {
      const isStale = this.#configMaps.isStale(namespace, caller);
      await this.#configMaps.firstList(namespace, signal);
      const found = await this.#mapIn(namespace, name, caller, signal);
      if (found instanceof StatusError) {
        if (found.status.code === 403) refusal ??= found;
        else isSeen = true;
        continue;
      }
      isSeen = true;
      const image = found && this.#imagesOf(found).get(key);
      if (found && image) return { ...image, etag: `"${versionOf(found)}.${key}"`, isPublic: found.isPublic, isStale };
    }
    throw isSeen || refusal === undefined ? imageNotFound() : refusal;
  }

  /** Returns the map as the caller sees it; undefined for anonymous callers if it is not public; the API server's 403 or 404. */
  async #mapIn(
    namespace: string,
    name: string,
    caller: Caller | undefined,
    signal: AbortSignal,
  ): Promise<MapWithContents | StatusError | undefined> {
    const known = this.#configMaps.get(namespace, name);
    if (known?.isPublic && known.contents) return { ...known, contents: known.contents };
    if (caller === undefined) return undefined;
    try {
      return await this.#configMaps.readAs(caller, { namespace, name }, signal);
    } catch (error) {
      if (isRefusal(error, 403) || isGone(error, { group: '', resource: 'configmaps' }, name)) return error;
      throw error;
    }
  }

  #imagesOf(map: MapWithContents): ImageSet {
    const version = versionOf(map);
    const known = this.#decoded.get(version);
    if (known !== undefined) return known;
    const images = decodeImages(map.contents);
    this.#decoded.set(version, images);
    return images;
  }
}

const versionOf = ({ uid, resourceVersion }: ConfigMap) => `${uid}.${resourceVersion}`;

function decodeImages({ data, binaryData }: ConfigMapContents): Map<string, Image> {
  const images = new Map<string, Image>();
  const add = (key: string, bytes: Buffer | undefined) => {
    const type = bytes && imageType(bytes);
    if (bytes && type) images.set(key, { type, bytes });
  };
  for (const [key, text] of data) add(key, bytesOf(text));
  for (const [key, base64] of binaryData) add(key, Buffer.from(base64, 'base64'));
  return images;
}

/** Returns the bytes of a text that may be an image: a data URI, markup, or only base64. */
function bytesOf(text: string): Buffer | undefined {
  if (/^\ufeff?\s*</.test(text)) return Buffer.from(text);
  const base64 = text.replace(/^data:image\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]*)*;base64,/, '').replaceAll(/\s+/g, '');
  return base64.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? Buffer.from(base64, 'base64') : undefined;
}
