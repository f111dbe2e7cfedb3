/** Builds the last release from the history, to run it beside the present build. */
import { execFile, execFileSync } from 'node:child_process';
import { access, cp, mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Build } from './installation.ts';

const run = promisify(execFile);
const cwd = fileURLToPath(new URL('../../../', import.meta.url));
const subject = 'chore: release ';

interface PastRelease {
  commit: string;
  version: string;
}

/**
 * Returns the newest release before the present commit, which may be a release itself. Undefined if the history does not reach it, as in
 * a shallow clone.
 */
export function lastRelease(): PastRelease | undefined {
  const log = ['log', '--max-count=1', '--format=%H %s', '--extended-regexp', `--grep=^${subject}[0-9]+\\.[0-9]+\\.[0-9]+$`, 'HEAD^'];
  try {
    const [commit = '', version] = execFileSync('git', log, { cwd, encoding: 'utf8', stdio: 'pipe' }).trim().split(` ${subject}`);
    return version === undefined ? undefined : { commit, version };
  } catch {
    return undefined;
  }
}

/** Returns the built service of a release, with its console. The first call builds both. */
export async function buildOf({ commit, version }: PastRelease): Promise<Build> {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'atrium-releases');
  const built = join(cache, `${commit}-with-console`);
  const build = { program: join(built, 'atrium.js'), pages: join(built, 'web') };
  if (await exists(built)) return build;
  console.error(`building ${version} of ${commit.slice(0, 8)} (once, a minute)`);
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(`${built}-`);
  const sources = await mkdtemp(join(tmpdir(), 'atrium-release-'));
  try {
    await run('git', ['archive', `--output=${sources}/sources.tar`, commit], { cwd });
    await run('tar', ['--extract', '--file=sources.tar'], { cwd: sources });
    await installPackages(sources);
    await run('npm', ['run', 'build', '--', `--outfile=${unfinished}/atrium.js`], { cwd: sources });
    await run('npm', ['run', 'web'], { cwd: sources });
    await cp(join(sources, 'web/dist'), join(unfinished, 'web'), { recursive: true });
    await rename(unfinished, built);
  } finally {
    await rm(sources, { recursive: true, force: true });
    await rm(unfinished, { recursive: true, force: true });
  }
  return build;
}

/** Links to the packages of this repository if they have the same versions. Workspaces are those of the release. */
async function installPackages(sources: string): Promise<void> {
  const [here, there] = await Promise.all([cwd, sources].map((folder) => readFile(join(folder, 'package-lock.json'), 'utf8')));
  if (here !== there) {
    await run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: sources });
    return;
  }
  const [from, to] = [join(cwd, 'node_modules'), join(sources, 'node_modules')];
  await mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const path = join(from, entry.name);
    await symlink(entry.isSymbolicLink() ? await readlink(path) : path, join(to, entry.name));
  }
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
