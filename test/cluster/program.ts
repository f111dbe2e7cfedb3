import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** A bound against hanging: a busy machine may take its time. */
const deadlineMs = 180_000;

/** A program of the control plane that tests can kill and restart, with the same flags on the same ports. */
export class Program {
  readonly #command: string;
  readonly #flags: Readonly<Record<string, string>>;
  readonly #directory: string;
  readonly #isReady: () => Promise<boolean>;
  readonly #log: string;
  #child: ChildProcess | undefined;

  /** @param directory its working directory, where its log is written too */
  constructor(
    command: string,
    flags: Readonly<Record<string, string>>,
    { directory, isReady = async () => true }: { directory: string; isReady?: () => Promise<boolean> },
  ) {
    this.#command = command;
    this.#flags = flags;
    this.#directory = directory;
    this.#isReady = isReady;
    this.#log = `${directory}/${command.split('/').at(-1)}.log`;
  }

  /** Resolves when the program is ready. @throws Error with the end of its log if it ends or is not ready within three minutes */
  async start(): Promise<void> {
    const log = openSync(this.#log, 'a');
    const args = Object.entries(this.#flags).map(([flag, value]) => `--${flag}=${value}`);
    // Suites share processors, and memory is plentiful: Go collects garbage a quarter as often, for a tenth of the work.
    const env = { ...process.env, GOGC: '400' };
    const child = spawn(this.#command, args, { cwd: this.#directory, env, stdio: ['ignore', log, log] });
    this.#child = child;
    const deadline = Date.now() + deadlineMs;
    while (!(await this.#isReady())) {
      if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
        throw new Error(`${this.#command} did not start:\n${(await readFile(this.#log, 'utf8')).slice(-2000)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Process ID; undefined before the start. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Kills the program, or resumes it after `hang`. */
  signal(signal: 'SIGKILL' | 'SIGCONT'): void {
    this.#child?.kill(signal);
  }

  /** Suspends the program. Resolves when all threads have stopped: on a busy machine some run on after the signal. */
  async hang(): Promise<void> {
    this.#child?.kill('SIGSTOP');
    while ((await this.#threadStates()).some((state) => state !== 'T')) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** Returns the state of each thread, the field after the name in proc_pid_stat(5). */
  async #threadStates(): Promise<(string | undefined)[]> {
    const threads = `/proc/${this.pid}/task`;
    const lines = (await readdir(threads)).map((id) => readFile(`${threads}/${id}/stat`, 'utf8').catch(() => 'gone'));
    return (await Promise.all(lines)).map((line) => line[line.lastIndexOf(')') + 2]);
  }

  keepsProcess(isKept: boolean): void {
    if (isKept) this.#child?.ref();
    else this.#child?.unref();
  }

  /** Kills the program. Resolves when it has exited. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }
}
