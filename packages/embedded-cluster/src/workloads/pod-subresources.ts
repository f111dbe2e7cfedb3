/** What a node answers for a pod (`log`), and the API server for one that has to go (`eviction`). */

import { once } from 'node:events';
import { badRequest, notImplemented } from '../../../../src/api/status.ts';
import { type Backend, findObject, getObject, type Target } from '../backend.ts';
import { deleteObject, deleteOptions } from '../delete.ts';
import { type Exchange, requiredObject, sendJson } from '../exchange.ts';
import { isTrue } from '../request-info.ts';
import type { SubresourceAnswer } from '../resources.ts';
import { ContainerLog, type LogOptions, lifeOf } from './log.ts';
import type { ContainerStatus, Pod } from './shapes.ts';

const onPod = (
  kind: string,
  verbs: readonly string[],
  answer: SubresourceAnswer['answer'],
  group = '',
  version = 'v1',
): SubresourceAnswer => ({
  ...{ kind, group, version, verbs, answer },
});

const refusal = (name: string) => async () => {
  throw notImplemented(`pods/${name}`);
};

export const podSubresources: Readonly<Record<string, SubresourceAnswer>> = {
  log: onPod('Pod', ['get'], sendLog),
  eviction: onPod('Eviction', ['create'], evict, 'policy'),
  exec: onPod('PodExecOptions', ['create', 'get'], refusal('exec')),
  attach: onPod('PodAttachOptions', ['create', 'get'], refusal('attach')),
  portforward: onPod('PodPortForwardOptions', ['create', 'get'], refusal('portforward')),
};

async function evict(exchange: Exchange, target: Target): Promise<void> {
  const { backend, info } = exchange;
  const { deleteOptions: body } = await requiredObject(exchange, 'Eviction');
  deleteObject(backend, target, deleteOptions(info.query, body), { user: exchange.user, warn: () => {} });
  sendJson(exchange, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}

async function sendLog(exchange: Exchange, target: Target): Promise<void> {
  const { backend, info, response } = exchange;
  const pod = getObject(backend, target) as Pod;
  const status = containerOf(pod, info.query.get('container') ?? '');
  const now = () => backend.now().getTime();
  const options = logOptions(info.query, now());
  const life = lifeOf(status, options.previous);
  if (life === undefined) throw badRequest(whyNoLog(pod, status, options));
  const log = new ContainerLog(pod, status, life, options, now());
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-cache, private' });
  response.write(log.read(now()));
  if (isTrue(info.query.get('follow')) && life.endMs === undefined) await follow(exchange, { target, log, restarts: status.restartCount });
  response.end();
}

interface Followed {
  target: Target;
  log: ContainerLog;
  /** The restarts when the reader came: the stream ends with the life of the container. */
  restarts: number;
}

/** Sends lines as they come until the container ends or the reader goes. */
async function follow({ backend, response, info }: Exchange, { target, log, restarts }: Followed): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  while (!gone.signal.aborted && isRunning(backend, target, info.query.get('container') ?? '', restarts)) {
    await pause(Math.min(log.waitMs(backend.now().getTime()), 1_000), gone.signal);
    const text = log.read(backend.now().getTime());
    if (text && !response.write(text)) await once(response, 'drain', { signal: gone.signal }).catch(() => {});
  }
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
function containerOf({ metadata, spec, status }: Pod, name: string): ContainerStatus {
  const names = spec.containers.map((container) => container.name);
  if (name === '' && names.length > 1)
    throw badRequest(`a container name must be specified for pod ${metadata.name}, choose one of: [${names.join(' ')}]`);
  const wanted = name || names[0];
  if (wanted === undefined || !names.includes(wanted)) throw badRequest(`container ${name} is not valid for pod ${metadata.name}`);
  const found = status.containerStatuses?.find((one) => one.name === wanted);
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
