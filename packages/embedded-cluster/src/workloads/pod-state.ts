/** The state of a pod in one word, as `kubectl get pods` prints it. Source: printPod in kubernetes/pkg/printers/internalversion. */

import type { ContainerState, ContainerStatus, Pod } from './shapes.ts';

export interface PodState {
  /** Such as `Running`, `CrashLoopBackOff`, `Completed` or `Terminating`. */
  word: string;
  ready: number;
  restarts: number;
  /** The end of the container that ended last. */
  lastRestartAt: string | undefined;
}

const wordOf = ({ waiting, terminated }: ContainerState): string | undefined =>
  waiting?.reason || terminated?.reason || (terminated && `ExitCode:${terminated.exitCode}`) || undefined;

export function podState({ metadata, status }: Pod): PodState {
  const containers = status.containerStatuses ?? [];
  const words = containers.map(({ state }) => wordOf(state)).filter((word) => word !== undefined);
  let word: string = words[0] ?? status.reason ?? status.phase;
  const running = containers.filter(({ ready, state }) => ready && state.running !== undefined);
  if (word === 'Completed' && running.length > 0)
    word = status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ? 'Running' : 'NotReady';
  if (metadata.deletionTimestamp !== undefined && status.phase !== 'Succeeded' && status.phase !== 'Failed') word = 'Terminating';
  return { word, ready: running.length, restarts: restartsOf(containers), lastRestartAt: lastEnd(containers) };
}

const restartsOf = (containers: readonly ContainerStatus[]) => containers.reduce((sum, { restartCount }) => sum + restartCount, 0);

function lastEnd(containers: readonly ContainerStatus[]): string | undefined {
  const ends = containers.map(({ lastState }) => lastState.terminated?.finishedAt).filter((end) => end !== undefined);
  return ends.sort().at(-1);
}
