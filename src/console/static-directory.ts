import { createHash, hash } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** One file, as it was when the directory was read. */
export interface StaticContent {
  readonly size: number;
  /** Strong, of the bytes. */
  readonly etag: string;
  readonly modified: Date;
  /** The same as HTTP writes it. */
  readonly lastModified: string;
  /** The bytes, or where they are read from for each answer. */
  readonly source: Buffer | { readonly path: string };
}

export interface StaticTree {
  /** By path below the root, with `/` between, without one at the beginning. */
  readonly files: ReadonlyMap<string, StaticContent>;
  /** `''` is the root. */
  readonly directories: ReadonlySet<string>;
  /** What is there and could not be read. */
  readonly unreadable: readonly string[];
}

/** A file that was found. */
interface FoundFile {
  readonly name: string;
  /** Where it is, links followed. */
  readonly target: string;
  readonly stats: Stats;
}

interface FoundTree extends Pick<StaticTree, 'directories'> {
  readonly files: readonly FoundFile[];
  readonly unreadable: string[];
}

export interface ReadOptions {
  /** Bytes; files that no longer fit stay on disk. */
  memoryLimit: number;
  /** Which files may be changed as they are read. They are always held in memory. */
  isChanged(name: string): boolean;
  change(bytes: Buffer, name: string): Buffer;
}

/**
 * Reads a directory with everything below it. Left out are dot files, links that lead out of the root, and what is neither file nor
 * directory. Links inside are followed: a mounted ConfigMap consists of them.
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

/** The paths of all files, by which they are asked for. @throws Error if the root cannot be read */
export const staticPathsIn = async (directory: string): Promise<string[]> => (await findFiles(directory)).files.map(({ name }) => name);

/**
 * Differs whenever something below the directory has been written, replaced or linked elsewhere. Reads no file.
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
    // A link to a directory that it stands in would never end.
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
