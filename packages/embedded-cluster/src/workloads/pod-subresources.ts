/** Subresources of pods: logs, evictions and commands. */

import { once } from 'node:events';
import { badRequest, notImplemented } from '../../../../src/api/status.ts';
import { findObject, getObject } from '../backend.ts';
import { Component } from '../component.ts';
import { timestamp } from '../objects.ts';
import { isTrue } from '../request-info.ts';
import type { Backend, Exchange, SubresourceAnswer, Target, Upgrade } from '../resources.ts';
import { evict } from './disruption.ts';
import { execute } from './exec.ts';
import { ContainerLog, type LogOptions, lifeOf } from './log.ts';
import { allContainers, type ContainerStatus, collections, type Pod, statusesOf } from './shapes.ts';

const core = { group: '', version: 'v1' };

/** A subresource that streams over a WebSocket and refuses other requests. */
const streamed = (name: string, kind: string, stream?: SubresourceAnswer['stream']): SubresourceAnswer => ({
  ...{ ...core, kind, verbs: ['create', 'get'], ...(stream && { stream }) },
  async answer() {
    throw notImplemented(stream ? `pods/${name} without a WebSocket` : `pods/${name}`);
  },
});

export const podSubresources: Readonly<Record<string, SubresourceAnswer>> = {
  log: { ...core, kind: 'Pod', verbs: ['get'], answer: sendLog, stream: streamLog },
  eviction: { kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'], answer: evict },
  exec: streamed('exec', 'PodExecOptions', (upgrade, target) => streamCommand(upgrade, target)),
  attach: streamed('attach', 'PodAttachOptions', (upgrade, target) => streamCommand(upgrade, target, true)),
  portforward: streamed('portforward', 'PodPortForwardOptions'),
};

/** Runs a command, or attaches: the process of a toy container is a toy shell, too. */
async function streamCommand(upgrade: Upgrade, target: Target, isAttached = false): Promise<void> {
  const { backend, info } = upgrade;
  const pod = getObject(backend, target) as Pod;
  const { name, state } = containerOf(pod, info.query.get('container') ?? '');
  const container = allContainers(pod).find((one) => one.name === name);
  if (container === undefined || state.running === undefined) throw badRequest(`container ${name} is not running`);
  const isProcess = isAttached && pod.spec.ephemeralContainers?.includes(container);
  await execute(upgrade, pod, container, isProcess ? (code) => endEphemeral(backend, target, name, code) : undefined);
}

/** The shell that an attached caller leaves is the process of the ephemeral container. */
function endEphemeral(backend: Backend, target: Target, name: string, exitCode: number): void {
  const pod = findObject(backend, target) as Pod | undefined;
  const finishedAt = timestamp(backend.now());
  const ephemeralContainerStatuses = pod?.status.ephemeralContainerStatuses?.map((status) => {
    const { running } = status.state;
    if (status.name !== name || running === undefined) return status;
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    return { ...status, state: { terminated: { exitCode, reason, startedAt: running.startedAt, finishedAt } } };
  });
  if (pod) new Component(backend, 'kubelet').setStatus(collections.pods, pod, { ...pod.status, ephemeralContainerStatuses });
}

/** The place where lines go. */
interface Reader {
  /** Resolves once more may be sent. */
  send(text: string): Promise<void>;
  gone: AbortSignal;
}

async function sendLog(exchange: Exchange, target: Target): Promise<void> {
  const { response } = exchange;
  const log = openLog(exchange, target);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-cache, private' });
  await log({
    gone: gone.signal,
    async send(text) {
      if (!response.write(text)) await once(response, 'drain', { signal: gone.signal }).catch(() => {});
    },
  });
  response.end();
}

/** Sends each piece of the log as a message, and closes with 1000 at the end of the log, as kube-apiserver does. */
async function streamLog(upgrade: Upgrade, target: Target): Promise<void> {
  const log = openLog(upgrade, target);
  const socket = await upgrade.accept(['binary.k8s.io', '']);
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  await log({
    gone: gone.signal,
    send: (text) => new Promise((resolve) => socket.send(Buffer.from(text), () => resolve())),
  });
  socket.close(1000);
}

/** Checks what is asked. @returns what sends the log to a reader @throws StatusError 400 or 404 */
function openLog({ backend, info: { query } }: Pick<Exchange, 'backend' | 'info'>, target: Target): (reader: Reader) => Promise<void> {
  const pod = getObject(backend, target) as Pod;
  const container = query.get('container') ?? '';
  const status = containerOf(pod, container);
  const now = () => backend.now().getTime();
  const options = logOptions(query, now());
  const life = lifeOf(status, options.previous);
  if (life === undefined) throw badRequest(whyNoLog(pod, status, options));
  const log = new ContainerLog(pod, status, life, options, now());
  const isFollowed = isTrue(query.get('follow')) && life.endMs === undefined;
  return async ({ send, gone }) => {
    await send(log.read(now()));
    // The stream ends with the life of the container.
    while (isFollowed && !gone.aborted && isRunning(backend, target, container, status.restartCount)) {
      await pause(Math.min(log.waitMs(now()), 1_000), gone);
      const text = log.read(now());
      if (text) await send(text);
    }
  };
}

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });

function isRunning(backend: Backend, target: Target, container: string, restarts: number): boolean {
  const pod = findObject(backend, target) as Pod | undefined;
  const status = pod && containerOf(pod, container);
  return status?.state.running !== undefined && status.restartCount === restarts;
}

/** @throws StatusError 400 in the words of kube-apiserver and the kubelet */
function containerOf(pod: Pod, name: string): ContainerStatus {
  const { metadata, spec } = pod;
  const names = allContainers(pod).map((container) => container.name);
  if (name === '' && spec.containers.length > 1)
    throw badRequest(`a container name must be specified for pod ${metadata.name}, choose one of: [${names.join(' ')}]`);
  const wanted = name || spec.containers[0]?.name;
  if (wanted === undefined || !names.includes(wanted)) throw badRequest(`container ${name} is not valid for pod ${metadata.name}`);
  const found = statusesOf(pod).find((one) => one.name === wanted);
  if (found !== undefined) return found;
  throw badRequest(
    spec.nodeName === undefined
      ? `pod ${metadata.name} does not have a host assigned`
      : `container "${wanted}" in pod "${metadata.name}" is waiting to start: ContainerCreating`,
  );
}

const whyNoLog = ({ metadata }: Pod, { name, state }: ContainerStatus, { previous }: LogOptions) =>
  previous
    ? `previous terminated container "${name}" in pod "${metadata.name}" not found`
    : `container "${name}" in pod "${metadata.name}" is waiting to start: ${state.waiting?.reason ?? 'ContainerCreating'}`;

function logOptions(query: URLSearchParams, now: number): LogOptions {
  const number = (key: string) => {
    const text = query.get(key);
    if (text === null) return undefined;
    if (!/^\d{1,9}$/.test(text)) throw badRequest(`${key} must be a whole number that is not negative`);
    return Number(text);
  };
  const seconds = number('sinceSeconds');
  const time = query.get('sinceTime');
  const sinceMs = time === null ? seconds && now - seconds * 1000 : Date.parse(time);
  if (Number.isNaN(sinceMs)) throw badRequest('sinceTime must be a time as in RFC 3339');
  return { previous: isTrue(query.get('previous')), timestamps: isTrue(query.get('timestamps')), tailLines: number('tailLines'), sinceMs };
}
