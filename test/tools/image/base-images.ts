import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, copyFile, cp, mkdir, realpath, rename, symlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Engine } from './engine.ts';

const run = promisify(execFile);
const authorities = '/etc/ssl/certs/ca-certificates.crt';

/** Release of Debian of both base images. */
const suite = 'trixie';
/** Packages that https://github.com/GoogleContainerTools/distroless names for `cc`, without their maintainer scripts. */
const baseOfService = ['base-files', 'libc6', 'libgcc-s1', 'libstdc++6', 'netbase', 'tzdata'];
const baseOfBuild = ['base-files', 'bash', 'coreutils', 'dash', 'grep', 'libatomic1', 'libc-bin', 'libstdc++6', 'mawk', 'sed'];

/**
 * Makes stand-ins for the base images of the Dockerfile, because no container registry can be reached where the tests run: from packages
 * of the same Debian release, with the runtime and npm of this machine in the image that builds.
 */
export async function makeBaseImages(engine: Engine, directory: string): Promise<{ build: string; base: string }> {
  const base = join(directory, 'base');
  await mkdir(join(base, 'etc/ssl/certs'), { recursive: true });
  await copyFile(await packagesIn(baseOfService), join(base, 'packages.tar'));
  await copyFile(authorities, join(base, authorities));
  await writeAccounts(base, { root: 0, nonroot: 65532 });
  await writeFile(join(base, 'Dockerfile'), 'FROM scratch\nADD packages.tar /\nCOPY etc /etc\nUSER 65532\nWORKDIR /home/nonroot\n');

  const build = join(directory, 'node');
  const local = join(build, 'usr/local');
  await mkdir(join(build, 'etc/ssl/certs'), { recursive: true });
  for (const folder of ['bin', 'lib/node_modules', 'etc']) await mkdir(join(local, folder), { recursive: true });
  await mkdir(join(build, 'usr/bin'));
  await copyFile(await packagesIn(baseOfBuild), join(build, 'packages.tar'));
  await copyFile(authorities, join(build, authorities));
  await writeAccounts(build, { root: 0 });
  const { stdout: npm } = await run('sh', ['-c', 'command -v npm']);
  await cp(join(await realpath(npm.trim()), '../..'), join(local, 'lib/node_modules/npm'), { recursive: true });
  await copyFile(process.execPath, join(local, 'bin/node'));
  const { stdout: registry } = await run('npm', ['config', 'get', 'registry']);
  await writeFile(join(local, 'etc/npmrc'), `registry=${registry.trim()}\ncafile=${authorities}\n`);
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'));
  await symlink('dash', join(build, 'usr/bin/sh'));
  await symlink('mawk', join(build, 'usr/bin/awk'));
  await writeFile(join(build, 'Dockerfile'), 'FROM scratch\nADD packages.tar /\nCOPY etc /etc\nCOPY usr /usr\nENV HOME=/root\n');

  const made = { base: 'localhost/base', build: 'localhost/node' };
  for (const [context, tag] of [
    [base, made.base],
    [build, made.build],
  ] as const)
    await engine.podman('build', '--isolation=chroot', '--network=host', '--layers=false', `--tag=${tag}`, context);
  return made;
}

async function writeAccounts(root: string, accounts: Readonly<Record<string, number>>): Promise<void> {
  const lines = (line: (name: string, id: number) => string) => Object.entries(accounts).map(([name, id]) => `${line(name, id)}\n`);
  await writeFile(join(root, 'etc/passwd'), lines((name, id) => `${name}:x:${id}:${id}::/home/${name}:/sbin/nologin`).join(''));
  await writeFile(join(root, 'etc/group'), lines((name, id) => `${name}:x:${id}:`).join(''));
}

/** Returns an archive with the files of packages and of those that they depend on. The first call fetches them. */
async function packagesIn(names: readonly string[]): Promise<string> {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'atrium-image-bases');
  const hash = createHash('sha256')
    .update([suite, ...names].join())
    .digest('hex');
  const archive = join(cache, `${hash.slice(0, 16)}.tar`);
  try {
    await access(archive);
  } catch {
    await mkdir(cache, { recursive: true });
    const unfinished = `${archive}.${process.pid}`;
    await run('mmdebstrap', ['--quiet', '--variant=extract', '--format=tar', `--include=${names.join()}`, suite, unfinished]);
    await rename(unfinished, archive);
  }
  return archive;
}
