import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../src/atrium.js', import.meta.url));

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Where Node keeps what it has compiled, for a program that otherwise gets an environment of its own. */
export const compileCache: Record<string, string> = process.env.NODE_COMPILE_CACHE
  ? { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }
  : {};

/** The command line as a person runs it, in a process of its own. */
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

  /** Ends it, however it is. */
  async end(): Promise<void> {
    if (this.process.exitCode === null) this.process.kill('SIGKILL');
    await this.finished;
  }
}

/** Runs a command to its end. */
export const run = (args: readonly string[], environment?: Record<string, string>): Promise<Finished> =>
  new Command(args, environment).finished;
