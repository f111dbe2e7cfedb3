import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** One file, as it was when the directory was read. */
export interface StaticContent {
  readonly size: number;
  /** Strong, of the bytes. */
  readonly etag: string;
  readonly modified: Date;
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

/**
 * Reads a directory with everything below it. Left out are dot files, links that lead out of the root, and what is neither file nor
 * directory. Links inside are followed: a mounted ConfigMap consists of them.
 *
 * @param memoryLimit bytes; files that no longer fit stay on disk
 * @throws Error if the root cannot be read
 */
export async function readStaticDirectory(directory: string, memoryLimit: number): Promise<StaticTree> {
  const root = await realpath(directory);
  const files = new Map<string, StaticContent>();
  const directories = new Set<string>();
  const unreadable: string[] = [];
  let room = memoryLimit;

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
    if (!stats.isFile()) return;
    const isKept = stats.size <= room;
    if (isKept) room -= stats.size;
    files.set(name, await readContent(target, stats, isKept));
  };
  await enter(root, '', [root]);
  return { files, directories, unreadable };
}

async function readContent(path: string, { size, mtime }: { size: number; mtime: Date }, isKept: boolean): Promise<StaticContent> {
  const sha256 = createHash('sha256');
  if (!isKept) {
    await pipeline(createReadStream(path), sha256);
    return { size, modified: mtime, etag: etagOf(sha256.digest('hex')), source: { path } };
  }
  const bytes = await readFile(path);
  return { size: bytes.length, modified: mtime, etag: etagOf(sha256.update(bytes).digest('hex')), source: bytes };
}

const etagOf = (digest: string) => `"${digest.slice(0, 32)}"`;
