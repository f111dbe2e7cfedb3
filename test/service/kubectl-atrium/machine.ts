import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';
import { addLoginCommands } from 'kubectl-atrium/commands.ts';
import { exitCodeOf, Interrupted } from 'kubectl-atrium/terminal.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { compileCache, type Finished } from '../../support/command.ts';
import { type Player, play } from './play-browser.ts';

const program = fileURLToPath(new URL('../../../packages/kubectl-atrium/src/kubectl-atrium.ts', import.meta.url));
const player = fileURLToPath(new URL('play-browser.ts', import.meta.url));

/** A running command, with its output so far. */
export interface Running {
  readonly output: { stdout: string; stderr: string };
  readonly finished: Promise<Finished>;
  signal(name: 'SIGINT' | 'SIGTERM'): void;
}

/** Waits for output that matches. @returns the groups of the match */
export async function says({ output, finished }: Running, pattern: RegExp): Promise<string[]> {
  let isOver = false;
  const watch = async () => {
    await finished;
    isOver = true;
  };
  void watch();
  await eventually(
    async () => output.stderr,
    (text) => pattern.test(text) || isOver,
  );
  const match = pattern.exec(output.stderr);
  if (match === null) throw new Error(`it said: ${output.stderr}`);
  return match.slice(1);
}

/** Returns the address that the browser has to open. */
export const startAddress = async (running: Running): Promise<string> => (await says(running, /(http:\/\/127\.0\.0\.1:\d+\/\S+)/))[0] ?? '';

/** A user's own machine: a home folder, and a browser that opens what it is told. */
export class Machine {
  readonly home: string;
  readonly environment: Record<string, string>;

  private constructor(home: string, environment: Record<string, string>) {
    this.home = home;
    this.environment = {
      PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
      HOME: home,
      ...compileCache,
      XDG_CACHE_HOME: join(home, 'cache'),
      BROWSER: `${process.execPath} ${player} %s`,
      ...environment,
    };
  }

  static async create(environment: Record<string, string> = {}): Promise<Machine> {
    return new Machine(await mkdtemp(join(tmpdir(), 'atrium-machine-')), environment);
  }

  /** Runs a command in a process of its own. */
  spawn(command: readonly string[], environment: Record<string, string> = {}): Running {
    const [file = '', ...args] = command;
    const child = spawn(file, args, { env: { ...this.environment, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (chunk: Buffer) => {
        output[name] += chunk.toString();
      });
    const finished = once(child, 'close').then(([code]: (number | null)[]) => ({ code: code ?? null, ...output }));
    return { output, finished, signal: (name) => child.kill(name) };
  }

  /** Returns the command line of the program. */
  command(args: readonly string[]): string[] {
    return [process.execPath, program, ...args];
  }

  /** Runs a command in this process, which is much faster. */
  start(args: readonly string[], environment: Record<string, string> = {}): Running {
    const output = { stdout: '', stderr: '' };
    const ended = new AbortController();
    const stream = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (output[name] += text) });
    const terminal = {
      environment: { ...this.environment, ...environment },
      stdout: stream('stdout'),
      stderr: stream('stderr'),
      isInteractive: false,
      platform: process.platform,
      userID: process.getuid?.(),
      homeDirectory: this.home,
      signal: ended.signal,
    };
    const commands = new Command('kubectl-atrium').exitOverride().configureOutput({ writeErr: stream('stderr').write });
    addLoginCommands(commands, () => terminal);
    const finished = commands.parseAsync([...args], { from: 'user' }).then(
      () => ({ code: 0, ...output }),
      (error: unknown) => ({ code: error instanceof CommanderError ? error.exitCode : exitCodeOf(error, terminal), ...output }),
    );
    return { output, finished, signal: (name) => ended.abort(new Interrupted(name)) };
  }

  run(args: readonly string[], environment?: Record<string, string>): Promise<Finished> {
    return this.start(args, environment).finished;
  }

  /** Logs in with a browser of this process. */
  async logIn(args: readonly string[], player?: Player): Promise<Finished> {
    const running = this.start(['login', '--no-browser', ...args]);
    await play(await startAddress(running), player);
    return running.finished;
  }

  /** Asks for a credential like kubectl. */
  token(args: readonly string[], { interactive = true, ...spec }: { interactive?: boolean; apiVersion?: string } = {}): Promise<Finished> {
    const { apiVersion = 'client.authentication.k8s.io/v1' } = spec;
    const info = { apiVersion, kind: 'ExecCredential', spec: { interactive } };
    return this.run(['token', ...args], { KUBERNETES_EXEC_INFO: JSON.stringify(info) });
  }

  /** Asks for a credential like kubectl, in a process of its own. */
  spawnToken(args: readonly string[], { interactive = true } = {}): Promise<Finished> {
    const info = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', spec: { interactive } };
    return this.spawn(this.command(['token', ...args]), { KUBERNETES_EXEC_INFO: JSON.stringify(info) }).finished;
  }

  get cacheDirectory(): string {
    return join(this.home, 'cache', 'atrium');
  }

  /** Returns the paths of the cached files. */
  async kept(): Promise<string[]> {
    const names = await readdir(this.cacheDirectory).catch(() => []);
    return names.map((name) => join(this.cacheDirectory, name));
  }

  /** Returns the contents of the only cached file. */
  async entry(): Promise<{ tokens: { idToken: string; refreshToken?: string } }> {
    const [path = ''] = await this.kept();
    return JSON.parse(await readFile(path, 'utf8'));
  }

  async file(name: string, text: string): Promise<string> {
    await writeFile(join(this.home, name), text, { mode: 0o600 });
    return join(this.home, name);
  }

  async remove(): Promise<void> {
    await rm(this.home, { recursive: true, force: true });
  }
}

/** Returns the credential that kubectl would read from the output. */
export function credentialOf({ stdout, stderr }: Finished): { apiVersion: string; token: string; expirationTimestamp: string } {
  if (stdout === '') throw new Error(`no credential: ${stderr}`);
  const { apiVersion, kind, status, ...rest } = JSON.parse(stdout);
  if (kind !== 'ExecCredential' || Object.keys(rest).length > 0) throw new Error(`no credential: ${stdout}`);
  return { apiVersion, ...status };
}
