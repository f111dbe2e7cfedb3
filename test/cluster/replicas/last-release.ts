/** Builds the last release from the history, to run it beside the present build. */
import { execFile, execFileSync } from 'node:child_process';
import { access, cp, mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { installation, type Manifest } from '../../support/cluster-admin.ts';
import type { Build } from './installation.ts';

const run = promisify(execFile);
const cwd = fileURLToPath(new URL('../../../', import.meta.url));
const git = (...args: string[]) => execFileSync('git', args, { cwd, encoding: 'utf8', stdio: 'pipe', maxBuffer: 1 << 26 }).trim();

interface PastRelease {
  commit: string;
  version: string;
}

/**
 * Returns the release that the present build follows: the newest of the changelog before the present commit, which may be a release
 * itself. Its commit has the tag `vX.Y.Z`, or the subject `chore: release X.Y.Z` in a history without tags.
 *
 * @throws Error if the history does not have it, as in a shallow clone: a comparison of the present build with itself would prove nothing
 */
export function lastRelease(): PastRelease {
  const [, version] = /^## (\d+\.\d+\.\d+)$/m.exec(fromHistory('show', 'HEAD^:CHANGELOG.md')) ?? [];
  if (version === undefined) throw new Error('CHANGELOG.md of the commit before this one has no release');
  const subject = `^chore: release ${version.replaceAll('.', '\\.')}$`;
  const commit =
    fromHistory('for-each-ref', '--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)', `refs/tags/v${version}`) ||
    fromHistory('log', '--max-count=1', '--format=%H', `--grep=${subject}`, 'HEAD^');
  if (commit === '') throw new Error(`no commit of release ${version}: ${remedy}`);
  return { commit, version };
}

const remedy = 'tests beside the last release need the whole history (git fetch --unshallow --tags)';

function fromHistory(...args: string[]): string {
  try {
    return git(...args);
  } catch (error) {
    throw new Error(remedy, { cause: error });
  }
}

/** Returns the objects of an installation of a release: definitions, rights and policies. */
export async function objectsOf({ commit }: PastRelease): Promise<Manifest[]> {
  const folder = await mkdtemp(join(tmpdir(), 'atrium-release-'));
  try {
    await unpack(commit, folder, 'deploy');
    return await installation(pathToFileURL(join(folder, 'deploy/manifests/')));
  } finally {
    await rm(folder, { recursive: true });
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
    await unpack(commit, sources);
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

/** Writes the files of a commit into a folder. */
async function unpack(commit: string, folder: string, ...paths: string[]): Promise<void> {
  await run('git', ['archive', `--output=${folder}/sources.tar`, commit, ...paths], { cwd });
  await run('tar', ['--extract', '--file=sources.tar'], { cwd: folder });
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
