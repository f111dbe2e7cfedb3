import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const startWithinMs = 300_000;

/** Returns the seconds of CPU that all threads of a process have used in user and kernel mode. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The fields follow the name of the program, which may contain any character.
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) / ticksPerSecond;
}

/** Returns the resident memory of a process in MiB, now and at its maximum. */
export async function residentMiB(pid: number): Promise<{ now: number; most: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN) / 1024;
  return { now: field('VmRSS'), most: field('VmHWM') };
}

/**
 * Returns for how many milliseconds the event loop of the service was blocked at most since the last call. `monitorEventLoopDelay` measures
 * it, and reading the metrics resets it.
 */
export async function longestHoldMs(metricsURL: string): Promise<number> {
  const text = await (await fetch(`${metricsURL}/metrics`)).text();
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1] ?? Number.NaN) * 1000;
}

/** A measured program, whose output is written to a file. */
export class Measured {
  readonly #child: ChildProcess;
  readonly #logFile: string;
  readonly #command: string;
  /** Id of the process that does the work, which the command may have started. */
  readonly pid: number;

  private constructor(child: ChildProcess, command: string, logFile: string, pid: number) {
    this.#child = child;
    this.#command = command;
    this.#logFile = logFile;
    this.pid = pid;
  }

  static async start(
    command: readonly [string, ...string[]],
    { logFile, environment = {}, isContained = false }: { logFile: string; environment?: Record<string, string>; isContained?: boolean },
  ): Promise<Measured> {
    const log = openSync(logFile, 'a');
    const [program, ...args] = command;
    const { PATH = '', HOME = '' } = process.env;
    const child = spawn(program, args, {
      env: { PATH, HOME, ...environment },
      stdio: ['ignore', log, log, isContained ? 'pipe' : 'ignore'],
    });
    await once(child, 'spawn');
    let info = '';
    // bubblewrap writes the id of its child process there.
    if (isContained) for await (const chunk of child.stdio[3] as Readable) info += String(chunk);
    const pid = isContained ? Number(/"child-pid": (\d+)/.exec(info)?.[1]) : (child.pid ?? 0);
    return new Measured(child, program, logFile, pid);
  }

  /** Waits for the first wanted answer. @throws Error with the end of its log */
  async until(url: string, isWanted: (status: number) => boolean = (status) => status === 200): Promise<void> {
    for (const deadline = Date.now() + startWithinMs; ; await sleep(20)) {
      const status = await statusOf(url);
      if (status !== undefined && isWanted(status)) return;
      if (this.#child.exitCode !== null || Date.now() > deadline)
        throw new Error(`${this.#command} is not ready:\n${(await readFile(this.#logFile, 'utf8')).slice(-2000)}`);
    }
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    process.kill(this.pid, 'SIGTERM');
    const cut = setTimeout(() => process.kill(this.pid, 'SIGKILL'), 20_000);
    await gone;
    clearTimeout(cut);
  }
}

async function statusOf(url: string): Promise<number | undefined> {
  try {
    const answer = await fetch(url);
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return undefined;
  }
}
