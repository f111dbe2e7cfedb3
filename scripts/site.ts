/**
 * Builds the documentation as a site, with navigation and search. The generator is installed once, in a cache.
 *
 * Run: npm run site; npm run site -- serve
 */
import './help.ts';
import { execFileSync, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const requirements = join(root, 'scripts/site/requirements.txt');
const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
const environment = join(cache, `atrium-site-${hash('sha256', readFileSync(requirements)).slice(0, 12)}`);

if (!existsSync(join(environment, 'done'))) {
  rmSync(environment, { recursive: true, force: true });
  execFileSync('python3', ['-m', 'venv', environment]);
  execFileSync(join(environment, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--requirement', requirements], { stdio: 'inherit' });
  writeFileSync(join(environment, 'done'), '');
}

const [command = 'build', ...options] = process.argv.slice(2);
// Material announces its successor at each run.
const env = { ...process.env, NO_MKDOCS_2_WARNING: '1', PYTHONDONTWRITEBYTECODE: '1' };
const { status } = spawnSync(join(environment, 'bin/python'), ['-m', 'mkdocs', command, ...options], { cwd: root, env, stdio: 'inherit' });
process.exitCode = status ?? 1;
