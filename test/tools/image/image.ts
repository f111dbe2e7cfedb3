import { execFile } from 'node:child_process';
import { chmod, copyFile, cp, mkdir, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { last, parseDockerfile, type Stage } from './dockerfile.ts';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../../', import.meta.url));

/** Libraries of the base `distroless/cc` that the runtime is linked with. */
const librariesOfBase = [
  'libc.so.6',
  'libdl.so.2',
  'libm.so.6',
  'libpthread.so.0',
  'libstdc++.so.6',
  'libgcc_s.so.1',
  'ld-linux-x86-64.so.2',
];

export interface Image {
  /** Folder with all files, including the base. */
  root: string;
  /** Folder with the files that the Dockerfile adds. */
  added: string;
  /** Shared libraries that the runtime needs and neither the base nor the image has. */
  missingLibraries: string[];
  /** `uid:gid` */
  user: string;
  entrypoint: readonly string[];
  command: readonly string[];
  environment: Readonly<Record<string, string>>;
  workingDirectory: string;
  labels: string;
}

/**
 * Runs the steps of the Dockerfile, in order, in a clean folder. COPY takes only files of the work tree that .dockerignore lets through.
 * A shell there runs RUN. The base images are not available without a registry: the first stage runs on this machine, and the last one
 * gets this machine's copies of the files that its base is known to have.
 *
 * @param directory must be accessible to all users
 */
export async function buildImage(directory: string): Promise<Image> {
  const [build, final] = parseDockerfile(await readFile(join(repository, 'Dockerfile'), 'utf8'));
  if (build === undefined || final === undefined) throw new Error('the Dockerfile has two stages');
  const home = join(directory, 'build');
  await runStage(build, home);
  const added = join(home, 'image');
  const root = join(directory, 'root');
  await baseFiles(root, join(added, 'usr/local/bin/node'));
  if (!final.instructions.some(({ name, text }) => name === 'COPY' && text === `--from=${build.as} /build/image/ /`))
    throw new Error('the last stage takes the folder image/ of the first, whole');
  await cp(added, root, { recursive: true });
  const needed = await librariesOf(join(added, 'usr/local/bin/node'));
  const own = await run('ls', [join(added, 'usr/lib')]);
  return {
    root,
    added,
    missingLibraries: needed
      .map((path) => basename(path))
      .filter((name) => ![...librariesOfBase, ...own.stdout.split('\n')].includes(name)),
    user: last(final, 'USER') ?? '0:0',
    entrypoint: listOf(last(final, 'ENTRYPOINT')),
    command: listOf(last(final, 'CMD')),
    environment: Object.fromEntries((last(final, 'ENV') ?? '').split(/\s+/).map((pair) => pair.split(/=(.*)/, 2) as [string, string])),
    workingDirectory: last(final, 'WORKDIR') ?? '/',
    labels: last(final, 'LABEL') ?? '',
  };
}

const listOf = (json = '[]'): string[] => JSON.parse(json);

async function runStage({ instructions }: Stage, home: string): Promise<void> {
  await mkdir(home, { recursive: true });
  const allowed = (await readFile(join(repository, '.dockerignore'), 'utf8')).match(/(?<=^!).*$/gm) ?? [];
  for (const { name, text } of instructions) {
    if (name === 'RUN') await run('sh', ['-c', text], { cwd: home, maxBuffer: 1 << 26 });
    else if (name === 'COPY') await copyIn(text.split(/\s+/), home, allowed);
    else if (name !== 'WORKDIR') throw new Error(`the first stage of the Dockerfile has a step that this does not know: ${name}`);
  }
}

async function copyIn(paths: readonly string[], home: string, allowed: readonly string[]): Promise<void> {
  const target = paths.at(-1) ?? '';
  for (const source of paths.slice(0, -1)) {
    if (!allowed.some((path) => source === path || source.startsWith(`${path}/`))) throw new Error(`.dockerignore hides ${source}`);
    const isFolder = target.endsWith('/');
    const path = join(home, target, isFolder ? basename(source) : '');
    await mkdir(dirname(path), { recursive: true });
    await cp(join(repository, source), path, { recursive: true });
  }
}

/** Copies the C library and the certificate authorities, and creates the folders that a container engine mounts over. */
async function baseFiles(root: string, node: string): Promise<void> {
  const folders = [
    'app',
    'dev',
    'proc',
    'tmp',
    'etc/atrium',
    'etc/ssl/certs',
    'var/run/secrets/kubernetes.io/serviceaccount',
    'usr/lib',
    'lib64',
  ];
  for (const folder of folders) await mkdir(join(root, folder), { recursive: true });
  await chmod(root, 0o755);
  await copyFile('/etc/ssl/certs/ca-certificates.crt', join(root, 'etc/ssl/certs/ca-certificates.crt'));
  for (const path of await librariesOf(node)) {
    const name = basename(path);
    if (librariesOfBase.includes(name))
      await copyFile(await realpath(path), join(root, name.startsWith('ld-') ? 'lib64' : 'usr/lib', name));
  }
}

/** Returns the paths of the shared libraries of a program. */
async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await run('ldd', [program]);
  return stdout.match(/\/\S+(?= \()/g) ?? [];
}
