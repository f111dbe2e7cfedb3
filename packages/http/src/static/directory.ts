import { createHash, hash } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** A file at the time when the directory was read. */
export interface StaticContent {
  readonly size: number;
  /** Strong ETag of the bytes. */
  readonly etag: string;
  readonly modified: Date;
  /** `modified` in the format of HTTP. */
  readonly lastModified: string;
  /** Bytes, or the path of a file that is read for each answer. */
  readonly source: Buffer | { readonly path: string };
}

export interface StaticTree {
  /** Files by their path below the root, separated by `/`, without a leading slash. */
  readonly files: ReadonlyMap<string, StaticContent>;
  /** `''` is the root. */
  readonly directories: ReadonlySet<string>;
  /** Entries that could not be read. */
  readonly unreadable: readonly string[];
}

/** A file of the directory. */
interface FoundFile {
  readonly name: string;
  /** Path after links are resolved. */
  readonly target: string;
  readonly stats: Stats;
}

interface FoundTree extends Pick<StaticTree, 'directories'> {
  readonly files: readonly FoundFile[];
  readonly unreadable: string[];
}

export interface ReadOptions {
  /** Bytes in memory; larger files stay on disk. */
  memoryLimit: number;
  /** Selects files that `change` may replace while they are read. These are always in memory. */
  isChanged(name: string): boolean;
  change(bytes: Buffer, name: string): Buffer;
}

/**
 * Reads a directory recursively. Skips dot files, links out of the root, and entries that are neither file nor directory. Follows other
 * links, because a mounted ConfigMap consists of them.
 *
 * @throws Error if the root cannot be read
 */
export async function readStaticDirectory(directory: string, { memoryLimit, isChanged, change }: ReadOptions): Promise<StaticTree> {
  const { files: found, directories, unreadable } = await findFiles(directory);
  const files = new Map<string, StaticContent>();
  let room = memoryLimit;
  for (const file of found) {
    const { name, stats } = file;
    const changed = isChanged(name);
    const isKept = changed || stats.size <= room;
    if (isKept) room -= stats.size;
    try {
      files.set(name, isKept ? await heldContent(file, changed ? change : undefined) : await contentOnDisk(file));
    } catch {
      unreadable.push(name);
    }
  }
  return { files, directories, unreadable };
}

/** Returns the paths of all files. @throws Error if the root cannot be read */
export const staticPathsIn = async (directory: string): Promise<string[]> => (await findFiles(directory)).files.map(({ name }) => name);

/**
 * Returns a text that changes when an entry below the directory is written, replaced or relinked. Reads no file.
 *
 * @throws Error if the root cannot be read
 */
export async function fingerprintOf(directory: string): Promise<string> {
  const { files, unreadable } = await findFiles(directory);
  const lines = files.map(({ name, target, stats: { ino, size, mtimeMs, ctimeMs } }) => [name, target, ino, size, mtimeMs, ctimeMs]);
  return hash('sha256', JSON.stringify([lines, unreadable]));
}

async function findFiles(directory: string): Promise<FoundTree> {
  const root = await realpath(directory);
  const files: FoundFile[] = [];
  const directories = new Set<string>();
  const unreadable: string[] = [];

  const enter = async (path: string, name: string, above: readonly string[]): Promise<void> => {
    const entries = (await readdir(path)).filter((entry) => !entry.startsWith('.')).sort();
    directories.add(name);
    for (const entry of entries) {
      const entryName = name === '' ? entry : `${name}/${entry}`;
      await take(join(path, entry), entryName, above).catch(() => unreadable.push(entryName));
    }
  };
  const take = async (path: string, name: string, above: readonly string[]): Promise<void> => {
    const target = await realpath(path);
    // A link to one of its parent directories would never end.
    if (!target.startsWith(root.endsWith(sep) ? root : root + sep) || above.includes(target)) return;
    const stats = await stat(target);
    if (stats.isDirectory()) await enter(target, name, [...above, target]);
    if (stats.isFile()) files.push({ name, target, stats });
  };
  await enter(root, '', [root]);
  return { files, directories, unreadable };
}

async function heldContent({ name, target, stats }: FoundFile, change: ReadOptions['change'] | undefined): Promise<StaticContent> {
  const read = await readFile(target);
  const bytes = change ? change(read, name) : read;
  const { mtime } = stats;
  return { size: bytes.length, modified: mtime, lastModified: mtime.toUTCString(), etag: etagOf(hash('sha256', bytes)), source: bytes };
}

async function contentOnDisk({ target: path, stats: { size, mtime } }: FoundFile): Promise<StaticContent> {
  const sha256 = createHash('sha256');
  await pipeline(createReadStream(path), sha256);
  return { size, modified: mtime, lastModified: mtime.toUTCString(), etag: etagOf(sha256.digest('hex')), source: { path } };
}

const etagOf = (digest: string) => `"${digest.slice(0, 32)}"`;
