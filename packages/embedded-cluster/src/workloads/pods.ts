/** The scheduler and the kubelets: a pod gets a node, its images are pulled, and its containers run, end and start again. */

import { hash } from 'node:crypto';
import { timestamp } from '../objects.ts';
import type { Component } from './component.ts';
import { pullMs, type Run, runOf } from './images.ts';
import { pinnedNode } from './owned-pods.ts';
import {
  type Condition,
  type ContainerSpec,
  type ContainerState,
  type ContainerStatus,
  collections,
  conditionOf,
  type Node,
  type Pod,
  type PodStatus,
} from './shapes.ts';

/** The kubelet's back-off between restarts: doubled each time. */
const firstBackOffMs = 10_000;
const maxBackOffMs = 300_000;
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
  for (const { name } of pod.spec.containers) kubelet.event(pod, 'Normal', 'Killing', `Stopping container ${name}`);
  kubelet.remove(collections.pods, pod, { graceSeconds: 0 });
  return undefined;
}

function schedule(scheduler: Component, pod: Pod): void {
  const nodes = scheduler.list<Node>(collections.nodes);
  const pinned = pinnedNode(pod);
  const labelled = nodes.filter(
    (node) => hasLabels(node, pod.spec.nodeSelector ?? {}) && (pinned === undefined || pinned === node.metadata.name),
  );
  const isTolerant = toleratesCordon(pod);
  const fitting = labelled.filter(({ spec }) => isTolerant || spec.unschedulable !== true);
  if (fitting.length > 0) {
    bind(scheduler, pod, leastUsed(scheduler, fitting));
    return;
  }
  const cordoned = labelled.length;
  const reasons = [
    ...(cordoned > 0 ? [`${cordoned} node(s) were unschedulable`] : []),
    ...(nodes.length > cordoned ? [`${nodes.length - cordoned} node(s) didn't match Pod's node affinity/selector`] : []),
  ];
  const message = `0/${nodes.length} nodes are available: ${reasons.join(', ') || 'no nodes available to schedule pods'}.`;
  const waiting: Condition = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message,
    lastTransitionTime: timestamp(scheduler.now()),
  };
  if (conditionOf(pod.status.conditions, 'PodScheduled')?.message === message) return;
  scheduler.setStatus(collections.pods, pod, { ...pod.status, conditions: [waiting] });
  scheduler.event(pod, 'Warning', 'FailedScheduling', message);
}

/** Pods of DaemonSets run on cordoned nodes, too. */
const toleratesCordon = ({ spec }: Pod) =>
  ((spec.tolerations as { key?: string }[] | undefined) ?? []).some(({ key }) => key === 'node.kubernetes.io/unschedulable');

const hasLabels = ({ metadata }: Node, wanted: Record<string, string>) =>
  Object.entries(wanted).every(([key, value]) => metadata.labels?.[key] === value);

function leastUsed(scheduler: Component, nodes: readonly Node[]): string {
  const pods = scheduler.list<Pod>(collections.pods);
  const count = ({ metadata }: Node) => pods.filter(({ spec }) => spec.nodeName === metadata.name).length;
  return nodes.toSorted((a, b) => count(a) - count(b))[0]?.metadata.name ?? '';
}

function bind(scheduler: Component, pod: Pod, nodeName: string): void {
  const time = timestamp(scheduler.now());
  const bound = scheduler.update(collections.pods, { ...pod, spec: { ...pod.spec, nodeName } });
  const conditions = [condition([], 'PodScheduled', true, time)];
  scheduler.setStatus(collections.pods, bound, { ...bound.status, conditions, startTime: time });
  scheduler.event(pod, 'Normal', 'Scheduled', `Successfully assigned ${pod.metadata.namespace}/${pod.metadata.name} to ${nodeName}`);
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
  const now = kubelet.now().getTime();
  const steps = pod.spec.containers.map((container) => step({ kubelet, pod, container, now }));
  const containerStatuses = steps.map(({ status }) => status);
  const phase = phaseOf(pod, containerStatuses);
  const conditions = conditionsOf(pod, containerStatuses, timestamp(kubelet.now()));
  const isStarted = containerStatuses.some(({ state, lastState }) => state.running ?? state.terminated ?? lastState.terminated);
  const status = { ...pod.status, ...(isStarted && addressesOf(pod)), phase, containerStatuses, conditions };
  kubelet.setStatus(collections.pods, pod, status);
  const waits = steps.map(({ waitMs }) => waitMs).filter((ms) => ms !== undefined);
  return waits.length > 0 ? Math.max(50, Math.min(...waits)) : undefined;
}

interface At {
  kubelet: Component;
  pod: Pod;
  container: ContainerSpec;
  now: number;
}

interface Step {
  status: ContainerStatus;
  /** Milliseconds until the next change; unset: nothing changes by itself. */
  waitMs?: number | undefined;
}

/** The next status of a container. */
function step(at: At): Step {
  const { pod, container, now } = at;
  const old = pod.status.containerStatuses?.find(({ name }) => name === container.name);
  const status: ContainerStatus = old ?? {
    ...{ name: container.name, image: container.image, imageID: '', ready: false, started: false, restartCount: 0 },
    ...{ state: { waiting: { reason: 'ContainerCreating' } }, lastState: {} },
  };
  // A new image in a running pod: the kubelet restarts the container.
  if (status.image !== container.image)
    return pull(at, { ...status, image: container.image, ready: false, state: { waiting: { reason: 'ContainerCreating' } } });
  const { waiting, running } = status.state;
  if (running !== undefined) return whileRunning(at, status, Date.parse(running.startedAt));
  if (waiting?.reason === 'CrashLoopBackOff') return afterBackOff(at, status);
  if (waiting !== undefined) return pull(at, status);
  return { status, waitMs: mayRestart(pod, status) ? now : undefined };
}

function pull(at: At, status: ContainerStatus): Step {
  const { kubelet, pod, container, now } = at;
  const leftMs = Date.parse(pod.status.startTime ?? '') + pullMs - now;
  if (leftMs > 0) return { status, waitMs: leftMs };
  if (runOf(container.image) !== undefined) return start(at, status);
  const wasRefused = status.state.waiting?.reason === 'ErrImagePull' || status.state.waiting?.reason === 'ImagePullBackOff';
  const notFound = `failed to pull and unpack image "${container.image}": failed to resolve reference "${container.image}": not found`;
  if (!wasRefused) {
    kubelet.event(pod, 'Warning', 'Failed', `Failed to pull image "${container.image}": ${notFound}`);
    return { status: { ...status, state: { waiting: { reason: 'ErrImagePull', message: notFound } } }, waitMs: firstBackOffMs / 5 };
  }
  kubelet.event(pod, 'Warning', 'BackOff', `Back-off pulling image "${container.image}"`);
  const message = `Back-off pulling image "${container.image}": ErrImagePull: ${notFound}`;
  return { status: { ...status, state: { waiting: { reason: 'ImagePullBackOff', message } } }, waitMs: maxBackOffMs };
}

function start({ kubelet, pod, container, now }: At, status: ContainerStatus): Step {
  const startedAt = timestamp(new Date(now));
  kubelet.event(pod, 'Normal', 'Pulled', `Container image "${container.image}" already present on machine`);
  kubelet.event(pod, 'Normal', 'Started', `Started container ${container.name}`);
  const imageID = `${container.image.split(':')[0]}@sha256:${hash('sha256', container.image)}`;
  const running = { ...status, imageID, ready: true, started: true, state: { running: { startedAt } } };
  return whileRunning({ kubelet, pod, container, now }, running, now);
}

function whileRunning(at: At, status: ContainerStatus, startedMs: number): Step {
  const { endsAfterMs } = runOf(status.image) ?? {};
  if (endsAfterMs === undefined) return { status };
  const leftMs = startedMs + endsAfterMs - at.now;
  return leftMs > 0 ? { status, waitMs: leftMs } : end(at, status, startedMs);
}

function end({ kubelet, pod, container, now }: At, status: ContainerStatus, startedMs: number): Step {
  const { exitCode = 0, reason = exitCode === 0 ? 'Completed' : 'Error' } = runOf(status.image) as Run;
  const terminated = { exitCode, reason, startedAt: timestamp(new Date(startedMs)), finishedAt: timestamp(new Date(now)) };
  const ended = { ...status, ready: false, started: false, state: { terminated } };
  if (!mayRestart(pod, ended)) return { status: ended };
  const waitMs = backOffMs(status.restartCount);
  const message = `back-off ${waitMs / 1000}s restarting failed container=${container.name} pod=${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
  kubelet.event(pod, 'Warning', 'BackOff', `Back-off restarting failed container ${container.name} in pod ${pod.metadata.name}`);
  return { status: { ...ended, state: { waiting: { reason: 'CrashLoopBackOff', message } }, lastState: { terminated } }, waitMs };
}

const backOffMs = (restarts: number) => Math.min(firstBackOffMs * 2 ** restarts, maxBackOffMs);

function afterBackOff(at: At, status: ContainerStatus): Step {
  const endedMs = Date.parse(status.lastState.terminated?.finishedAt ?? '');
  const leftMs = endedMs + backOffMs(status.restartCount) - at.now;
  return leftMs > 0 ? { status, waitMs: leftMs } : start(at, { ...status, restartCount: status.restartCount + 1 });
}

function mayRestart({ spec }: Pod, { state }: ContainerStatus): boolean {
  if (spec.restartPolicy === 'Never') return false;
  return spec.restartPolicy !== 'OnFailure' || state.terminated?.exitCode !== 0;
}

function phaseOf(pod: Pod, statuses: readonly ContainerStatus[]): PodStatus['phase'] {
  const is =
    (state: keyof ContainerState) =>
    ({ state: given }: ContainerStatus) =>
      given[state] !== undefined;
  if (statuses.every(is('terminated'))) return statuses.every(({ state }) => state.terminated?.exitCode === 0) ? 'Succeeded' : 'Failed';
  const hasRun = statuses.some(({ lastState, state }) => lastState.terminated ?? state.running ?? state.terminated);
  return hasRun && !statuses.some(({ state }) => state.waiting?.reason === 'ContainerCreating') ? 'Running' : pod.status.phase;
}

function conditionsOf({ spec, status }: Pod, statuses: readonly ContainerStatus[], time: string): Condition[] {
  const old = status.conditions ?? [];
  const notReady = statuses.filter(({ ready }) => !ready).map(({ name }) => name);
  const why = { reason: 'ContainersNotReady', message: `containers with unready status: [${notReady.join(' ')}]` };
  const isPulled = statuses.some(({ state }) => state.waiting?.reason !== 'ContainerCreating');
  return [
    condition(old, 'PodReadyToStartContainers', isPulled, time),
    condition(old, 'Initialized', true, time),
    condition(old, 'Ready', notReady.length === 0, time, notReady.length > 0 ? why : {}),
    condition(old, 'ContainersReady', notReady.length === 0, time, notReady.length > 0 ? why : {}),
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
