/** The kubelets: the containers of a pod start in their order, and their states make the phase and the conditions of the pod. */

import { hash } from 'node:crypto';
import type { Component } from '../component.ts';
import { timestamp } from '../objects.ts';
import { type Step, step, waitingStatus } from './containers.ts';
import { pullMs } from './images.ts';
import {
  allContainers,
  type Condition,
  type ContainerSpec,
  type ContainerStatus,
  collections,
  conditionSince,
  isSidecar,
  type Pod,
  type PodStatus,
  statusesOf,
} from './shapes.ts';

/** A toy container ends sooner than its grace period. */
const stopMs = 1_000;

export const reconcilePod = (kubelet: Component, pod: Pod): number | undefined =>
  pod.metadata.deletionTimestamp === undefined ? run(kubelet, pod) : stop(kubelet, pod);

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
  const [init, isInitialized] = initSteps(kubelet, pod);
  const main = mainSteps(kubelet, pod, isInitialized);
  const ephemeral = ephemeralSteps(kubelet, pod);
  const isOver = main.every(({ status, waitMs }) => status.state.terminated !== undefined && waitMs === undefined);
  const statuses: Statuses = {
    init: init.map(({ status }) => (isOver ? ended(status, timestamp(now)) : status)),
    main: main.map(({ status }) => status),
    isInitialized,
    isSandboxed: now.getTime() >= sandboxMs(pod),
  };
  kubelet.setStatus(collections.pods, pod, {
    ...pod.status,
    observedGeneration: pod.metadata.generation,
    ...(statuses.isSandboxed && addressesOf(pod)),
    phase: phaseOf(pod, statuses),
    ...(init.length > 0 && { initContainerStatuses: statuses.init }),
    containerStatuses: statuses.main,
    ...(ephemeral.length > 0 && { ephemeralContainerStatuses: ephemeral.map(({ status }) => status) }),
    conditions: conditionsOf(pod, statuses, now),
  });
  const waits = [...init, ...main, ...ephemeral].flatMap(({ waitMs }) => waitMs ?? []);
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

/** Init containers run one after the other; the next one waits for the end of a container, or the start of a sidecar. */
function initSteps(kubelet: Component, pod: Pod): [steps: Step[], isInitialized: boolean] {
  const { restartPolicy, initContainers = [] } = pod.spec;
  let isInitialized = true;
  const steps = initContainers.map((container): Step => {
    if (!isInitialized) return { status: statusOf(pod, container) };
    const rules = isSidecar(container)
      ? ({ restarts: 'Always' } as const)
      : ({ restarts: restartPolicy === 'Never' ? 'Never' : 'OnFailure', mustEnd: true } as const);
    const next = step({ kubelet, pod, container, ...rules }, statusOf(pod, container));
    isInitialized = isSidecar(container) ? next.status.started : next.status.state.terminated?.exitCode === 0;
    return next;
  });
  return [steps, isInitialized];
}

function mainSteps(kubelet: Component, pod: Pod, isInitialized: boolean): Step[] {
  const { restartPolicy: restarts = 'Always', containers } = pod.spec;
  return containers.map((container) => {
    const status = statusOf(pod, container);
    return isInitialized ? step({ kubelet, pod, container, restarts }, status) : { status };
  });
}

/** Ephemeral containers are never ready, and never restarted. */
const ephemeralSteps = (kubelet: Component, pod: Pod): Step[] =>
  (pod.spec.ephemeralContainers ?? []).map((container) => {
    const { status, waitMs } = step({ kubelet, pod, container, restarts: 'Never' }, statusOf(pod, container));
    const { started: _started, ...rest } = { ...status, ready: false };
    return { status: rest as ContainerStatus, waitMs };
  });

function statusOf(pod: Pod, container: ContainerSpec): ContainerStatus {
  const { initContainers = [], ephemeralContainers = [] } = pod.spec;
  const isWaiting = initContainers.length > 0 && !ephemeralContainers.includes(container);
  const old = statusesOf(pod).find(({ name }) => name === container.name);
  return old ?? waitingStatus(container, isWaiting ? 'PodInitializing' : 'ContainerCreating');
}

interface Statuses {
  init: readonly ContainerStatus[];
  main: readonly ContainerStatus[];
  isInitialized: boolean;
  isSandboxed: boolean;
}

function phaseOf({ spec, status }: Pod, { init, main, isInitialized }: Statuses): PodStatus['phase'] {
  const hasFailed = ({ state }: ContainerStatus) => (state.terminated?.exitCode ?? 0) !== 0;
  if (spec.restartPolicy === 'Never' && !isInitialized && init.some(hasFailed)) return 'Failed';
  if (main.every(({ state }) => state.terminated)) return main.some(hasFailed) ? 'Failed' : 'Succeeded';
  const hasRun = main.some(({ lastState, state }) => lastState.terminated ?? state.running ?? state.terminated);
  const isCreating = main.some(({ state }) => state.waiting?.reason === 'ContainerCreating' || state.waiting?.reason === 'PodInitializing');
  return hasRun && !isCreating ? 'Running' : status.phase;
}

function conditionsOf({ spec, status }: Pod, { init, main, isInitialized, isSandboxed }: Statuses, now: Date): Condition[] {
  const sidecars = init.filter(({ name }) => spec.initContainers?.some((one) => one.name === name && isSidecar(one)));
  const notReady = [...sidecars, ...main].filter(({ ready }) => !ready);
  const incomplete = init.filter((one) => !one.ready && !(sidecars.includes(one) && one.started));
  const why = (reason: string, word: string, names: readonly ContainerStatus[]) =>
    names.length > 0 ? { reason, message: `containers with ${word} status: [${names.map(({ name }) => name).join(' ')}]` } : {};
  const unready = why('ContainersNotReady', 'unready', notReady);
  const condition = (type: string, isTrue: boolean, reason: Pick<Condition, 'reason' | 'message'> = {}) =>
    conditionSince(status.conditions, { type, status: isTrue ? 'True' : 'False', ...reason }, now);
  return [
    condition('PodReadyToStartContainers', isSandboxed),
    condition('Initialized', isInitialized, isInitialized ? {} : why('ContainersNotInitialized', 'incomplete', incomplete)),
    condition('Ready', notReady.length === 0, unready),
    condition('ContainersReady', notReady.length === 0, unready),
    condition('PodScheduled', spec.nodeName !== undefined),
  ];
}
