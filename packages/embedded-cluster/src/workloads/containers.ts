/** The containers of a pod on their node: images are pulled, and containers run, end and start again. */

import { hash } from 'node:crypto';
import type { Component } from '../component.ts';
import { timestamp } from '../objects.ts';
import { pullMs, type Run, runIn, runOf } from './images.ts';
import type { ContainerSpec, ContainerStatus, Pod } from './shapes.ts';

/** The kubelet's back-off between restarts: doubled each time. */
const firstBackOffMs = 10_000;
const maxBackOffMs = 300_000;
/** Run time of an init container whose image would run until it is stopped. */
const initMs = 2_000;

/** A container of a pod, with its rules. */
export interface At {
  kubelet: Component;
  pod: Pod;
  container: ContainerSpec;
  restarts: 'Always' | 'OnFailure' | 'Never';
  /** An init container that must end before the next one starts. */
  mustEnd?: boolean;
}

const now = ({ kubelet }: At): number => kubelet.now().getTime();

export interface Step {
  status: ContainerStatus;
  /** Milliseconds until the next change; unset: the status stays. */
  waitMs?: number | undefined;
}

/** Returns the status of a container that waits for its turn. */
export const waitingStatus = ({ name, image }: ContainerSpec, reason: string): ContainerStatus => ({
  ...{ name, image, imageID: '', ready: false, started: false, restartCount: 0 },
  ...{ state: { waiting: { reason } }, lastState: {} },
});

/** Returns the next status of a container. */
export function step(at: At, status: ContainerStatus): Step {
  const { container } = at;
  // A new image in a running pod: the kubelet restarts the container.
  if (status.image !== container.image)
    return pull(at, { ...status, image: container.image, ready: false, state: { waiting: { reason: 'ContainerCreating' } } });
  const { waiting, running } = status.state;
  if (running !== undefined) return whileRunning(at, status, Date.parse(running.startedAt));
  if (waiting?.reason === 'CrashLoopBackOff') return afterBackOff(at, status);
  return waiting === undefined ? { status } : pull(at, status);
}

function pull(at: At, status: ContainerStatus): Step {
  const { kubelet, pod, container } = at;
  const leftMs = Date.parse(pod.status.startTime ?? '') + pullMs - now(at);
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

function start(at: At, status: ContainerStatus): Step {
  const { kubelet, pod, container, mustEnd = false } = at;
  const startedAt = timestamp(kubelet.now());
  kubelet.event(pod, 'Normal', 'Pulled', `Container image "${container.image}" already present on machine`);
  kubelet.event(pod, 'Normal', 'Started', `Started container ${container.name}`);
  const imageID = `${container.image.split(':')[0]}@sha256:${hash('sha256', container.image)}`;
  const running = { ...status, imageID, ready: !mustEnd, started: true, state: { running: { startedAt } } };
  return whileRunning(at, running, now(at));
}

function whileRunning(at: At, status: ContainerStatus, startedMs: number): Step {
  const { endsAfterMs = at.mustEnd ? initMs : undefined } = runIn(at.container) ?? {};
  if (endsAfterMs === undefined) return { status };
  const leftMs = startedMs + endsAfterMs - now(at);
  return leftMs > 0 ? { status, waitMs: leftMs } : end(at, status, startedMs);
}

function end(at: At, status: ContainerStatus, startedMs: number): Step {
  const { kubelet, pod, container } = at;
  const { exitCode = 0, reason = exitCode === 0 ? 'Completed' : 'Error' } = runIn(container) as Run;
  const terminated = { exitCode, reason, startedAt: timestamp(new Date(startedMs)), finishedAt: timestamp(kubelet.now()) };
  const ended = { ...status, ready: at.mustEnd === true && exitCode === 0, started: false, state: { terminated } };
  if (!mayRestart(at, exitCode)) return { status: ended };
  const waitMs = backOffMs(status.restartCount);
  const place = `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
  const message = `back-off ${waitMs / 1000}s restarting failed container=${container.name} pod=${place}`;
  kubelet.event(pod, 'Warning', 'BackOff', `Back-off restarting failed container ${container.name} in pod ${pod.metadata.name}`);
  return { status: { ...ended, state: { waiting: { reason: 'CrashLoopBackOff', message } }, lastState: { terminated } }, waitMs };
}

const backOffMs = (restarts: number) => Math.min(firstBackOffMs * 2 ** restarts, maxBackOffMs);

function afterBackOff(at: At, status: ContainerStatus): Step {
  const endedMs = Date.parse(status.lastState.terminated?.finishedAt ?? '');
  const leftMs = endedMs + backOffMs(status.restartCount) - now(at);
  return leftMs > 0 ? { status, waitMs: leftMs } : start(at, { ...status, restartCount: status.restartCount + 1 });
}

const mayRestart = ({ restarts, mustEnd = false }: At, exitCode: number): boolean =>
  restarts === 'Always' ? !mustEnd || exitCode !== 0 : restarts === 'OnFailure' && exitCode !== 0;
