import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * Returns the folder of the packages of one suite, which its own package.json and lock file name. The first call installs them, so that
 * `npm ci` of the project does not.
 *
 * @param suite folder of the suite
 */
export async function ownPackages(suite: URL): Promise<string> {
  const source = fileURLToPath(suite);
  const lock = await readFile(join(source, 'package-lock.json'));
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const digest = createHash('sha256').update(lock).digest('hex').slice(0, 12);
  const folder = join(cache, `atrium-${basename(source)}-${digest}`);
  if (!existsSync(folder)) await install(source, folder, `${folder}.${process.pid}`);
  return join(folder, 'node_modules');
}

async function install(source: string, folder: string, unfinished: string): Promise<void> {
  try {
    await mkdir(unfinished, { recursive: true });
    for (const name of ['package.json', 'package-lock.json']) await copyFile(join(source, name), join(unfinished, name));
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: unfinished });
    await rename(unfinished, folder);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}
