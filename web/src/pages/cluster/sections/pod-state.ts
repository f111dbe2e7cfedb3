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
export function containersOf({ spec = {}, status = {} }: ClusterObject): Container[] {
  return (['container', 'initContainer', 'ephemeralContainer'] as const).flatMap((kind) => {
    const statuses = list(status[`${kind}Statuses`]) as unknown as ContainerStatus[];
    const specs = list(spec[`${kind}s`]).filter((one): one is ContainerSpec => typeof one.name === 'string');
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
  const started = containersOf(pod).filter((container) => container.status !== undefined);
  const [init = [], main = []] = ['initContainer', 'container'].map((wanted) => started.filter(({ kind }) => kind === wanted));
  const waits = initWord(pod, init);
  return waits === undefined || conditionIn(pod, 'Initialized')?.status === 'True' ? mainWord(pod, main, waits) : waits;
}

/** An init container that runs beside the others until the pod ends. Kubernetes documentation, "Sidecar Containers". */
export const isSidecar = ({ kind, spec }: Container) => kind === 'initContainer' && spec.restartPolicy === 'Always';

/** Returns the word of the first init container that is not done, `undefined` if all are. */
function initWord({ spec }: ClusterObject, containers: readonly Container[]): string | undefined {
  const at = containers.findIndex(
    (container) => container.status?.state?.terminated?.exitCode !== 0 && !(isSidecar(container) && container.status?.started === true),
  );
  const container = containers[at];
  if (container === undefined) return undefined;
  const reason = reasonOf(container);
  return reason === undefined || reason === 'PodInitializing' ? `Init:${at}/${list(spec?.initContainers).length}` : `Init:${reason}`;
}

function reasonOf({ status }: Container): string | undefined {
  const { waiting, terminated } = status?.state ?? {};
  return waiting?.reason || (terminated && ended(terminated));
}

function mainWord(pod: ClusterObject, containers: readonly Container[], initWord: string | undefined): string {
  const { phase = 'Unknown', reason } = pod.status ?? {};
  const [first] = containers.map(reasonOf).filter((one) => one !== undefined);
  const word = first ?? initWord ?? unscheduled(pod) ?? String(reason || phase);
  if (word !== 'Completed') return word;
  const isRunning = containers.some(({ status }) => status?.ready === true && status.state?.running !== undefined);
  if (isRunning && isReady(pod)) return 'Running';
  const failed = containers.find(({ status }) => (status?.state?.terminated?.exitCode ?? 0) !== 0);
  return (failed && reasonOf(failed)) ?? (isRunning ? 'NotReady' : word);
}

/** Returns the status of the condition `Ready` of a pod or a node. */
export const readinessOf = (object: ClusterObject): unknown => conditionIn(object, 'Ready')?.status;

export const isReady = (pod: ClusterObject): boolean => readinessOf(pod) === 'True';

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
