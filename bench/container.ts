import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';

/** Files of an image, and its configuration. */
export interface Image {
  root: string;
  /** `uid:gid` */
  user: string;
  entrypoint: readonly string[];
  command: readonly string[];
  environment: Readonly<Record<string, string>>;
  workingDirectory: string;
}

export interface ContainerOptions {
  /** Arguments in place of the image's CMD. */
  args?: readonly string[];
  environment?: Readonly<Record<string, string>>;
  /** Read-only mounts: folders or files of this machine by paths in the container. */
  mounts?: Readonly<Record<string, string>>;
}

/**
 * A run of the image: with its folder as a read-only root, as its user, without capabilities and without a way to gain them, in its own
 * process and mount namespaces. The network is the machine's. Needs root and bubblewrap.
 */
export class Container {
  readonly #process: ChildProcess;
  readonly #pid: Promise<number>;
  readonly finished: Promise<{ code: number | null; output: string }>;
  output = '';

  constructor({ root, user, entrypoint, command, environment, workingDirectory }: Image, options: ContainerOptions = {}) {
    const [uid, gid] = user.split(':');
    const variables = { ...environment, ...options.environment };
    this.#process = spawn(
      'setpriv',
      [
        ...[`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--inh-caps=-all', '--bounding-set=-all', '--no-new-privs', '--'],
        ...['bwrap', '--ro-bind', root, '/', '--proc', '/proc', '--dev', '/dev', '--unshare-pid', '--unshare-ipc', '--as-pid-1'],
        ...['--die-with-parent', '--info-fd', '3', '--chdir', workingDirectory, '--clearenv'],
        ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
        ...Object.entries(options.mounts ?? {}).flatMap(([path, source]) => ['--ro-bind', source, path]),
        ...['--', ...entrypoint, ...(options.args ?? command)],
      ],
      { stdio: ['ignore', 'pipe', 'pipe', 'pipe'], env: { PATH: process.env.PATH ?? '' } },
    );
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.output += chunk.toString();
      });
    this.finished = once(this.#process, 'close').then(([code]: (number | null)[]) => ({ code: code ?? null, output: this.output }));
    this.#pid = this.#firstPid();
    this.#pid.catch(() => undefined);
  }

  /** Returns a field of `/proc/PID/status` of process 1, e.g. `VmRSS`. */
  async status(field: string): Promise<string> {
    const status = await readFile(`/proc/${await this.#pid}/status`, 'utf8');
    return new RegExp(`^${field}:\\s*(.*)$`, 'm').exec(status)?.[1] ?? '';
  }

  async signal(name: NodeJS.Signals): Promise<void> {
    process.kill(await this.#pid, name);
  }

  /** Kills the container in any state. */
  async end(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.finished;
  }

  async #firstPid(): Promise<number> {
    let text = '';
    for await (const chunk of this.#process.stdio[3] as Readable) text += String(chunk);
    const pid = /"child-pid": (\d+)/.exec(text)?.[1];
    if (pid === undefined) throw new Error(`the container did not start: ${this.output}`);
    return Number(pid);
  }
}
