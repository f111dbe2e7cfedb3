import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { helmProgram } from '../../cluster/build.ts';
import { type ControlPlane, startControlPlane } from '../../cluster/control-plane.ts';
import { ClusterAdmin } from '../../support/cluster-admin.ts';
import { atriumImage, type Image } from './image.ts';
import { Kubelet } from './kubelet.ts';
import { LoopbackNetwork } from './loopback-network.ts';

const execute = promisify(execFile);

/** Controllers that create Pods from the workloads of a chart. */
const controllers = [
  'deployment-controller',
  'replicaset-controller',
  'job-controller',
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'disruption-controller',
];

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Returns standard output. @throws Error with standard error if the command failed */
export function outputOf({ code, stdout, stderr }: Ran): string {
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`);
  return stdout;
}

/** A cluster of one node with Helm and kubectl for it. */
export interface WholeCluster {
  controlPlane: ControlPlane;
  network: LoopbackNetwork;
  kubelet: Kubelet;
  admin: ClusterAdmin;
  core: CoreV1Api;
  /** Image references that can be pulled. Tests add their own. */
  images: Map<string, Image>;
  /** The bundle of this work tree, without a reference. */
  image: Image;
  /** Host names that Pods resolve. Tests add their Services. */
  hosts: Record<string, string>;
  helm(...args: string[]): Promise<Ran>;
  kubectl(...args: string[]): Promise<Ran>;
  /** Runs a command line as users copy it into a shell. */
  shell(line: string): Promise<Ran>;
  stop(): Promise<void>;
}

/** Starts a control plane with the workload controllers, and a node that runs the Pods. Needs root and bubblewrap. */
export async function startCluster(): Promise<WholeCluster> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const end of stops.reverse()) await end();
  };
  try {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-installed-'));
    stops.push(() => rm(directory, { recursive: true, force: true }));
    await chmod(directory, 0o755);
    const [controlPlane, image, helm] = await Promise.all([
      startControlPlane({ people: ['admin', 'alice'], controllers, serviceAccountAdmission: true }).then((started) => {
        stops.push(() => started.stop());
        return started;
      }),
      atriumImage(join(directory, 'image')),
      helmProgram(),
    ]);
    const network = await LoopbackNetwork.claim();
    stops.push(() => network.release());
    const config = new KubeConfig();
    config.loadFromFile(controlPlane.kubeconfig);
    const admin = new ClusterAdmin(controlPlane, config.getUser('admin')?.token ?? '');
    stops.push(() => admin.close());
    const images = new Map<string, Image>();
    const hosts: Record<string, string> = {};
    const kubelet = new Kubelet({
      kubeconfig: controlPlane.kubeconfig,
      network,
      images: (reference) => images.get(reference),
      hosts,
      environment: (address) => ({ ATRIUM_SERVER__HOST: address }),
    });
    await kubelet.start();
    stops.push(() => kubelet.stop());
    const variables = { PATH: `${dirname(helm)}:${process.env.PATH}`, HOME: directory, KUBECONFIG: controlPlane.kubeconfig };
    const run = (program: string, args: readonly string[]) => finished(program, args, variables);
    return {
      controlPlane,
      network,
      kubelet,
      admin,
      core: config.makeApiClient(CoreV1Api),
      images,
      image,
      hosts,
      helm: (...args) => run(helm, args),
      kubectl: (...args) => run('kubectl', args),
      shell: (line) => run('sh', ['-c', line]),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function finished(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ran> {
  try {
    const { stdout, stderr } = await execute(program, args, { env, timeout: 120_000, maxBuffer: 64 * 1024 * 1024 });
    return { code: 0, stdout, stderr };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && typeof error.code === 'number' && 'stdout' in error && 'stderr' in error))
      throw error;
    return { code: error.code, stdout: String(error.stdout), stderr: String(error.stderr) };
  }
}
