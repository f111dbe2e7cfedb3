/** State of a pod in a word, as `kubectl get pods` prints it. Source: printPod in kubernetes/pkg/printers/internalversion. */

import { isMembers, listOf, type Members, membersOf, numberOf, textOf } from './members.ts';

interface ContainerStatus {
  name: string;
  isReady: boolean;
  isStarted: boolean;
  restarts: number;
  /** Reason why the container waits, or ended; undefined while it runs. */
  word: string | undefined;
  isRunning: boolean;
  /** Undefined for a container that has not ended. */
  exitCode: number | undefined;
  lastEnd: string | undefined;
}

export interface PodState {
  /** State such as `Running`, `Init:0/1`, `CrashLoopBackOff`, `Completed` or `Terminating`. */
  word: string;
  ready: number;
  /** Number of counted containers: those of the pod, and its sidecars. */
  total: number;
  restarts: number;
  /** Latest end of a terminated container. */
  lastRestartAt: string | undefined;
}

/** @param object a Pod (core/v1), in which every member may be missing or malformed */
export function podState(object: unknown): PodState {
  const pod = new PodReading(object);
  const { inits, containers } = pod;
  // Source: printPod counts no init container after the one that the pod waits for.
  const current = pod.currentInit;
  const begun = current < 0 ? inits : inits.slice(0, current + 1);
  const sidecars = begun.filter(({ name }) => pod.sidecars.has(name));
  const initWord = pod.initWord;
  const isInitialized = initWord === undefined || pod.condition('Initialized')?.status === 'True';
  const counted = isInitialized ? [...sidecars, ...containers] : begun;
  const running = isInitialized ? containers.filter(({ isReady, isRunning }) => isReady && isRunning) : [];
  const ready = sidecars.filter(({ isReady, isStarted, exitCode }) => isReady && isStarted && exitCode !== 0);
  return {
    word: pod.deletedWord ?? (isInitialized ? pod.mainWord(initWord, running.length > 0) : initWord),
    ready: running.length + ready.length,
    total: pod.total,
    restarts: counted.reduce((sum, { restarts }) => sum + restarts, 0),
    lastRestartAt: counted
      .map(({ lastEnd }) => lastEnd)
      .filter((end) => end !== undefined)
      .sort()
      .at(-1),
  };
}

class PodReading {
  readonly #metadata: Members;
  readonly #status: Members;
  readonly #initSpecs: readonly Members[];
  readonly inits: readonly ContainerStatus[];
  readonly containers: readonly ContainerStatus[];
  /** Names of the sidecars. Kubernetes documentation, "Sidecar Containers". */
  readonly sidecars: ReadonlySet<string>;
  readonly total: number;

  constructor(object: unknown) {
    const { metadata, spec, status } = membersOf(object);
    this.#metadata = membersOf(metadata);
    this.#status = membersOf(status);
    this.#initSpecs = listOf(membersOf(spec).initContainers);
    this.inits = listOf(this.#status.initContainerStatuses).map(containerStatus);
    this.containers = listOf(this.#status.containerStatuses).map(containerStatus);
    this.sidecars = new Set(this.#initSpecs.filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => textOf(name)));
    this.total = listOf(membersOf(spec).containers).length + this.sidecars.size;
  }

  condition(type: string): Members | undefined {
    return listOf(this.#status.conditions).find((condition) => condition.type === type);
  }

  get #phase(): string {
    return typeof this.#status.phase === 'string' ? this.#status.phase : 'Unknown';
  }

  get #reason(): string {
    return textOf(this.#status.reason);
  }

  get deletedWord(): string | undefined {
    if (!this.#metadata.deletionTimestamp) return undefined;
    if (this.#reason === 'NodeLost') return 'Unknown';
    return this.#phase === 'Succeeded' || this.#phase === 'Failed' ? undefined : 'Terminating';
  }

  /** Index of the init container that the pod waits for, -1 if it waits for none. */
  get currentInit(): number {
    return this.inits.findIndex(({ name, isStarted, exitCode }) => exitCode !== 0 && !(this.sidecars.has(name) && isStarted));
  }

  get initWord(): string | undefined {
    const index = this.currentInit;
    const current = this.inits[index];
    if (current === undefined) return undefined;
    const { word } = current;
    return word === undefined || word === 'PodInitializing' ? `Init:${index}/${this.#initSpecs.length}` : `Init:${word}`;
  }

  mainWord(initWord: string | undefined, isRunning: boolean): string {
    const gated = this.condition('PodScheduled')?.reason === 'SchedulingGated' ? 'SchedulingGated' : undefined;
    const word = this.containers.find((container) => container.word !== undefined)?.word;
    const shown = word ?? initWord ?? gated ?? (this.#reason || this.#phase);
    if (shown !== 'Completed') return shown;
    if (isRunning && this.condition('Ready')?.status === 'True') return 'Running';
    const failed = this.containers.find(({ exitCode = 0 }) => exitCode !== 0);
    return failed?.word ?? (isRunning ? 'NotReady' : shown);
  }
}

function containerStatus({ name, ready, started, restartCount, state, lastState }: Members): ContainerStatus {
  const { waiting, running, terminated } = membersOf(state);
  const last = membersOf(lastState).terminated;
  return {
    name: textOf(name),
    isReady: ready === true,
    isStarted: started === true,
    restarts: numberOf(restartCount),
    word: textOf(membersOf(waiting).reason) || (isMembers(terminated) ? endWord(terminated) : undefined),
    isRunning: isMembers(running),
    exitCode: isMembers(terminated) && typeof terminated.exitCode === 'number' ? terminated.exitCode : undefined,
    lastEnd: textOf(membersOf(last).finishedAt) || undefined,
  };
}

/** Returns the end of a container in a word: its reason, `Signal:9` or `ExitCode:3`. */
export const endWord = ({ reason, signal, exitCode }: Members): string =>
  textOf(reason) || (signal ? `Signal:${numberOf(signal)}` : `ExitCode:${numberOf(exitCode)}`);
