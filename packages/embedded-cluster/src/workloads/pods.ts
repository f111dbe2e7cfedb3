/** The kubelets: the containers of a pod start in their order, and their states make the phase and the conditions of the pod. */

import { hash } from 'node:crypto';
import type { Component } from '../component.ts';
import { timestamp } from '../objects.ts';
import { type Step, step, waitingStatus } from './containers.ts';
import { pullMs } from './images.ts';
import { schedule } from './scheduling.ts';
import {
  allContainers,
  type Condition,
  type ContainerSpec,
  type ContainerStatus,
  collections,
  conditionOf,
  isSidecar,
  type Pod,
  type PodStatus,
  statusesOf,
} from './shapes.ts';

/** A toy container ends sooner than its grace period. */
const stopMs = 1_000;

/** Brings a pod one step further. @returns when to look again, in milliseconds */
export function reconcilePod(scheduler: Component, kubelet: Component, key: string): number | undefined {
  const pod = kubelet.get<Pod>(collections.pods, key);
  if (pod === undefined) return undefined;
  if (pod.metadata.deletionTimestamp !== undefined) return stop(kubelet, pod);
  if (pod.spec.nodeName !== undefined) return run(kubelet, pod);
  schedule(scheduler, pod);
  return undefined;
}

function stop(kubelet: Component, pod: Pod): number | undefined {
  const { deletionTimestamp = '', deletionGracePeriodSeconds = 0 } = pod.metadata;
  const askedAt = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  const leftMs = askedAt + stopMs - kubelet.now().getTime();
  if (leftMs > 0) return leftMs;
  for (const { name } of allContainers(pod)) kubelet.event(pod, 'Normal', 'Killing', `Stopping container ${name}`);
  kubelet.remove(collections.pods, pod, { graceSeconds: 0 });
  return undefined;
}

/** Addresses of no real network, the same for a pod each time. */
function addressesOf({ metadata, spec }: Pod) {
  const number = (text: string) => Number.parseInt(hash('sha256', text).slice(0, 6), 16);
  return {
    hostIP: `10.0.0.${(number(spec.nodeName ?? '') % 200) + 10}`,
    podIP: `10.244.${number(spec.nodeName ?? '') % 250}.${(number(metadata.uid) % 250) + 2}`,
  };
}

function run(kubelet: Component, pod: Pod): number | undefined {
  const now = kubelet.now();
  const containers = new PodContainers(kubelet, pod);
  const [init, isInitialized] = containers.init();
  const main = containers.main(isInitialized);
  const ephemeral = containers.ephemeral();
  const isOver = main.every(({ status, waitMs }) => status.state.terminated !== undefined && waitMs === undefined);
  const statuses: Statuses = {
    init: init.map(({ status }) => (isOver ? ended(status, timestamp(now)) : status)),
    main: main.map(({ status }) => status),
    isInitialized,
  };
  const isSandboxed = now.getTime() >= sandboxMs(pod);
  kubelet.setStatus(collections.pods, pod, {
    ...pod.status,
    observedGeneration: pod.metadata.generation,
    ...(isSandboxed && addressesOf(pod)),
    phase: phaseOf(pod, statuses),
    ...(init.length > 0 && { initContainerStatuses: statuses.init }),
    containerStatuses: statuses.main,
    ...(ephemeral.length > 0 && { ephemeralContainerStatuses: ephemeral.map(({ status }) => status) }),
    conditions: conditionsOf(pod, { ...statuses, isSandboxed, time: timestamp(now) }),
  });
  const waits = [...init, ...main, ...ephemeral].map(({ waitMs }) => waitMs).filter((ms) => ms !== undefined);
  return waits.length > 0 ? Math.max(50, Math.min(...waits)) : undefined;
}

/** The sandbox of a pod, with its addresses, is there once the images are. */
const sandboxMs = ({ status }: Pod) => Date.parse(status.startTime ?? '') + pullMs;

/** Sidecars end with the last container. */
const ended = (status: ContainerStatus, finishedAt: string): ContainerStatus => {
  const { running } = status.state;
  if (running === undefined) return status;
  const terminated = { exitCode: 0, reason: 'Completed', startedAt: running.startedAt, finishedAt };
  return { ...status, ready: false, started: false, state: { terminated } };
};

/** Steps through the containers of a pod. */
class PodContainers {
  readonly #kubelet: Component;
  readonly #pod: Pod;
  readonly #now: number;

  constructor(kubelet: Component, pod: Pod) {
    this.#kubelet = kubelet;
    this.#pod = pod;
    this.#now = kubelet.now().getTime();
  }

  /** Init containers run one after the other; the next one waits for the end of a container, or the start of a sidecar. */
  init(): [steps: Step[], isInitialized: boolean] {
    const { restartPolicy = 'Always', initContainers = [] } = this.#pod.spec;
    let isInitialized = true;
    const steps = initContainers.map((container): Step => {
      if (!isInitialized) return { status: this.#statusOf(container) };
      const restarts = restartPolicy === 'Never' ? 'Never' : 'OnFailure';
      const next = isSidecar(container) ? this.#step(container, 'Always') : this.#step(container, restarts, true);
      const { started, state } = next.status;
      isInitialized = isSidecar(container) ? started : state.terminated?.exitCode === 0;
      return next;
    });
    return [steps, isInitialized];
  }

  main(isInitialized: boolean): Step[] {
    const { restartPolicy = 'Always', containers } = this.#pod.spec;
    return containers.map((container) => (isInitialized ? this.#step(container, restartPolicy) : { status: this.#statusOf(container) }));
  }

  /** Ephemeral containers are never ready, and never restarted. */
  ephemeral(): Step[] {
    return (this.#pod.spec.ephemeralContainers ?? []).map((container) => {
      const { status, waitMs } = this.#step(container, 'Never');
      const { started: _started, ...rest } = { ...status, ready: false };
      return { status: rest as ContainerStatus, waitMs };
    });
  }

  #step(container: ContainerSpec, restarts: 'Always' | 'OnFailure' | 'Never', mustEnd = false): Step {
    const at = { kubelet: this.#kubelet, pod: this.#pod, now: this.#now };
    return step({ ...at, container, restarts, mustEnd }, this.#statusOf(container));
  }

  #statusOf(container: ContainerSpec): ContainerStatus {
    const { initContainers = [], ephemeralContainers = [] } = this.#pod.spec;
    const isWaiting = initContainers.length > 0 && !ephemeralContainers.includes(container);
    const old = statusesOf(this.#pod).find(({ name }) => name === container.name);
    return old ?? waitingStatus(container, isWaiting ? 'PodInitializing' : 'ContainerCreating');
  }
}

interface Statuses {
  init: readonly ContainerStatus[];
  main: readonly ContainerStatus[];
  isInitialized: boolean;
}

function phaseOf({ spec, status }: Pod, { init, main, isInitialized }: Statuses): PodStatus['phase'] {
  const hasFailed = ({ state }: ContainerStatus) => (state.terminated?.exitCode ?? 0) !== 0;
  if (spec.restartPolicy === 'Never' && !isInitialized && init.some(hasFailed)) return 'Failed';
  if (main.every(({ state }) => state.terminated)) return main.some(hasFailed) ? 'Failed' : 'Succeeded';
  const hasRun = main.some(({ lastState, state }) => lastState.terminated ?? state.running ?? state.terminated);
  const isCreating = main.some(({ state }) => state.waiting?.reason === 'ContainerCreating' || state.waiting?.reason === 'PodInitializing');
  return hasRun && !isCreating ? 'Running' : status.phase;
}

interface Progress extends Statuses {
  isSandboxed: boolean;
  time: string;
}

function conditionsOf({ spec, status }: Pod, { init, main, isInitialized, isSandboxed, time }: Progress): Condition[] {
  const old = status.conditions ?? [];
  const sidecars = init.filter(({ name }) => spec.initContainers?.some((one) => one.name === name && isSidecar(one)));
  const notReady = [...sidecars, ...main].filter(({ ready }) => !ready);
  const incomplete = init.filter((one) => !one.ready && !(sidecars.includes(one) && one.started));
  const why = (reason: string, word: string, names: readonly ContainerStatus[]) =>
    names.length > 0 ? { reason, message: `containers with ${word} status: [${names.map(({ name }) => name).join(' ')}]` } : {};
  const unready = why('ContainersNotReady', 'unready', notReady);
  return [
    condition(old, 'PodReadyToStartContainers', isSandboxed, time),
    condition(old, 'Initialized', isInitialized, time, isInitialized ? {} : why('ContainersNotInitialized', 'incomplete', incomplete)),
    condition(old, 'Ready', notReady.length === 0, time, unready),
    condition(old, 'ContainersReady', notReady.length === 0, time, unready),
    condition(old, 'PodScheduled', spec.nodeName !== undefined, time),
  ];
}

function condition(
  old: readonly Condition[],
  type: string,
  isTrue: boolean,
  time: string,
  why: Pick<Condition, 'reason' | 'message'> = {},
): Condition {
  const status = isTrue ? 'True' : 'False';
  const before = conditionOf(old, type);
  return { type, status, ...why, lastTransitionTime: before?.status === status ? (before.lastTransitionTime ?? time) : time };
}
