import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { V1Container, V1Pod } from '@kubernetes/client-node';
import type { Image } from './image.ts';
import type { Mount } from './volumes.ts';

export interface ProcessOptions {
  pod: V1Pod;
  container: V1Container;
  image: Image;
  command: readonly string[];
  environment: Readonly<Record<string, string>>;
  mounts: readonly Mount[];
  onOutput: (text: string) => void;
}

/**
 * A run of a container: process 1 of its own process and mount namespaces, with only the files of the image and the volumes, as the
 * user of the security context, without capabilities and without a way to gain them. The network is the machine's. Limits of processor
 * and memory and the seccomp profile of an engine are missing.
 */
export class ContainerProcess {
  /** Exit code, or 128 plus the number of the signal that ended the process. */
  readonly exited: Promise<number>;
  readonly #process: ChildProcess;
  readonly #pid: Promise<number>;

  constructor(options: ProcessOptions) {
    const [command = '', ...args] = confined(options);
    this.#process = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe', 'pipe'], env: {} });
    this.#process.stdout?.on('data', (chunk: Buffer) => options.onOutput(chunk.toString()));
    this.#process.stderr?.on('data', (chunk: Buffer) => options.onOutput(chunk.toString()));
    this.exited = once(this.#process, 'close').then(([code]) => (typeof code === 'number' ? code : 137));
    this.#pid = this.#firstPid();
    this.#pid.catch(() => undefined);
  }

  /** Sends a signal to process 1 of the container. Has no effect if it does not exist. */
  async signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    try {
      const pid = await this.#pid;
      if (this.#process.exitCode === null && this.#process.signalCode === null) process.kill(pid, name);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }

  /** Reads the process ID that bubblewrap writes to descriptor 3 once the namespaces exist. */
  async #firstPid(): Promise<number> {
    const info = this.#process.stdio[3] as Readable;
    let text = '';
    for await (const chunk of info) text += String(chunk);
    const pid = /"child-pid": (\d+)/.exec(text)?.[1];
    if (pid === undefined) throw Object.assign(new Error('the container did not start'), { code: 'ESRCH' });
    return Number(pid);
  }
}

function confined({ pod, container, image, command, environment, mounts }: ProcessOptions): string[] {
  const { uid, gid, groups, isReadOnly } = securityOf(pod, container, image);
  return [
    'setpriv',
    ...[`--reuid=${uid}`, `--regid=${gid}`, groups.length > 0 ? `--groups=${groups}` : '--clear-groups'],
    ...['--inh-caps=-all', '--bounding-set=-all', '--no-new-privs', '--'],
    'bwrap',
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--as-pid-1', '--die-with-parent', '--new-session', '--info-fd', '3'],
    ...['--hostname', pod.metadata?.name ?? '', '--chdir', container.workingDir ?? image.workingDirectory, '--clearenv'],
    ...Object.entries({ ...image.environment, ...environment }).flatMap(([name, value]) => ['--setenv', name, value]),
    ...Object.entries(image.files).flatMap(([path, source]) => ['--ro-bind', source, path]),
    ...Object.entries(image.links).flatMap(([path, target]) => ['--symlink', target, path]),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...mounts.flatMap((mount) => [mount.isReadOnly ? '--ro-bind' : '--bind', mount.source, mount.path]),
    ...(isReadOnly ? ['--remount-ro', '/'] : []),
    '--',
    ...command,
  ];
}

/** @throws Error if the container would run as root despite runAsNonRoot */
function securityOf(pod: V1Pod, container: V1Container, image: Image) {
  const ofPod = pod.spec?.securityContext ?? {};
  const own = container.securityContext ?? {};
  const uid = own.runAsUser ?? ofPod.runAsUser ?? image.user;
  if ((own.runAsNonRoot ?? ofPod.runAsNonRoot) && uid === 0) throw new Error('container has runAsNonRoot and image will run as root');
  return {
    uid,
    gid: own.runAsGroup ?? ofPod.runAsGroup ?? uid,
    groups: [...(ofPod.supplementalGroups ?? []), ...(ofPod.fsGroup === undefined ? [] : [ofPod.fsGroup])],
    isReadOnly: own.readOnlyRootFilesystem === true,
  };
}
