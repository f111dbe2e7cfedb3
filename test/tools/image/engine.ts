import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../../support/cluster-admin.ts';

const execute = promisify(execFile);

/** First user of this machine that a user of the namespace is, and the number of users. None of them has an account or rights. */
const firstUser = 100_000;
const users = 65_536;

/**
 * Podman without a daemon and without root: in a user namespace whose root is an unprivileged user of this machine, as for a user with
 * subordinate ids. Needs root to make the namespace, so that the accounts of the machine stay as they are.
 */
export class Engine {
  readonly #directory: string;
  /** Process that keeps the namespaces open. */
  readonly #holder: ChildProcess;

  private constructor(directory: string, holder: ChildProcess) {
    this.#directory = directory;
    this.#holder = holder;
  }

  /** @param directory for images and containers; all users must be able to enter it */
  static async start(directory: string): Promise<Engine> {
    const home = join(directory, 'engine');
    await mkdir(home);
    await chown(home, firstUser, firstUser);
    const holder = spawn('unshare', ['--user', '--mount', 'sleep', 'infinity'], { stdio: 'ignore' });
    await once(holder, 'spawn');
    const engine = new Engine(home, holder);
    try {
      await engine.#prepare(join(directory, 'passwd'));
    } catch (error) {
      await engine.stop();
      throw error;
    }
    return engine;
  }

  /** Runs podman. @returns standard output; @throws Error with the end of the output */
  async podman(...args: readonly string[]): Promise<string> {
    const [program = '', ...rest] = this.#commandLine(args);
    try {
      const { stdout } = await execute(program, rest, { env: this.#environment, maxBuffer: 1 << 28 });
      return stdout;
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      throw new Error(`podman ${args.join(' ')}:\n${stdout.slice(-2000)}\n${stderr.slice(-2000)}`);
    }
  }

  /** Starts podman, with pipes for its output. */
  start(...args: readonly string[]): ChildProcess {
    const [program = '', ...rest] = this.#commandLine(args);
    return spawn(program, rest, { env: this.#environment, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Ends all containers, and deletes all images. */
  async stop(): Promise<void> {
    await this.podman('rm', '--all', '--force', '--time=0').catch(() => undefined);
    this.#holder.kill();
    if (this.#holder.exitCode === null && this.#holder.signalCode === null) await once(this.#holder, 'exit');
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #prepare(passwd: string): Promise<void> {
    const { pid } = this.#holder;
    const own = await readlink('/proc/self/ns/user');
    await eventually(
      () => readlink(`/proc/${pid}/ns/user`),
      (namespace) => namespace !== own,
    );
    for (const map of ['uid_map', 'gid_map']) await writeFile(`/proc/${pid}/${map}`, `0 ${firstUser} ${users}\n`);
    const accounts = await readFile('/etc/passwd', 'utf8');
    await writeFile(passwd, `${accounts}engine:x:${firstUser}:${firstUser}::${this.#directory}:/bin/sh\n`);
    // Both mounts are seen in the namespace alone. Podman looks up the home of its user, and crun refuses a machine with both versions of
    // control groups, also for containers without any.
    await this.#enter('mount', '--bind', passwd, '/etc/passwd');
    await this.#enter('mount', '-t', 'tmpfs', 'none', '/sys/fs/cgroup');
  }

  async #enter(...command: readonly string[]): Promise<void> {
    const [program = '', ...rest] = this.#inside(command);
    await execute(program, rest);
  }

  #inside(command: readonly string[]): string[] {
    return ['nsenter', `--target=${this.#holder.pid}`, '--user', '--mount', '--wd=/', '--setuid=0', '--setgid=0', '--', ...command];
  }

  #commandLine(args: readonly string[]): string[] {
    const folders = ['root', 'runroot', 'tmpdir'].map((name) => `--${name}=${join(this.#directory, name)}`);
    return this.#inside(['podman', '--storage-driver=overlay', '--cgroup-manager=cgroupfs', '--events-backend=file', ...folders, ...args]);
  }

  get #environment(): NodeJS.ProcessEnv {
    return {
      PATH: process.env.PATH,
      HOME: this.#directory,
      XDG_RUNTIME_DIR: this.#directory,
      _CONTAINERS_USERNS_CONFIGURED: 'done',
      _CONTAINERS_ROOTLESS_UID: `${firstUser}`,
      _CONTAINERS_ROOTLESS_GID: `${firstUser}`,
    };
  }
}
