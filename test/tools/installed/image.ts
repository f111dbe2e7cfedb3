import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, copyFile, cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { last, parseDockerfile } from '../image/dockerfile.ts';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../../', import.meta.url));

/** An image as a container engine has it: its files, and the default entry point and arguments. */
export interface Image {
  /** Paths on this machine by paths in the container. The files are readable for all users, because the process is not root. */
  files: Readonly<Record<string, string>>;
  /** Targets of symbolic links by paths in the container. */
  links: Readonly<Record<string, string>>;
  entrypoint: readonly string[];
  args: readonly string[];
  environment: Readonly<Record<string, string>>;
  workingDirectory: string;
  user: number;
}

/**
 * Builds an image of this work tree without a container engine. User, environment and entry point are those of the Dockerfile, whose
 * steps test/tools/image runs. The image has the runtime from npm and the C library of this machine, and no shell.
 *
 * @param directory for the files of the image; all users must be able to enter it
 */
export async function atriumImage(directory: string): Promise<Image> {
  const app = join(directory, 'app');
  const node = join(directory, 'node');
  await mkdir(app, { recursive: true });
  await run('npm', ['run', 'build', '--', '--outfile', join(app, 'atrium.js')], { cwd: repository });
  await cp(join(repository, 'web/dist'), join(app, 'public'), { recursive: true });
  await copyFile(process.execPath, node);
  await chmod(node, 0o755);
  const stage = parseDockerfile(await readFile(join(repository, 'Dockerfile'), 'utf8')).at(-1);
  const said = (instruction: string) => stage && last(stage, instruction);
  const list = (instruction: string): string[] => JSON.parse(said(instruction) ?? '[]');
  return {
    files: {
      '/usr/lib': '/usr/lib',
      // The loader of the C library is here on some processors.
      ...(existsSync('/usr/lib64') && { '/usr/lib64': '/usr/lib64' }),
      '/usr/local/bin/node': node,
      '/app': app,
    },
    links: { '/lib': 'usr/lib', '/lib64': 'usr/lib64' },
    entrypoint: list('ENTRYPOINT'),
    args: list('CMD'),
    environment: {
      PATH: '/usr/local/bin',
      ...Object.fromEntries(
        said('ENV')
          ?.match(/\w+=\S+/g)
          ?.map((pair) => pair.split(/=(.*)/, 2)) ?? [],
      ),
    },
    workingDirectory: said('WORKDIR') ?? '/',
    user: Number.parseInt(said('USER') ?? '0', 10),
  };
}
