import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../src/atrium.js', import.meta.url));

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Cache of compiled code, for a program that does not inherit the environment. */
export const compileCache: Record<string, string> = process.env.NODE_COMPILE_CACHE
  ? { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }
  : {};

/** The command line, run in a process of its own. */
export class Command {
  readonly process: ChildProcess;
  readonly finished: Promise<Finished>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], environment: Record<string, string> = {}) {
    this.process = spawn(process.execPath, [main, ...args], {
      env: { PATH: process.env.PATH ?? '', ...compileCache, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.process.stdout?.on('data', (chunk: Buffer) => {
      this.stdout += chunk.toString();
    });
    this.process.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    this.finished = once(this.process, 'close').then(([code]: (number | null)[]) => ({
      code: code ?? null,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  signal(name: NodeJS.Signals): void {
    this.process.kill(name);
  }

  /** Kills the process if it is still running. */
  async end(): Promise<void> {
    if (this.process.exitCode === null) this.process.kill('SIGKILL');
    await this.finished;
  }
}

/** Runs a command and waits for its end. */
export const run = (args: readonly string[], environment?: Record<string, string>): Promise<Finished> =>
  new Command(args, environment).finished;
