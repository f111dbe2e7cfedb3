import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { eventually } from '../../support/cluster-admin.ts';
import type { Engine } from './engine.ts';
import { reference } from './image.ts';

export interface ContainerOptions {
  /** Arguments in place of the image's CMD. */
  args?: readonly string[];
  /** Program in place of the image's ENTRYPOINT. */
  entrypoint?: string;
  environment?: Readonly<Record<string, string>>;
  /** Read-only mounts: folders or files of this machine by paths in the container. */
  mounts?: Readonly<Record<string, string>>;
}

let started = 0;

/** A container of the image as a pod runs it: a read-only root, the user of the image, no capabilities, and the network of the machine. */
export class Container {
  readonly #engine: Engine;
  readonly #name: string;
  readonly #process: ChildProcess;
  readonly finished: Promise<{ code: number | null; output: string }>;
  output = '';

  constructor(engine: Engine, { args = [], entrypoint, environment = {}, mounts = {} }: ContainerOptions = {}) {
    started += 1;
    this.#engine = engine;
    this.#name = `atrium-${started}`;
    this.#process = engine.start(
      ...['run', '--rm', `--name=${this.#name}`, '--pull=never', '--network=host', '--cgroups=disabled'],
      ...['--read-only', '--read-only-tmpfs=false', '--cap-drop=all', '--security-opt=no-new-privileges'],
      ...Object.entries(environment).map(([name, value]) => `--env=${name}=${value}`),
      ...Object.entries(mounts).map(([path, source]) => `--volume=${source}:${path}:ro`),
      ...(entrypoint === undefined ? [] : [`--entrypoint=${entrypoint}`]),
      ...[reference, ...args],
    );
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.output += chunk.toString();
      });
    this.finished = once(this.#process, 'close').then(([code]: (number | null)[]) => ({ code: code ?? null, output: this.output }));
  }

  /** Returns a field of `/proc/PID/status` of its first process, with the user ids of the machine. */
  async status(field: string): Promise<string> {
    const status = await readFile(`/proc/${await this.#pid()}/status`, 'utf8');
    return new RegExp(`^${field}:\\s*(.*)$`, 'm').exec(status)?.[1] ?? '';
  }

  async signal(name: NodeJS.Signals): Promise<void> {
    await this.#engine.podman('kill', `--signal=${name}`, this.#name);
  }

  /** Kills the container in any state. */
  async end(): Promise<void> {
    await this.#engine.podman('rm', '--force', '--ignore', '--time=0', this.#name);
    await this.finished;
  }

  async #pid(): Promise<number> {
    const inspect = () => this.#engine.podman('inspect', '--format={{.State.Pid}}', this.#name);
    return Number(await eventually(inspect, (pid) => Number(pid) > 0));
  }
}
