import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const moduleDirectory = import.meta.dirname;

const programs = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
};

/** Without it kube-apiserver calls itself v0.0.0, which kubectl refuses to compare with its own version. */
const linkerFlags = '-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3';

/**
 * The folder that holds etcd, kube-apiserver and kube-controller-manager, built from go.mod where it is not there yet
 * (minutes, once). Keyed by go.sum and the linker's flags, so that another version never meets the programs of this one.
 */
export async function controlPlanePrograms(): Promise<string> {
  const sum = createHash('sha256')
    .update(await readFile(join(moduleDirectory, 'go.sum')))
    .update(linkerFlags)
    .digest('hex');
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const directory = join(cache, 'atrium-cluster', sum.slice(0, 16), 'bin');
  await mkdir(directory, { recursive: true });
  for (const [name, packagePath] of Object.entries(programs)) {
    if (!(await exists(join(directory, name)))) await build(packagePath, join(directory, name));
  }
  return directory;
}

async function build(packagePath: string, file: string): Promise<void> {
  console.error(`building ${packagePath} (once, some minutes)`);
  const unfinished = `${file}.${process.pid}`;
  try {
    await run('go', ['build', '-trimpath', '-ldflags', linkerFlags, '-o', unfinished, packagePath], { cwd: moduleDirectory });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new Error('the real cluster is built from source: install Go 1.26 or newer and put `go` into PATH', { cause: error });
    }
    throw error;
  }
  await rename(unfinished, file);
}

const exists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

if (import.meta.main) {
  await controlPlanePrograms().then(console.log, (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
