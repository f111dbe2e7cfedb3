import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const listening = z.object({ msg: z.literal('listening'), port: z.number(), metricsPort: z.number() });
const report = z.object({ heapUsed: z.number(), external: z.number(), rss: z.number(), resources: z.number() });
export type Report = z.infer<typeof report>;

/** `atrium serve` in a process of its own, which can be killed and measured. */
export class ServiceProcess {
  readonly #child: ChildProcess;
  stdout = '';
  stderr = '';
  url = '';
  metricsURL = '';

  private constructor(configFile: string) {
    this.#child = spawn(
      process.execPath,
      ['--expose-gc', '--import', fileOf('memory-report.ts'), fileOf('../../../src/main.ts'), 'serve', '--config', configFile],
      { env: { PATH: process.env.PATH ?? '' }, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
    );
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.stdout += chunk.toString();
    });
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
  }

  /** Resolves when the process listens. @throws Error with its output if it ends before */
  static async start(configFile: string): Promise<ServiceProcess> {
    const service = new ServiceProcess(configFile);
    const line = await eventually(
      () => service.#listening(),
      (found) => found !== undefined || !service.isRunning,
    );
    if (line === undefined) throw new Error(service.stderr);
    service.url = `http://127.0.0.1:${line.port}`;
    service.metricsURL = `http://127.0.0.1:${line.metricsPort}`;
    return service;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Returns bytes of memory and the number of sockets, timers and other resources, after a garbage collection. */
  async weigh(): Promise<Report> {
    const told = once(this.#child, 'message');
    this.#child.send('report');
    return report.parse((await told)[0]);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Sends SIGTERM, as a kubelet does, and waits for the end. */
  async terminate(): Promise<void> {
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await gone;
  }

  /** Sends SIGKILL, as a kernel that is out of memory does. */
  async kill(): Promise<void> {
    if (!this.isRunning) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }

  #listening(): z.infer<typeof listening> | undefined {
    // The last line may be incomplete.
    const lines = this.stdout.split('\n').slice(0, -1);
    for (const line of lines.filter((text) => text.includes('"listening"'))) {
      const parsed = listening.safeParse(JSON.parse(line));
      if (parsed.success) return parsed.data;
    }
    return undefined;
  }
}
