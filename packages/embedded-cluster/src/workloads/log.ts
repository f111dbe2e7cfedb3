/** The log of a container: made of its image and its times alone, so that nothing is stored and each reader gets the same lines. */

import { runOf } from './images.ts';
import type { ContainerStatus, Pod } from './shapes.ts';

/** Most lines of one answer, as a kubelet's log file has an end too. */
const maxLines = 5_000;

export interface LogOptions {
  previous: boolean;
  timestamps: boolean;
  tailLines: number | undefined;
  /** Lines from this moment on, in milliseconds since 1970. */
  sinceMs: number | undefined;
}

/** A stretch of time in which a container ran. */
interface Life {
  startMs: number;
  /** `undefined` while it runs. */
  endMs: number | undefined;
}

export function lifeOf({ state, lastState }: ContainerStatus, previous: boolean): Life | undefined {
  const ended = previous ? lastState.terminated : (state.terminated ?? (state.running ? undefined : lastState.terminated));
  if (ended !== undefined) return { startMs: Date.parse(ended.startedAt), endMs: Date.parse(ended.finishedAt) };
  return !previous && state.running ? { startMs: Date.parse(state.running.startedAt), endMs: undefined } : undefined;
}

/** Reads the log of one life of a container, from a line on. */
export class ContainerLog {
  readonly #life: Life;
  readonly #run: NonNullable<ReturnType<typeof runOf>>;
  readonly #offset: number;
  readonly #options: LogOptions;
  #next: number;

  constructor(pod: Pod, status: ContainerStatus, life: Life, options: LogOptions, now: number) {
    const run = runOf(status.image);
    if (run === undefined) throw new Error(`no container of ${status.image} has run`);
    this.#life = life;
    this.#run = run;
    // Pods of one workload do not say the same at the same time.
    this.#offset = [...pod.metadata.uid].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 97;
    this.#options = options;
    this.#next = this.#first(now);
  }

  #timeOf = (index: number) => this.#life.startMs + 200 + index * this.#run.lineEveryMs;

  /** The number of lines written before a moment. */
  #countAt(now: number): number {
    const until = Math.min(now, this.#life.endMs ?? now) - this.#life.startMs - 200;
    return Math.max(0, Math.floor(until / this.#run.lineEveryMs) + 1);
  }

  #first(now: number): number {
    const count = this.#countAt(now);
    const since = this.#options.sinceMs;
    const fromTime = since === undefined ? 0 : Math.max(0, Math.ceil((since - this.#life.startMs - 200) / this.#run.lineEveryMs));
    return Math.max(fromTime, count - Math.min(this.#options.tailLines ?? maxLines, maxLines));
  }

  /** Returns the lines that were written since the last read. */
  read(now: number): string {
    const count = this.#countAt(now);
    let text = '';
    for (; this.#next < count; this.#next += 1) {
      const stamp = this.#options.timestamps ? `${new Date(this.#timeOf(this.#next)).toISOString().replace('Z', '000000Z')} ` : '';
      text += `${stamp}${this.#run.line(this.#next + this.#offset)}\n`;
    }
    return text;
  }

  /** Milliseconds until the next line. */
  waitMs(now: number): number {
    return Math.max(this.#timeOf(this.#next) - now, 20);
  }
}
