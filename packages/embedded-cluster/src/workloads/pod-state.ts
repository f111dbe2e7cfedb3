/** The state of a pod in one word, as `kubectl get pods` prints it. Source: printPod in kubernetes/pkg/printers/internalversion. */

import { type ContainerState, type ContainerStatus, conditionOf, isSidecar, type Pod } from './shapes.ts';

export interface PodState {
  /** Such as `Running`, `Init:0/1`, `CrashLoopBackOff`, `Completed` or `Terminating`. */
  word: string;
  ready: number;
  /** Containers that are counted: those of the pod, and its sidecars. */
  total: number;
  restarts: number;
  /** The end of the container that ended last. */
  lastRestartAt: string | undefined;
}

const wordOf = ({ waiting, terminated }: ContainerState): string | undefined =>
  waiting?.reason || terminated?.reason || (terminated && `ExitCode:${terminated.exitCode}`) || undefined;

export function podState(pod: Pod): PodState {
  const { metadata, spec, status } = pod;
  const { initContainerStatuses = [], containerStatuses = [] } = status;
  const names = new Set(spec.initContainers?.filter(isSidecar).map(({ name }) => name));
  const sidecars = initContainerStatuses.filter(({ name }) => names.has(name));
  const initWord = initState(pod, names);
  const isInitialized = initWord === undefined || conditionOf(status.conditions, 'Initialized')?.status === 'True';
  const counted = isInitialized ? [...sidecars, ...containerStatuses] : initContainerStatuses;
  const isPhase = metadata.deletionTimestamp === undefined || status.phase === 'Succeeded' || status.phase === 'Failed';
  const running = isInitialized ? containerStatuses.filter(({ ready, state }) => ready && state.running !== undefined) : [];
  const word = isInitialized ? mainState(pod, initWord, running.length > 0) : (initWord ?? status.phase);
  return {
    word: isPhase ? word : 'Terminating',
    ready: running.length + sidecars.filter(({ ready, started }) => ready && started).length,
    total: spec.containers.length + names.size,
    restarts: counted.reduce((sum, { restartCount }) => sum + restartCount, 0),
    lastRestartAt: lastEnd(counted),
  };
}

/** Returns the word of the init container that the pod waits for, unset if it waits for none. */
function initState({ spec, status }: Pod, sidecars: ReadonlySet<string>): string | undefined {
  const statuses = status.initContainerStatuses ?? [];
  const index = statuses.findIndex(({ name, started, state }) => state.terminated?.exitCode !== 0 && !(sidecars.has(name) && started));
  const current = statuses[index];
  if (current === undefined) return undefined;
  const word = wordOf(current.state);
  return word === undefined || word === 'PodInitializing' ? `Init:${index}/${spec.initContainers?.length ?? 0}` : `Init:${word}`;
}

function mainState({ status }: Pod, initWord: string | undefined, isRunning: boolean): string {
  const words = (status.containerStatuses ?? []).map(({ state }) => wordOf(state)).filter((word) => word !== undefined);
  const word = words[0] ?? initWord ?? status.reason ?? status.phase;
  if (word !== 'Completed') return word;
  const failed = (status.containerStatuses ?? []).find(({ state }) => (state.terminated?.exitCode ?? 0) !== 0);
  if (isRunning && conditionOf(status.conditions, 'Ready')?.status === 'True') return 'Running';
  return (failed && wordOf(failed.state)) ?? (isRunning ? 'NotReady' : word);
}

function lastEnd(containers: readonly ContainerStatus[]): string | undefined {
  const ends = containers.map(({ lastState }) => lastState.terminated?.finishedAt).filter((end) => end !== undefined);
  return ends.sort().at(-1);
}
