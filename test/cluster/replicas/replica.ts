import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Backend } from '../../support/balancer.ts';

const startWithinMs = 120_000;

/** `atrium serve` in a process of its own, on free ports. */
export class Replica implements Backend {
  readonly name: string;
  readonly #process: ChildProcess;
  readonly #logFile: string;
  port = 0;
  #metricsPort = 0;

  private constructor(name: string, program: string, configFile: string) {
    this.name = name;
    this.#logFile = `${configFile}.${name}.log`;
    const log = openSync(this.#logFile, 'a');
    const { PATH = '' } = process.env;
    this.#process = spawn(process.execPath, [program, 'serve', '--config', configFile], { env: { PATH }, stdio: ['ignore', log, log] });
  }

  /**
   * Starts a replica. Resolves when it listens, before it is ready.
   *
   * @throws Error with the end of its log if it does not listen
   */
  static async start(name: string, { program, configFile }: { program: string; configFile: string }): Promise<Replica> {
    const replica = new Replica(name, program, configFile);
    for (const deadline = Date.now() + startWithinMs; ; await sleep(20)) {
      const log = await replica.log();
      const [, port, metricsPort] = /"port":(\d+),"metricsPort":(\d+).*"msg":"listening"/.exec(log) ?? [];
      if (port !== undefined && metricsPort !== undefined) {
        replica.port = Number(port);
        replica.#metricsPort = Number(metricsPort);
        return replica;
      }
      if (replica.#hasEnded || Date.now() > deadline) {
        replica.abandon();
        throw new Error(`replica ${name} did not start:\n${log.slice(-2000)}`);
      }
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get readyURL(): string {
    return `http://127.0.0.1:${this.#metricsPort}/readyz`;
  }

  log(): Promise<string> {
    return readFile(this.#logFile, 'utf8');
  }

  /** Waits until the replica is ready. @returns milliseconds */
  async whenReady(): Promise<number> {
    const begun = performance.now();
    while (!(await isOk(this.readyURL))) {
      if (this.#hasEnded || performance.now() - begun > startWithinMs) throw new Error(`replica ${this.name} did not become ready`);
      await sleep(20);
    }
    return performance.now() - begun;
  }

  /** Sends SIGTERM, as a kubelet does. @returns the exit code */
  async terminate(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  /** Sends SIGKILL and waits for the exit. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Sends SIGKILL without waiting for the exit. */
  abandon(): void {
    this.#process.kill('SIGKILL');
  }

  /** Returns the resident memory in MiB. */
  async residentMiB(): Promise<number> {
    const status = await readFile(`/proc/${this.#process.pid}/status`, 'utf8');
    return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024);
  }

  get #hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    if (!this.#hasEnded) {
      const exit = once(this.#process, 'exit');
      this.#process.kill(signal);
      await exit;
    }
    return this.#process.exitCode;
  }
}

const isOk = (url: string) =>
  fetch(url).then(
    async (answer) => answer.ok && (await answer.text()) !== '',
    () => false,
  );
