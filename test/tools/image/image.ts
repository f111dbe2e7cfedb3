import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { makeBaseImages } from './base-images.ts';
import type { Engine } from './engine.ts';

const repository = fileURLToPath(new URL('../../../', import.meta.url));
export const reference = 'localhost/atrium';
export const revision = '0123456789abcdef';

const configuration = z.object({
  Config: z.object({
    User: z.string(),
    Env: z.array(z.string()),
    Entrypoint: z.array(z.string()),
    Cmd: z.array(z.string()),
    WorkingDir: z.string(),
    Labels: z.record(z.string(), z.string()),
    ExposedPorts: z.record(z.string(), z.unknown()),
  }),
});
export type ImageConfiguration = z.infer<typeof configuration>['Config'];

/** Builds the Dockerfile of this repository, and returns the configuration of the image `reference`. */
export async function buildImage(engine: Engine, directory: string): Promise<ImageConfiguration> {
  const { build, base } = await makeBaseImages(engine, directory);
  const context = join(directory, 'context');
  await copyContext(context);
  await engine.podman(
    'build',
    // The namespace has no network of its own, and npm ci calls its registry.
    ...['--isolation=chroot', '--network=host', '--layers=false', '--pull-never', `--tag=${reference}`],
    ...[`--build-arg=BUILD_IMAGE=${build}`, `--build-arg=BASE_IMAGE=${base}`, `--build-arg=REVISION=${revision}`],
    context,
  );
  const [image] = z.tuple([configuration]).parse(JSON.parse(await engine.podman('image', 'inspect', reference)));
  return image.Config;
}

/** Returns the paths that the Dockerfile adds to its base. */
export async function addedPaths(engine: Engine): Promise<string[]> {
  const difference = await engine.podman('image', 'diff', reference, 'localhost/base');
  return [...difference.matchAll(/^A (.*)$/gm)].map(([, path = '']) => path);
}

/** Writes the files of the image into a folder of this machine. @returns the folder and the configuration */
export async function extractImage(engine: Engine, { User, Entrypoint, Cmd, Env, WorkingDir }: ImageConfiguration, root: string) {
  const name = 'extracted';
  await mkdir(root);
  await engine.podman('create', `--name=${name}`, '--pull=never', reference);
  const archive = engine.start('export', name).stdout;
  const unpacking = spawn('tar', ['--extract', '--no-same-owner', '--directory', root], { stdio: [archive, 'inherit', 'inherit'] });
  const [code] = await once(unpacking, 'exit');
  if (code !== 0) throw new Error(`tar ended with code ${code}`);
  return {
    root,
    user: User,
    entrypoint: Entrypoint,
    command: Cmd,
    environment: Object.fromEntries(Env.map((pair) => pair.split(/=(.*)/, 2) as [string, string])),
    workingDirectory: WorkingDir,
  };
}

/** Copies all that .dockerignore lets through, because the engine may read no other folder of the user. */
async function copyContext(context: string): Promise<void> {
  const ignored = await readFile(join(repository, '.dockerignore'), 'utf8');
  const paths = ignored.match(/(?<=^!).*$/gm) ?? [];
  for (const path of [...paths, '.dockerignore', 'Dockerfile']) {
    await mkdir(dirname(join(context, path)), { recursive: true });
    await cp(join(repository, path), join(context, path), { recursive: true });
  }
}
