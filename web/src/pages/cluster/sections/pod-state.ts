/** The state of a pod as `kubectl get pods` prints it, and the reasons of its containers. Source: printPod of kube-apiserver. */

import type { ClusterObject } from '../../../api/object-types.ts';

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
  restartCount?: number;
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
export function containersOf({ spec = {}, status = {} }: ClusterObject): Container[] {
  return (['container', 'initContainer', 'ephemeralContainer'] as const).flatMap((kind) => {
    const statuses = list(status[`${kind}Statuses`]) as unknown as ContainerStatus[];
    const specs = list(spec[`${kind}s`]) as unknown as ContainerSpec[];
    return specs.map((one) => ({ kind, spec: one, status: statuses.find(({ name }) => name === one.name) }));
  });
}

const ended = ({ reason, signal, exitCode }: Ended): string => reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode ?? 0}`);

/** Returns the state of a container in one word. */
export function containerWord({ status }: Container): string {
  const { waiting, running, terminated } = status?.state ?? {};
  if (waiting) return waiting.reason || 'Waiting';
  if (terminated) return ended(terminated);
  return running ? 'Running' : 'Waiting';
}

const conditionIn = ({ status }: ClusterObject, type: string) => list(status?.conditions).find((condition) => condition.type === type);

/** Returns the state of a pod in one word, such as `Running`, `CrashLoopBackOff` or `Init:0/1`. */
export function podWord(pod: ClusterObject): string {
  const { metadata, status } = pod;
  const phase = String(status?.phase ?? 'Unknown');
  const isOver = phase === 'Succeeded' || phase === 'Failed';
  if (metadata.deletionTimestamp && !isOver) return status?.reason === 'NodeLost' ? 'Unknown' : 'Terminating';
  const containers = containersOf(pod);
  return initWord(containers.filter(({ kind }) => kind === 'initContainer')) ?? mainWord(pod, containers, phase);
}

/** An init container that runs beside the others until the pod ends. Kubernetes documentation, "Sidecar Containers". */
export const isSidecar = ({ kind, spec }: Container) => kind === 'initContainer' && spec.restartPolicy === 'Always';

/** Returns the word of the first init container that is not done, `undefined` if all are. */
function initWord(containers: readonly Container[]): string | undefined {
  const at = containers.findIndex((container) => {
    const { terminated, running } = container.status?.state ?? {};
    return isSidecar(container) ? !(running ?? terminated) : terminated?.exitCode !== 0;
  });
  const container = containers[at];
  if (container?.status === undefined) return undefined;
  const { waiting, terminated } = container.status.state ?? {};
  if (terminated) return `Init:${ended(terminated)}`;
  return waiting?.reason && waiting.reason !== 'PodInitializing' ? `Init:${waiting.reason}` : `Init:${at}/${containers.length}`;
}

function mainWord(pod: ClusterObject, containers: readonly Container[], phase: string): string {
  const main = containers.filter(({ kind, status }) => kind === 'container' && status !== undefined);
  const words = main.map(({ status }) => {
    const { waiting, terminated } = status?.state ?? {};
    return waiting?.reason || (terminated && ended(terminated));
  });
  const word = words.find((one) => one !== undefined && one !== '') ?? (String(pod.status?.reason ?? '') || unscheduled(pod) || phase);
  const isRunning = main.some(({ status }) => status?.ready === true && status.state?.running !== undefined);
  if (word !== 'Completed' || !isRunning) return word;
  return isReady(pod) ? 'Running' : 'NotReady';
}

export const isReady = (pod: ClusterObject): boolean => conditionIn(pod, 'Ready')?.status === 'True';

const unscheduled = (pod: ClusterObject): string | undefined =>
  conditionIn(pod, 'PodScheduled')?.reason === 'SchedulingGated' ? 'SchedulingGated' : undefined;

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
export function troublesOf(pod: ClusterObject): Trouble[] {
  const scheduled = conditionIn(pod, 'PodScheduled');
  const unfit = scheduled?.status === 'False' ? [{ reason: String(scheduled.reason), message: String(scheduled.message ?? '') }] : [];
  const { reason, message } = pod.status ?? {};
  const whole = typeof reason === 'string' && reason !== '' ? [{ reason, message: String(message ?? '') }] : [];
  return [...unfit, ...whole, ...containersOf(pod).flatMap(troubleOf)];
}

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
