/** The demo, started by the command of a page. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';
import { endGroup, type ShellContext } from './shell.ts';

export const startsDemo = (text: string) => text.trim().startsWith('npm run demo');

/** Runs one demo at a time, and keeps it for further pages with the same command. */
export class DemoTerminal {
  readonly #context: ShellContext;
  #running: { command: string; process: ChildProcess; port: number } | undefined;

  constructor(context: ShellContext) {
    this.#context = context;
  }

  async ensure(command: string): Promise<void> {
    if (this.#running?.command === command) return;
    await this.stop();
    const port = await freePort();
    const atPort = `${command.includes(' -- ') ? command : `${command} --`} --port ${port}`;
    const { directory: cwd, environment: env } = this.#context;
    const [, info] = / --info ~\/(\S+)/.exec(command) ?? [];
    const infoFile = info === undefined ? undefined : join(env.HOME ?? '', info);
    // The file is left over from the previous demo.
    if (infoFile !== undefined) await rm(infoFile, { force: true });
    // The shell expands `~`. The process gets a group, because npm starts the demo as a child.
    const child = spawn('sh', ['-c', atPort], { cwd, env, stdio: ['ignore', 'ignore', 'inherit'], detached: true });
    this.#running = { command, process: child, port };
    await eventually(
      async () => child.exitCode !== null || ((infoFile === undefined || existsSync(infoFile)) && (await isReady(port))),
      (isUp) => isUp,
    );
    if (child.exitCode !== null) throw new Error(`${atPort} ended with ${child.exitCode}`);
  }

  /** Returns the commands of a page with the port of the running demo. */
  here(text: string): string {
    if (this.#running === undefined) throw new Error('the page does not start the demo (npm run demo) before it uses it');
    return text.replaceAll(/(127\.0\.0\.1|localhost):8080/g, `127.0.0.1:${this.#running.port}`);
  }

  async stop(): Promise<void> {
    const { process: child } = this.#running ?? {};
    this.#running = undefined;
    if (child?.pid === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    endGroup(child.pid);
    await ended;
  }
}

const isReady = (port: number) =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
