/** The log of a container: made of its image and its times alone, so that nothing is stored and each reader gets the same lines. */
import { type EventEmitter, once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { badRequest } from '@atrium/objects/status.ts';
import { findObject, getObject } from '../backend.ts';
import { isTrue } from '../request-info.ts';
import type { Exchange, Target, Upgrade } from '../resources.ts';
import { lineOf, type Run, runOf } from './images.ts';
import { type ContainerStatus, containerOf, type Pod } from './shapes.ts';

/** Most lines of one answer, as a kubelet's log file has an end too. */
const maxLines = 5_000;
/** Time from the start of a container to its first line. */
const firstLineMs = 200;

interface Options {
  previous: boolean;
  timestamps: boolean;
  tailLines: number | undefined;
  /** Lines from this moment on, in milliseconds since 1970. */
  sinceMs: number | undefined;
}

/** @throws StatusError 400 */
function optionsOf(query: URLSearchParams, now: number): Options {
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

/** A stretch of time in which a container ran, and runs on without an end. */
interface Life {
  startMs: number;
  endMs?: number;
}

function lifeOf({ state, lastState }: ContainerStatus, previous: boolean): Life | undefined {
  if (!previous && state.running) return { startMs: Date.parse(state.running.startedAt) };
  const ended = previous ? lastState.terminated : (state.terminated ?? lastState.terminated);
  return ended && { startMs: Date.parse(ended.startedAt), endMs: Date.parse(ended.finishedAt) };
}

/** Returns what reads the lines that were written since the last read. */
function linesOf({ startMs, endMs = Number.POSITIVE_INFINITY }: Life, pod: Pod, run: Run, options: Options) {
  // Pods of one workload do not say the same at the same time.
  const offset = [...pod.metadata.uid].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 97;
  const { tailLines = maxLines, sinceMs = 0, timestamps } = options;
  const timeOf = (index: number) => startMs + firstLineMs + index * run.lineEveryMs;
  const indexAt = (time: number) => Math.max(0, (time - timeOf(0)) / run.lineEveryMs);
  const countAt = (now: number) => (Math.min(now, endMs) < timeOf(0) ? 0 : Math.floor(indexAt(Math.min(now, endMs))) + 1);
  let next: number | undefined;
  return {
    read(now: number): string {
      next ??= Math.max(Math.ceil(indexAt(sinceMs)), countAt(now) - Math.min(tailLines, maxLines));
      let text = '';
      for (; next < countAt(now); next += 1) {
        const stamp = timestamps ? `${new Date(timeOf(next)).toISOString().replace('Z', '000000Z')} ` : '';
        text += `${stamp}${lineOf(run, next + offset)}\n`;
      }
      return text;
    },
    /** Milliseconds until the next line. */
    waitMs: (now: number) => Math.max(timeOf(next ?? 0) - now, 20),
  };
}

/** The place where lines go. */
interface Reader {
  /** Resolves once more may be sent. */
  send(text: string): Promise<void>;
  gone: AbortSignal;
}

/** Checks what is asked. @returns what sends the log to a reader @throws StatusError 400 or 404 */
function openLog({ backend, info: { query } }: Pick<Exchange, 'backend' | 'info'>, target: Target): (reader: Reader) => Promise<void> {
  const pod = getObject(backend, target) as Pod;
  const container = query.get('container') ?? '';
  const status = containerOf(pod, container);
  const now = () => backend.now().getTime();
  const options = optionsOf(query, now());
  const [life, run] = [lifeOf(status, options.previous), runOf(status.image)];
  if (life === undefined || run === undefined) throw badRequest(whyNoLog(pod, status, options));
  const lines = linesOf(life, pod, run, options);
  const isRunning = () => {
    const found = findObject(backend, target) as Pod | undefined;
    const { state, restartCount } = (found && containerOf(found, container)) ?? {};
    return state?.running !== undefined && restartCount === status.restartCount;
  };
  const isFollowed = isTrue(query.get('follow')) && life.endMs === undefined;
  return async ({ send, gone }) => {
    await send(lines.read(now()));
    // The stream ends with the life of the container.
    while (isFollowed && !gone.aborted && isRunning()) {
      await pause(Math.min(lines.waitMs(now()), 1_000), undefined, { signal: gone }).catch(() => {});
      const text = lines.read(now());
      if (text) await send(text);
    }
  };
}

const whyNoLog = ({ metadata }: Pod, { name, state }: ContainerStatus, { previous }: Options) =>
  previous
    ? `previous terminated container "${name}" in pod "${metadata.name}" not found`
    : `container "${name}" in pod "${metadata.name}" is waiting to start: ${state.waiting?.reason ?? 'ContainerCreating'}`;

function goneWith(connection: EventEmitter & { readonly destroyed?: boolean }): AbortSignal {
  const gone = new AbortController();
  // A client may have left while its request was authenticated.
  if (connection.destroyed) gone.abort();
  connection.once('close', () => gone.abort());
  return gone.signal;
}

export async function sendLog(exchange: Exchange, target: Target): Promise<void> {
  const { response } = exchange;
  const log = openLog(exchange, target);
  const gone = goneWith(response);
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-cache, private' });
  const send = async (text: string) => {
    if (!response.write(text)) await once(response, 'drain', { signal: gone }).catch(() => {});
  };
  await log({ gone, send });
  response.end();
}

/** Sends each piece of the log as a message, and closes with 1000 at the end of the log, as kube-apiserver does. */
export async function streamLog(upgrade: Upgrade, target: Target): Promise<void> {
  const log = openLog(upgrade, target);
  const socket = await upgrade.accept(['binary.k8s.io', '']);
  await log({ gone: goneWith(socket), send: (text) => new Promise((resolve) => socket.send(Buffer.from(text), () => resolve())) });
  socket.close(1000);
}
