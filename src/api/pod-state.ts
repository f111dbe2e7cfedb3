/** State of a pod in a word, as `kubectl get pods` prints it. Source: printPod in kubernetes/pkg/printers/internalversion. */
import { z } from 'zod';
import { type Reading, reader } from './reader.ts';

const terminated = z.object({ reason: z.string(), exitCode: z.number(), signal: z.number(), finishedAt: z.string() });
const state = z.object({ waiting: z.object({ reason: z.string() }), running: z.object({}), terminated });

const containerStatus = z.object({
  name: z.string(),
  ready: z.boolean(),
  started: z.boolean(),
  restartCount: z.number(),
  state,
  lastState: state,
});

const pod = z.object({
  metadata: z.object({ deletionTimestamp: z.string() }),
  spec: z.object({
    containers: z.array(z.object({})),
    initContainers: z.array(z.object({ name: z.string(), restartPolicy: z.string() })),
  }),
  status: z.object({
    phase: z.string(),
    reason: z.string(),
    conditions: z.array(z.object({ type: z.string(), status: z.string(), reason: z.string() })),
    initContainerStatuses: z.array(containerStatus),
    containerStatuses: z.array(containerStatus),
  }),
});

const readPod = reader(pod);

type Pod = Reading<z.output<typeof pod>>;
type ContainerStatus = Reading<z.output<typeof containerStatus>>;
type ContainerState = Reading<z.output<typeof state>>;

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

/** @param object a Pod (core/v1), in which every member may be missing */
export function podState(object: unknown): PodState {
  const pod = readPod(object);
  const { spec, status = {} } = pod;
  const { initContainerStatuses = [], containerStatuses = [], phase = 'Unknown' } = status;
  // Sidecars: see "Sidecar Containers" in the documentation of Kubernetes.
  const names = new Set(spec?.initContainers?.filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => name));
  // Source: printPod counts no init container after the one that the pod waits for.
  const current = currentInit(initContainerStatuses, names);
  const begun = current < 0 ? initContainerStatuses : initContainerStatuses.slice(0, current + 1);
  const sidecars = begun.filter(({ name }) => names.has(name));
  const initWord = initState(pod, current);
  const isInitialized = initWord === undefined || conditionOf(pod, 'Initialized')?.status === 'True';
  const counted = isInitialized ? [...sidecars, ...containerStatuses] : begun;
  const running = isInitialized ? containerStatuses.filter(({ ready, state }) => ready && state?.running !== undefined) : [];
  const word = isInitialized ? mainState(pod, initWord, running.length > 0) : (initWord ?? phase);
  return {
    word: deletedState(pod) ?? word,
    ready: running.length + sidecars.filter(({ ready, started, state }) => ready && started && state?.terminated?.exitCode !== 0).length,
    total: (spec?.containers?.length ?? 0) + names.size,
    restarts: counted.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    lastRestartAt: lastEnd(counted),
  };
}

function deletedState({ metadata, status: { phase, reason } = {} }: Pod): string | undefined {
  if (metadata?.deletionTimestamp === undefined) return undefined;
  if (reason === 'NodeLost') return 'Unknown';
  return phase === 'Succeeded' || phase === 'Failed' ? undefined : 'Terminating';
}

const conditionOf = ({ status }: Pod, type: string) => status?.conditions?.find((condition) => condition.type === type);

function wordOf({ waiting, terminated }: ContainerState = {}): string | undefined {
  if (waiting?.reason) return waiting.reason;
  if (terminated === undefined) return undefined;
  return terminated.reason || (terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode ?? 0}`);
}

/** Returns the index of the init container that the pod waits for, -1 if it waits for none. */
const currentInit = (statuses: readonly ContainerStatus[], sidecars: ReadonlySet<string | undefined>): number =>
  statuses.findIndex(({ name, started, state }) => state?.terminated?.exitCode !== 0 && !(sidecars.has(name) && started));

function initState({ spec, status }: Pod, index: number): string | undefined {
  const current = status?.initContainerStatuses?.[index];
  if (current === undefined) return undefined;
  const word = wordOf(current.state);
  return word === undefined || word === 'PodInitializing' ? `Init:${index}/${spec?.initContainers?.length ?? 0}` : `Init:${word}`;
}

function mainState(pod: Pod, initWord: string | undefined, isRunning: boolean): string {
  const { containerStatuses = [], reason, phase = 'Unknown' } = pod.status ?? {};
  const gated = conditionOf(pod, 'PodScheduled')?.reason === 'SchedulingGated' ? 'SchedulingGated' : undefined;
  const words = containerStatuses.map(({ state }) => wordOf(state)).filter((word) => word !== undefined);
  const word = words[0] ?? initWord ?? gated ?? (reason || phase);
  if (word !== 'Completed') return word;
  const failed = containerStatuses.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  if (isRunning && conditionOf(pod, 'Ready')?.status === 'True') return 'Running';
  return (failed && wordOf(failed.state)) ?? (isRunning ? 'NotReady' : word);
}

function lastEnd(containers: readonly ContainerStatus[]): string | undefined {
  const ends = containers.map(({ lastState }) => lastState?.terminated?.finishedAt).filter((end) => end !== undefined);
  return ends.sort().at(-1);
}
