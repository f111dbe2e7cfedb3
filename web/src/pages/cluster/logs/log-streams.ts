/** The streams of the containers that a page of logs shows. WebSockets take none of the six connections of HTTP/1.1. */
import { type Signal, signal } from '@preact/signals';
import type { Problem } from '../../../api/problem';
import type { LogLines } from './log-lines';
import { followLog } from './log-stream';

export interface LogTarget {
  /** Tells it from all others of the page. */
  id: string;
  name: string;
  path: string;
  container: string | undefined;
  /** Changes when the container starts again: a log that had ended continues. */
  run: string;
}

/** The part of the logs that is read. */
export interface LogRange {
  isPrevious: boolean;
  /** Unset: the newest lines of any age. */
  sinceSeconds: number | undefined;
}

type State = 'read' | 'lost' | 'over';

interface Stream {
  index: number;
  run: string;
  state: State;
  problem: Problem | undefined;
  stop: () => void;
}

export class LogStreams {
  readonly problem: Signal<Problem | undefined> = signal(undefined);
  readonly state: Signal<State> = signal('read');
  /** Index of the lines of each target that was ever read. */
  readonly indexes: Signal<ReadonlyMap<string, number>> = signal(new Map());
  readonly #lines: LogLines;
  readonly #isPrevious: boolean;
  readonly #sinceSeconds: number | undefined;
  readonly #streams = new Map<string, Stream>();
  #active: ReadonlySet<string> = new Set();

  constructor(lines: LogLines, { isPrevious, sinceSeconds }: LogRange) {
    this.#lines = lines;
    this.#isPrevious = isPrevious;
    this.#sinceSeconds = sinceSeconds;
  }

  /** Follows these and no others. Lines of the others stay. */
  follow(targets: readonly LogTarget[]): void {
    const wanted = new Set(targets.map(({ id }) => id));
    for (const [id, stream] of this.#streams) if (!wanted.has(id)) this.#leave(stream);
    for (const target of targets) {
      const known = this.#streams.get(target.id);
      if (known === undefined || known.run !== target.run || !this.#active.has(target.id)) this.#start(target, known);
    }
    this.#active = wanted;
    this.#tell();
  }

  stop(): void {
    for (const { stop } of this.#streams.values()) stop();
  }

  #leave(stream: Stream): void {
    if (stream.state === 'over') return;
    stream.stop();
    stream.state = 'over';
  }

  #start({ id, name, path, container, run }: LogTarget, known: Stream | undefined): void {
    if (known !== undefined) this.#leave(known);
    const { index, source } = known === undefined ? this.#lines.addSource(name) : this.#lines.sourceAt(known.index);
    const stream: Stream = { index, run, state: 'read', problem: undefined, stop: () => undefined };
    const tell = (state: State) => {
      stream.state = state;
      this.#tell();
    };
    this.#streams.set(id, stream);
    this.indexes.value = new Map(this.indexes.value).set(id, index);
    stream.stop = followLog({
      path,
      asked: { ...(container && { container }), ...(this.#isPrevious ? { previous: 'true' } : { follow: 'true' }) },
      sinceSeconds: this.#sinceSeconds,
      since: known && this.#lines.resume(index),
      onData: (data) => source.add(data),
      onOpen: () => tell('read'),
      onLost: () => {
        tell('lost');
        return this.#lines.resume(index);
      },
      onEnd: (problem) => {
        this.#lines.end(index);
        stream.problem = problem;
        tell('over');
      },
    });
  }

  #tell(): void {
    const active = [...this.#streams].filter(([id]) => this.#active.has(id)).map(([, stream]) => stream);
    const states = active.map(({ state }) => state);
    this.problem.value = active.find(({ problem }) => problem !== undefined)?.problem;
    this.state.value = states.includes('lost') ? 'lost' : states.length > 0 && states.every((one) => one === 'over') ? 'over' : 'read';
  }
}
