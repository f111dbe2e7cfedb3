import { execFile } from 'node:child_process';
import { access, glob, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Returns the folder with `prometheus` and `promtool` of Debian. The first call downloads the package and unpacks it: to install it would start
 * a service on the machine.
 */
export async function prometheusPrograms(): Promise<string> {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'atrium-prometheus');
  const programs = join(folder, 'usr', 'bin');
  if (await exists(join(programs, 'promtool'))) return programs;
  const unfinished = `${folder}.${process.pid}`;
  try {
    await mkdir(unfinished, { recursive: true });
    await run('apt-get', ['-o', 'Acquire::Retries=3', 'update']);
    await run('apt-get', ['-o', 'Acquire::Retries=3', 'download', 'prometheus'], { cwd: unfinished });
    for await (const file of glob('*.deb', { cwd: unfinished })) await run('dpkg', ['-x', file, '.'], { cwd: unfinished });
    await rm(folder, { recursive: true, force: true });
    await rename(unfinished, folder);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return programs;
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

if (import.meta.main) {
  await prometheusPrograms()
    .then((programs) => console.log(programs))
    .catch((error: unknown) => {
      console.error(error instanceof Error ? error.message : error);
      process.exitCode = 1;
    });
}
