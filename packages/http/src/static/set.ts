import { hash } from 'node:crypto';
import { badRequest, unknownPath } from '@atrium/objects/status.ts';
import { percentDecoded } from '@atrium/objects/validation.ts';
import { contentType } from 'mime-types';
import { immutable, isHashedName } from '../middleware/representation.ts';
import { reservedPath } from '../router.ts';
import { readStaticDirectory, type StaticContent, type StaticTree } from './directory.ts';

/** Segments that another decoding would change: never a page. */
const encodedTwice = /%[0-9a-f]{2}/i;

const maxLength = 2048;

/**
 * Returns the file that a request target names: decoded once, without the base path and the first slash. `''` is the root, `a/` is a
 * directory.
 *
 * Reads the unparsed target, because URL parsers remove `..` and turn `\` into `/`, which would hide refused paths.
 *
 * @throws StatusError 400 for a path that may lead out of the root, 404 for a path that cannot be a static file
 */
export function staticPath(target: string, basePath: string): string {
  const path = target.replace(/^[a-z][-+.a-z0-9]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  if (!path.startsWith(`${basePath}/`)) throw unknownPath();
  const decoded = percentDecoded(path.slice(basePath.length + 1));
  const segments = decoded.split('/');
  if (decoded.includes('\0') || decoded.includes('\\') || segments.includes('..') || /^[a-z]:/i.test(decoded)) {
    throw badRequest('the path must be plain: no "..", no backslash, no NUL, no drive letter');
  }
  const hasEmptySegment = segments.slice(0, -1).includes('');
  const hasDotFile = segments.some((segment) => segment.startsWith('.'));
  // Paths of operations in any spelling: an unknown operation must not return a page.
  const isUnfit = decoded.length > maxLength || encodedTwice.test(decoded) || reservedPath.test(`/${decoded}`);
  if (hasEmptySegment || hasDotFile || isUnfit) throw unknownPath();
  return decoded;
}

/** Encodings of precompressed files, such as `app.js.br` and `app.js.gz`. */
const sidecars = { br: '.br', gzip: '.gz' } as const;

export type Compression = keyof typeof sidecars;

/** A file with the headers of its answers. */
export interface StaticFile {
  readonly contentType: string;
  readonly isHtml: boolean;
  readonly cacheControl: string;
  readonly content: StaticContent;
  readonly compressed: Readonly<Partial<Record<Compression, StaticContent>>>;
}

/** The files of a console build that were read together. */
export interface StaticSet {
  readonly files: ReadonlyMap<string, StaticFile>;
  readonly directories: ReadonlySet<string>;
  /** Identifies the set. Changes with any of the files. */
  readonly build: string;
  readonly unreadable: readonly string[];
}

export const noFiles: StaticSet = { files: new Map(), directories: new Set(), build: '', unreadable: [] };

/** Placeholder for the base path in HTML files. */
const placeholder = '%BASE%';

/**
 * Reads a directory. Replaces `%BASE%` in HTML files by the base path, because deep links break relative addresses and the policy forbids
 * `<base>`.
 *
 * @param basePath '' or without its trailing slash
 * @throws Error if the root cannot be read
 */
export async function readStaticSet(directory: string, basePath: string, memoryLimit: number): Promise<StaticSet> {
  const base = escaped(`${basePath}/`);
  const changed = new Set<string>();
  const tree = await readStaticDirectory(directory, {
    memoryLimit,
    isChanged: (name) => isHtml(typeOf(name)),
    change(bytes, name) {
      // Latin-1 maps each byte to a character, in every encoding.
      const text = bytes.toString('latin1');
      if (!text.includes(placeholder)) return bytes;
      changed.add(name);
      return Buffer.from(
        text.replaceAll(placeholder, () => base),
        'latin1',
      );
    },
  });
  return {
    files: new Map([...tree.files].map(([path, content]) => [path, staticFile(path, content, changed.has(path) ? undefined : tree)])),
    directories: tree.directories,
    build: hash('sha256', [...tree.files].map(([path, { etag }]) => `${path} ${etag}\n`).join('')),
    unreadable: tree.unreadable,
  };
}

/** @param tree the tree with its precompressed files; undefined if these hold other bytes */
function staticFile(path: string, content: StaticContent, tree: StaticTree | undefined): StaticFile {
  const type = typeOf(path);
  const [br, gzip] = [tree?.files.get(path + sidecars.br), tree?.files.get(path + sidecars.gzip)];
  return {
    contentType: type,
    isHtml: isHtml(type),
    cacheControl: isPinned(path) ? immutable : 'no-cache',
    content,
    compressed: { ...(br && { br }), ...(gzip && { gzip }) },
  };
}

/** Reports whether the contents of a path never change. */
export const isPinned = (path: string): boolean => isHashedName(nameOf(path)) && !isHtml(typeOf(path));

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

function typeOf(path: string): string {
  const name = nameOf(path);
  return contentType(name.includes('.') ? name.slice(name.lastIndexOf('.')) : '') || 'application/octet-stream';
}

const isHtml = (type: string): boolean => /^(text\/html|application\/xhtml\+xml)\b/.test(type);

/** Escapes an address for attributes and text of HTML. */
const escaped = (address: string): string => address.replaceAll('&', '&amp;').replaceAll("'", '&#39;').replaceAll('"', '&quot;');
