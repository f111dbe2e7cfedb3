import { LRUCache } from 'lru-cache';
import type { Metrics } from '../http/metrics.ts';
import type { Caller } from '../http/operation.ts';
import { StatusError } from '../http/status.ts';
import type { ConfigMap, ConfigMapContents, ConfigMaps } from './config-maps.ts';
import { imageType } from './image-type.ts';

interface Image {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The images of one version of a ConfigMap, by key. */
interface ImageSet {
  readonly version: string;
  readonly images: ReadonlyMap<string, Image>;
}

export interface FoundImage {
  readonly etag: string;
  readonly isPublic: boolean;
  readonly isStale: boolean;
  /** Undefined if the caller has this very version already. */
  readonly image: Image | undefined;
}

export interface ImageQuestion {
  name: string;
  key: string;
  caller: Caller | undefined;
  /** The request's If-None-Match, or ''. */
  knownETags: string;
  signal: AbortSignal;
}

/** Decoded images are kept up to this many bytes. */
const maxBytes = 64 * 1024 * 1024;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const legalKey = /^(?!\.{1,2}$)[-._a-zA-Z0-9]{1,253}$/;

/** One and the same for whatever is missing, so that nothing is learnt of maps that are not public. */
const noImage = () => new StatusError(404, 'NotFound', 'the image was not found', { details: { kind: 'configmaps' } });

/** Images that stand in ConfigMaps. */
export class ConfigMapImages {
  readonly #configMaps: ConfigMaps;
  readonly #namespaces: readonly string[];
  readonly #decoded: LRUCache<string, ImageSet, ConfigMap>;

  constructor({ configMaps, namespaces, metrics }: { configMaps: ConfigMaps; namespaces: readonly string[]; metrics: Metrics }) {
    this.#configMaps = configMaps;
    this.#namespaces = namespaces;
    this.#decoded = new LRUCache<string, ImageSet, ConfigMap>({
      maxSize: maxBytes,
      sizeCalculation: ({ images }) => [...images.values()].reduce((sum, { bytes }) => sum + bytes.length, 1024),
      ignoreFetchAbort: true,
      fetchMethod: async (_version, _old, { context }) => {
        const { namespace, name } = context;
        // No caller's signal: several may wait for this one read, and one of them going away must not end it for the others.
        const map = context.contents ? context : await configMaps.read(namespace, name, new AbortController().signal);
        return { version: versionOf(map), images: map.contents ? decodeImages(map.contents) : new Map() };
      },
    });
    metrics.cache(() => ({ name: 'images', entries: this.#decoded.size }));
  }

  /**
   * The image of that name and key, in the first namespace where the caller sees one.
   *
   * @throws StatusError 404 with one body for all reasons; 403 if a caller may get the map in no namespace, whether it exists or not; 503
   */
  async find(question: ImageQuestion): Promise<FoundImage> {
    const { name, key, caller, signal } = question;
    if (name.length > 253 || !subdomain.test(name) || !legalKey.test(key)) throw noImage();
    // The session's cookie comes with an <img> by itself: nobody who logs in loses sight of what everybody sees.
    const seesPublic = caller === undefined || caller.session !== undefined;
    let isAllowed = seesPublic;
    for (const namespace of this.#namespaces) {
      const isStale = this.#configMaps.isStale(namespace, caller);
      const canGet = caller !== undefined && (await this.#configMaps.canGet(caller, namespace, name, signal));
      if (!canGet && !seesPublic) continue;
      isAllowed = true;
      await this.#configMaps.firstList(namespace, signal);
      const map = this.#configMaps.get(namespace, name);
      if (map === undefined || (!canGet && !map.isPublic)) continue;
      const found = await this.#imageIn(map, question);
      if (found !== undefined) return { ...found, isPublic: map.isPublic, isStale };
    }
    if (caller !== undefined && !isAllowed) await this.#configMaps.requireGet(caller, this.#namespaces[0] ?? '', name, signal);
    throw noImage();
  }

  async #imageIn(map: ConfigMap, { key, knownETags }: ImageQuestion): Promise<Pick<FoundImage, 'etag' | 'image'> | undefined> {
    const version = versionOf(map);
    const etag = `"${version}.${key}"`;
    if (map.contents === undefined && knownETags.includes(etag)) return { etag, image: undefined };
    const set = this.#decoded.get(version) ?? (await this.#read(version, map));
    const image = set?.images.get(key);
    return set && image && { etag: `"${set.version}.${key}"`, image };
  }

  async #read(version: string, map: ConfigMap): Promise<ImageSet | undefined> {
    try {
      return await this.#decoded.fetch(version, { context: map });
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 404) return undefined;
      throw error;
    }
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

/** Text that may be an image: a data URI, markup, or base64 from the first to the last character. */
function bytesOf(text: string): Buffer | undefined {
  if (/^\ufeff?\s*</.test(text)) return Buffer.from(text);
  const base64 = text.replace(/^data:image\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]*)*;base64,/, '').replaceAll(/\s+/g, '');
  return base64.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? Buffer.from(base64, 'base64') : undefined;
}
