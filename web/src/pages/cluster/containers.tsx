import { containersOf, defaultContainer } from '@atrium/objects/pod-containers.ts';
import type { ClusterObject } from '../../api/objects';
import { query, setQuery } from '../../app/router';
import { t } from '../../text/text';

/** The current or last run of a container. */
interface ContainerRun {
  name: string;
  /** Number of restarts. */
  restarts: number;
  /** Name that the container runtime gives this run; empty before the first. */
  run: string;
  hasStarted: boolean;
}

/** Returns the runs of the containers of a pod, regular ones first. */
export const runsOf = (pod: ClusterObject): readonly ContainerRun[] =>
  containersOf(pod).map(({ spec: { name }, status }) => {
    const { restartCount = 0, containerID = '', state, lastState } = status ?? {};
    const hasStarted = Boolean(state?.running ?? state?.terminated ?? lastState?.terminated);
    return { name, restarts: restartCount, run: containerID, hasStarted };
  });

interface ContainerState {
  phase: 'waiting' | 'running' | 'ended';
  /** The reason of a container that waits, in the words of the kubelet. */
  reason?: string;
}

export function containerState(pod: ClusterObject, container: string): ContainerState {
  const { waiting, running, terminated } = containersOf(pod).find(({ spec }) => spec.name === container)?.status?.state ?? {};
  if (running) return { phase: 'running' };
  if (terminated) return { phase: 'ended' };
  const reason = waiting?.reason && [waiting.reason, waiting.message].filter(Boolean).join(': ');
  return { phase: 'waiting', ...(reason && { reason }) };
}

/** Returns the container that the address names, or else the one that kubectl chooses. */
export const chosenContainer = (pod: ClusterObject): ContainerRun | undefined => {
  const all = runsOf(pod);
  const named = (wanted: string | null | undefined) => all.find(({ name }) => name === wanted);
  return named(query.value.get('container')) ?? named(defaultContainer(pod));
};

export function ContainerChoice({ pod }: { pod: ClusterObject }) {
  return (
    <label>
      <span class="hidden">{t('cluster.container')}</span>
      <select value={chosenContainer(pod)?.name} onChange={({ currentTarget }) => setQuery({ container: currentTarget.value })}>
        {runsOf(pod).map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
