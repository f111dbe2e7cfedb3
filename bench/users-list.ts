/**
 * Measures pages of the user list a second, each request authorized, filtered and sorted, beside the API server's own unsorted page of the
 * same length. Both run on one machine, each in a process of its own, and the load generator in a third.
 *
 * node bench/users-list.ts [--users 10000] [--seconds 10] [--connections 32] [--kubeconfig FILE]
 *
 * Without --kubeconfig the API server is the embedded cluster, to which the ratio then compares. With it, the cluster must have the User
 * resource and users, and the kubeconfig a token that may list them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect as connectPlain, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTLS } from 'node:tls';
import { parseArgs } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent, request } from 'undici';
import { stringify } from 'yaml';
import { z } from 'zod';

const { values: options } = parseArgs({
  options: {
    users: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '32' },
    kubeconfig: { type: 'string' },
  },
});
const seconds = Number(options.seconds);
const connections = Number(options.connections);
const directory = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
const main = new URL('../src/main.ts', import.meta.url).pathname;
const children: ChildProcess[] = [];

function start(...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  children.push(child);
  return child;
}

async function until<T>(ask: () => Promise<T>, isWanted: (answer: T) => boolean = () => true): Promise<T> {
  for (const deadline = Date.now() + 300_000; ; await sleep(100)) {
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined && isWanted(answer)) return answer;
    if (children.some(({ exitCode }) => exitCode !== null)) throw new Error('a process has ended by itself');
    if (Date.now() > deadline) throw new Error('was not ready within five minutes');
  }
}

/** Starts the embedded cluster; its service is not used. */
async function embeddedCluster(): Promise<string> {
  const info = join(directory, 'info.json');
  start('sandbox', '--port', '0', '--users', options.users, '--info', info);
  const { kubeconfig } = await until(async () => z.object({ kubeconfig: z.string() }).parse(JSON.parse(await readFile(info, 'utf8'))));
  return kubeconfig;
}

interface Target {
  url: string;
  token: string;
  /** Connections for single requests. */
  dispatcher: Agent;
  /** Opens a connection for many requests. */
  connect(): Socket;
}

function apiServer(kubeconfig: string): Target {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const cluster = config.getCurrentCluster();
  const token = config.getCurrentUser()?.token;
  if (!cluster || !token) throw new Error(`${kubeconfig} names no cluster, or no token`);
  const ca = cluster.caData === undefined ? undefined : Buffer.from(cluster.caData, 'base64').toString();
  const { hostname: host, port } = new URL(cluster.server);
  return {
    url: cluster.server,
    token,
    dispatcher: new Agent({ connect: { ca } }),
    connect: () => connectTLS({ host, port: Number(port), ca }),
  };
}

async function service(kubeconfig: string, token: string): Promise<Target & { pid: number }> {
  const [port, metricsPort] = [18_080, 19_090];
  const file = join(directory, 'config.yaml');
  await writeFile(
    file,
    stringify({
      server: { host: '127.0.0.1', port, metricsPort, publicURL: `http://127.0.0.1:${port}` },
      kubernetes: { kubeconfig, namespace: 'atrium-system' },
      console: { static: { directory: new URL('../web/dist', import.meta.url).pathname } },
      log: { level: 'error' },
    }),
  );
  const { pid = 0 } = start('serve', '--config', file);
  return { pid, url: `http://127.0.0.1:${port}`, token, dispatcher: new Agent(), connect: () => connectPlain({ host: '127.0.0.1', port }) };
}

async function ask({ url, token, dispatcher }: Target, path: string): Promise<string> {
  const answer = await request(`${url}${path}`, { dispatcher, headers: { authorization: `Bearer ${token}` } });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${text.slice(0, 200)}`);
  return text;
}

/** Repeats requests on one connection, each after the answer to the last; reads only the status and the end of an answer. */
async function askAgain({ url, token, connect }: Target, paths: readonly string[], end: number, times: number[]): Promise<void> {
  const { host, pathname } = new URL(url);
  const requests = paths.map(
    (path) => `GET ${pathname.slice(1)}${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  const socket = connect();
  let asked = performance.now();
  let answer = Buffer.alloc(0);
  let count = 0;
  const next = () => {
    answer = Buffer.alloc(0);
    asked = performance.now();
    if (asked > end) socket.end();
    else socket.write(requests[count % requests.length] ?? '');
    count += 1;
  };
  next();
  for await (const chunk of socket) {
    answer = Buffer.concat([answer, chunk]);
    if (!isWhole(answer)) continue;
    times.push(performance.now() - asked);
    next();
  }
}

/** @throws Error for any other status than a success */
function isWhole(answer: Buffer): boolean {
  const headEnd = answer.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  const head = answer.toString('latin1', 0, headEnd);
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(head);
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) return answer.length >= headEnd + 4 + Number(length);
  return answer.toString('latin1', answer.length - 5) === '0\r\n\r\n';
}

/** Measures answers a second, and the 99th percentile of their time in milliseconds. */
async function load(target: Target, paths: readonly string[], forSeconds: number): Promise<{ rate: number; p99: number }> {
  const times: number[] = [];
  const begun = performance.now();
  await Promise.all(Array.from({ length: connections }, () => askAgain(target, paths, begun + forSeconds * 1000, times)));
  times.sort((left, right) => left - right);
  return { rate: (times.length * 1000) / (performance.now() - begun), p99: times[Math.floor(times.length * 0.99)] ?? 0 };
}

/** Returns the resident memory of a process, if the kernel reports it. */
async function residentMiB(pid: number): Promise<string> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(status)?.[1];
  return kilobytes === undefined ? 'unknown' : `${Math.round(Number(kilobytes) / 1024)} MiB`;
}

const pages = [1, 2, 3].map((page) => `/auth/v2/users?limit=20&page=${page}&filterBy=connector_id,local,username,person&sortBy=d,username`);

try {
  const kubeconfig = options.kubeconfig ?? (await embeddedCluster());
  const kubernetes = apiServer(kubeconfig);
  await until(() => ask(kubernetes, '/apis/auth.platform.io/v1/users?limit=1'));
  const begun = performance.now();
  const ours = await service(kubeconfig, kubernetes.token);
  const { total } = z.object({ total: z.number() }).parse(JSON.parse(await until(() => ask(ours, '/auth/v2/users?limit=1'))));
  console.log(`${total} users; the list is ready ${((performance.now() - begun) / 1000).toFixed(1)} s after the start of the process`);
  console.log(`resident memory of Atrium ${await residentMiB(ours.pid)}`);
  await load(ours, pages, 1);
  await load(kubernetes, ['/apis/auth.platform.io/v1/users?limit=20'], 1);
  const theirs = await load(kubernetes, ['/apis/auth.platform.io/v1/users?limit=20'], seconds);
  const result = await load(ours, pages, seconds);
  const show = (name: string, { rate, p99 }: { rate: number; p99: number }) =>
    console.log(`${name.padEnd(44)} ${rate.toFixed(0).padStart(7)}/s   p99 ${p99.toFixed(1).padStart(6)} ms`);
  show('API server, ?limit=20, HTTPS', theirs);
  show('Atrium, ?limit=20, filtered and sorted, HTTP', result);
  console.log(`ratio ${(result.rate / theirs.rate).toFixed(1)}; resident memory of Atrium ${await residentMiB(ours.pid)}`);
  await Promise.all([kubernetes.dispatcher.close(), ours.dispatcher.close()]);
} finally {
  for (const child of children) child.kill('SIGINT');
  await Promise.all(children.map((child) => child.exitCode ?? once(child, 'exit')));
  await rm(directory, { recursive: true, force: true });
}
