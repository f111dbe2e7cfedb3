import type { ClusterObject } from '../../api/objects';
import { query, setQuery } from '../../app/router';
import { t } from '../../text/text';

interface Container {
  name: string;
  /** Number of restarts. */
  restarts: number;
  /** Name that the container runtime gives this run; empty before the first. */
  run: string;
  hasStarted: boolean;
}

interface ContainerStatus {
  name: string;
  restartCount?: number;
  containerID?: string;
  state?: { waiting?: { reason?: string; message?: string }; running?: unknown; terminated?: unknown };
  lastState?: { terminated?: unknown };
}

const named = (list: unknown): readonly ContainerStatus[] =>
  Array.isArray(list) ? list.filter((one): one is { name: string } => typeof (one as { name?: unknown })?.name === 'string') : [];

/** Returns the containers of a pod, regular ones first. */
export function containersOf(pod: ClusterObject): readonly Container[] {
  const statuses = new Map(statusesOf(pod).map((one) => [one.name, one]));
  return members
    .flatMap((member) => named(pod.spec?.[`${member}s`]))
    .map(({ name }) => {
      const { restartCount = 0, containerID = '', state, lastState } = statuses.get(name) ?? {};
      const hasStarted = Boolean(state?.running ?? state?.terminated ?? lastState?.terminated);
      return { name, restarts: restartCount, run: containerID, hasStarted };
    });
}

const members = ['container', 'initContainer', 'ephemeralContainer'];

const statusesOf = ({ status }: ClusterObject) => members.flatMap((member) => named(status?.[`${member}Statuses`]));

interface ContainerState {
  phase: 'waiting' | 'running' | 'ended';
  /** The reason of a container that waits, in the words of the kubelet. */
  reason?: string;
}

export function containerState(pod: ClusterObject, container: string): ContainerState {
  const { waiting, running, terminated } = statusesOf(pod).find(({ name }) => name === container)?.state ?? {};
  if (running) return { phase: 'running' };
  if (terminated) return { phase: 'ended' };
  const reason = waiting?.reason && [waiting.reason, waiting.message].filter(Boolean).join(': ');
  return { phase: 'waiting', ...(reason && { reason }) };
}

/** Returns the container that the address names, or else the first. */
export const chosenContainer = (pod: ClusterObject): Container | undefined => {
  const all = containersOf(pod);
  return all.find(({ name }) => name === query.value.get('container')) ?? all[0];
};

export function ContainerChoice({ pod }: { pod: ClusterObject }) {
  return (
    <label>
      <span class="hidden">{t('cluster.container')}</span>
      <select value={chosenContainer(pod)?.name} onChange={({ currentTarget }) => setQuery({ container: currentTarget.value })}>
        {containersOf(pod).map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
