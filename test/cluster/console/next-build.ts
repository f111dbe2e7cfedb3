/** A console of a next build: the present one, with other names of all files that are named by their contents. */
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const present = fileURLToPath(new URL('../../../web/dist', import.meta.url));
const hashes = /-([0-9a-f]{8})(?=\.)/g;
const reversed = (text: string) => text.replaceAll(hashes, (_, hash: string) => `-${[...hash].reverse().join('')}`);

/** Returns the folder of the console, and a function that removes it. Encodings of files are left out. */
export async function nextConsole(): Promise<{ pages: string; remove: () => Promise<void> }> {
  const pages = await mkdtemp(join(tmpdir(), 'atrium-next-'));
  await cp(present, pages, { recursive: true, filter: (path) => !/\.(?:br|gz)$/.test(path) });
  for (const entry of await readdir(pages, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    if (/\.(?:js|css|html)$/.test(entry.name)) await writeFile(path, reversed(await readFile(path, 'utf8')));
    await rename(path, join(entry.parentPath, reversed(entry.name)));
  }
  return { pages, remove: () => rm(pages, { recursive: true, force: true }) };
}
