/** The containers of a pod, and the reasons why they do not run. `pod-state.ts` has the state of the whole pod. */

import { endWord } from './pod-state.ts';

/** Members of a Pod that are read. */
interface PodObject {
  metadata: { name?: string; annotations?: Readonly<Record<string, string>> };
  spec?: Readonly<Record<string, unknown>>;
  status?: Readonly<Record<string, unknown>>;
}

interface Ended {
  exitCode?: number;
  signal?: number;
  reason?: string;
  message?: string;
  startedAt?: string;
  finishedAt?: string;
}

interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: Ended;
}

interface ContainerStatus {
  name: string;
  ready?: boolean;
  started?: boolean;
  restartCount?: number;
  containerID?: string;
  state?: ContainerState;
  lastState?: ContainerState;
}

export interface ContainerSpec {
  name: string;
  image?: string;
  restartPolicy?: string;
  [member: string]: unknown;
}

export interface Container {
  kind: 'container' | 'initContainer' | 'ephemeralContainer';
  spec: ContainerSpec;
  status: ContainerStatus | undefined;
}

const list = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter((one): one is Record<string, unknown> => typeof one === 'object' && one !== null) : [];

/** Returns the containers of a pod: first those that do its work, then init and ephemeral ones. */
export function containersOf(pod: PodObject): Container[] {
  return (['container', 'initContainer', 'ephemeralContainer'] as const).flatMap((kind) => {
    const statuses = statusesIn(pod, kind);
    const specs = list(pod.spec?.[`${kind}s`]).filter((one): one is ContainerSpec => typeof one.name === 'string');
    return specs.map((one) => ({ kind, spec: one, status: statuses.find(({ name }) => name === one.name) }));
  });
}

const defaultKey = 'kubectl.kubernetes.io/default-container';

/** Returns the container that kubectl chooses: the one that the annotation names, else the first. Undefined without containers. */
export function defaultContainer(pod: PodObject): string | undefined {
  const names = containersOf(pod).map(({ spec }) => spec.name);
  return names.find((name) => name === pod.metadata.annotations?.[defaultKey]) ?? names[0];
}

/** Returns the state of a container in one word. */
export function containerWord({ status }: Container): string {
  const { waiting, running, terminated } = status?.state ?? {};
  if (waiting) return waiting.reason || 'Waiting';
  if (terminated) return endWord({ ...terminated });
  return running ? 'Running' : 'Waiting';
}

const conditionsIn = ({ status }: PodObject, type: string) => list(status?.conditions).filter((condition) => condition.type === type);

const statusesIn = ({ status = {} }: PodObject, kind: Container['kind']) =>
  list(status[`${kind}Statuses`]) as unknown as readonly ContainerStatus[];

const isOver = ({ status }: PodObject): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** An init container that runs beside the others until the pod ends. Kubernetes documentation, "Sidecar Containers". */
export const isSidecar = ({ kind, spec }: Pick<Container, 'kind' | 'spec'>) => kind === 'initContainer' && spec.restartPolicy === 'Always';

export const isReady = (pod: PodObject): boolean => conditionsIn(pod, 'Ready').some(({ status }) => status === 'True');

export interface Trouble {
  /** Unset: the trouble is of the whole pod. */
  container?: string;
  reason: string;
  message?: string | undefined;
  /** The last end of the container. */
  last?: Ended | undefined;
  /** The run whose log explains the trouble. Unset: the container has not run. */
  log?: 'current' | 'previous' | undefined;
}

const fine = new Set(['Running', 'Completed', 'ContainerCreating', 'PodInitializing', 'Waiting']);

/** Returns what is wrong with a pod: containers that wait or ended for a reason, and a pod that no node takes. */
export function troublesOf(pod: PodObject): Trouble[] {
  const [scheduled] = conditionsIn(pod, 'PodScheduled');
  const unfit = scheduled?.status === 'False' ? [{ reason: String(scheduled.reason), message: String(scheduled.message ?? '') }] : [];
  const { reason, message } = pod.status ?? {};
  const whole = typeof reason === 'string' && reason !== '' ? [{ reason, message: String(message ?? '') }] : [];
  return [
    ...unfit,
    ...whole,
    ...containersOf(pod)
      .filter((container) => !isOutlived(pod, container))
      .flatMap(troubleOf),
  ];
}

/** Reports whether the end of a container does not matter to its pod: that of a debug container, and of a sidecar of a pod that is over. */
const isOutlived = (pod: PodObject, container: Container): boolean =>
  container.kind === 'ephemeralContainer' ? container.status?.state?.terminated !== undefined : isSidecar(container) && isOver(pod);

function troubleOf(container: Container): Trouble[] {
  const { state = {}, lastState, ready, restartCount = 0 } = container.status ?? {};
  const reason = containerWord(container);
  const isUnready = ready !== true && state.running !== undefined && restartCount > 0;
  if (fine.has(reason) && !isUnready) return [];
  const name = container.spec.name;
  return [
    {
      container: name,
      reason,
      message: state.waiting?.message ?? state.terminated?.message,
      last: state.terminated ?? lastState?.terminated,
      log: runOf(state, lastState),
    },
  ];
}

function runOf(state: ContainerState, lastState: ContainerState | undefined): Trouble['log'] {
  if (state.terminated) return 'current';
  if (lastState?.terminated) return 'previous';
  return state.running && 'current';
}
