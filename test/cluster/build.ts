import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A folder with a go.mod, the programs that are built from it, and flags for the linker. */
interface Module {
  directory: string;
  programs: Readonly<Record<string, string>>;
  linkerFlags: string;
  /** Source files in the folder, beside its modules. */
  sources?: readonly string[];
}

const controlPlane: Module = {
  directory: import.meta.dirname,
  programs: {
    etcd: 'go.etcd.io/etcd/server/v3',
    'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
    'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  },
  // Without this flag, kube-apiserver reports v0.0.0, which kubectl refuses to compare with its own version.
  linkerFlags: '-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3',
};

const helm: Module = {
  directory: join(import.meta.dirname, 'helm'),
  programs: { helm: 'helm.sh/helm/v4/cmd/helm' },
  // Without this flag, Helm renders for the version of the client library that it was built with.
  linkerFlags: '-s -w -X helm.sh/helm/v4/internal/version.version=v4.3.1',
};

const kubectl: Module = {
  directory: join(import.meta.dirname, 'kubectl'),
  programs: { kubectl: '.' },
  linkerFlags: controlPlane.linkerFlags,
  sources: ['main.go'],
};

const node: Module = {
  directory: join(import.meta.dirname, 'node'),
  programs: { node: '.' },
  linkerFlags: '-s -w',
  sources: ['main.go'],
};

const promcheck: Module = {
  directory: join(import.meta.dirname, 'promcheck'),
  programs: { promcheck: '.' },
  linkerFlags: '-s -w',
  sources: ['main.go'],
};

const collector: Module = {
  directory: join(import.meta.dirname, 'collector'),
  programs: { collector: '.' },
  linkerFlags: '-s -w',
  sources: ['main.go'],
};

const s3: Module = {
  directory: join(import.meta.dirname, 's3'),
  programs: { s3: '.' },
  linkerFlags: '-s -w',
  sources: ['main.go'],
};

const authority: Module = {
  directory: join(import.meta.dirname, 'authority'),
  programs: { authority: '.' },
  linkerFlags: '-s -w',
  sources: ['main.go'],
};

const clientGo: Module = {
  directory: join(import.meta.dirname, '../tools/clients/client-go'),
  programs: { 'client-go': '.' },
  linkerFlags: '-s -w',
  sources: ['main.go'],
};

/**
 * Returns the folder with etcd, kube-apiserver and kube-controller-manager. The first call builds them from go.mod, which takes
 * minutes.
 */
export const controlPlanePrograms = () => programsOf(controlPlane);

/** Returns the path of Helm's command line program. The first call builds it, which takes minutes. */
export const helmProgram = async () => join(await programsOf(helm), 'helm');

/**
 * Returns the folder with the kubectl of that release. The first call builds it, which takes minutes. kubectl 1.32 loses the
 * first output of an exec over WebSocket when it arrives early (kubernetes/kubernetes, remotecommand: "Unknown stream id").
 */
const kubectlDirectory = () => programsOf(kubectl);

/** Returns the path of the program that serves logs, exec and port-forward of pods. The first call builds it. */
export const nodeProgram = async () => join(await programsOf(node), 'node');

/** Returns the path of the program that checks metrics and alerts like promtool. The first call builds it. */
export const promcheckProgram = async () => join(await programsOf(promcheck), 'promcheck');

/** Returns the path of the collector of OpenTelemetry. The first call builds it. */
export const collectorProgram = async () => join(await programsOf(collector), 'collector');

/** Returns the path of an S3 server. The first call builds it. */
export const s3Program = async () => join(await programsOf(s3), 's3');

/** Returns the path of the program that answers like kubectl and kube-controller-manager. The first call builds it, which takes minutes. */
export const authorityProgram = async () => join(await programsOf(authority), 'authority');

/** Returns the path of the program that calls the Kubernetes API by client-go. The first call builds it. */
export const clientGoProgram = async () => join(await programsOf(clientGo), 'client-go');

/** Returns the folder of built programs. Its name has a hash of go.sum and the linker flags, so that versions do not mix. */
async function programsOf({ directory, programs, linkerFlags, sources = [] }: Module): Promise<string> {
  const hash = createHash('sha256')
    .update(await readFile(join(directory, 'go.sum')))
    .update(linkerFlags);
  for (const source of sources) hash.update(await readFile(join(directory, source)));
  const sum = hash.digest('hex');
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const into = join(cache, 'atrium-cluster', sum.slice(0, 16), 'bin');
  await mkdir(into, { recursive: true });
  for (const [name, packagePath] of Object.entries(programs)) {
    const file = join(into, name);
    if (!(await exists(file))) await build(packagePath, { directory, linkerFlags, file });
  }
  return into;
}

async function build(packagePath: string, { directory, linkerFlags, file }: Pick<Module, 'directory' | 'linkerFlags'> & { file: string }) {
  console.error(`building ${packagePath} (once, some minutes)`);
  const unfinished = `${file}.${process.pid}`;
  try {
    await run('go', ['build', '-trimpath', '-ldflags', linkerFlags, '-o', unfinished, packagePath], { cwd: directory });
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
  await Promise.resolve()
    .then(async () => {
      if (process.argv[2] === 'kubectl') console.log(await kubectlDirectory());
      else
        console.log(
          await controlPlanePrograms(),
          await helmProgram(),
          await nodeProgram(),
          await promcheckProgram(),
          await collectorProgram(),
          await s3Program(),
          await authorityProgram(),
        );
    })
    .catch((error: unknown) => {
      console.error(error instanceof Error ? error.message : error);
      process.exitCode = 1;
    });
}
