import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../../../scripts/build.ts', import.meta.url));

/** Builds like `npm run build`, in a folder that `remove` deletes: the program for users' machines, and that of the service. */
export async function buildPlugin(): Promise<{ path: string; service: string; remove(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-plugin-'));
  await run(process.execPath, [script, '--outfile', join(directory, 'atrium.js')], { timeout: 240_000 });
  return {
    path: join(directory, 'kubectl-atrium'),
    service: join(directory, 'atrium.js'),
    remove: () => rm(directory, { recursive: true }),
  };
}
