/**
 * Measures open watches below /api/kubernetes on a replica (docs/contract/kubernetes.md): memory of each, the delay of other requests, and
 * whether all memory is freed. 100 callers have 95 watches each: a process has 20,000 files at most here, and each watch needs two. The API
 * server and the readers are processes of their own. Run: node --expose-gc bench/watches.ts
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { App } from '../src/app.ts';
import { parseConfig } from '../src/config/load.ts';

const callers = 100;
const watchesEach = 95;
const [role, url = ''] = process.argv.slice(2);

const kibibytes = (bytes: number) => Math.round(bytes / 1024);
const percentile = (numbers: readonly number[], part: number) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * part)] ?? Number.NaN;

/** Answers the requests of the service itself, accepts every token, and keeps watches open. */
async function serveKubernetes(): Promise<void> {
  const server = createServer((incoming, outgoing) => {
    const answer = (body: unknown) => outgoing.setHeader('Content-Type', 'application/json').end(JSON.stringify(body));
    if (incoming.url?.includes('watch=')) {
      outgoing.setHeader('Content-Type', 'application/json').write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n');
      return;
    }
    if (incoming.url?.includes('selfsubjectreviews')) {
      const username = incoming.headers.authorization?.slice('Bearer '.length) ?? '';
      answer({ kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1', status: { userInfo: { username, groups: [] } } });
    } else if (incoming.url?.startsWith('/version')) answer({ major: '1' });
    else answer({ kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [] });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.((server.address() as AddressInfo).port);
}

async function read(): Promise<void> {
  const open = Array.from({ length: callers * watchesEach }, (_, index) => index);
  const watch = async (index: number) => {
    const headers = { Authorization: `Bearer caller-${index % callers}` };
    const outgoing = request(`${url}/api/kubernetes/api/v1/pods?watch=true`, { headers, agent: false }).end();
    const [incoming] = await once(outgoing, 'response');
    if (incoming.statusCode !== 200) throw new Error(`watch ${index}: ${incoming.statusCode}`);
    await once(incoming, 'data');
  };
  // The kernel queues about so many connections.
  while (open.length > 0) await Promise.all(open.splice(0, 200).map(watch));
  process.send?.('open');
  process.on('message', () => process.exit());
}

async function measure(): Promise<void> {
  const kubernetes = fork(import.meta.filename, ['kubernetes']);
  const [kubernetesPort] = await once(kubernetes, 'message');
  const config = parseConfig({
    yaml: `server: { host: 127.0.0.1, port: 0, metricsPort: 0, maxInFlight: 20000 }\nconsole: { static: { directory: deploy } }\nlog: { level: error }`,
  });
  const connection = {
    server: `http://127.0.0.1:${kubernetesPort}`,
    tls: {},
    namespace: 'atrium',
    authorization: async () => 'Bearer service',
    discardAuthorization() {},
  };
  const app = new App({ config, connection, environment: {}, log: createLog({ level: 'error', format: 'json' }) });
  const { port } = await app.start();
  const server = `http://127.0.0.1:${port}`;
  const asked = async () => {
    const startedAt = performance.now();
    const response = await fetch(`${server}/api/v1/modules`);
    await response.arrayBuffer();
    return performance.now() - startedAt;
  };
  await asked();
  const memory = () => {
    globalThis.gc?.();
    return process.memoryUsage().rss;
  };
  const report = async (what: string) => {
    const times: number[] = [];
    for (let index = 0; index < 500; index += 1) times.push(await asked());
    console.log(
      `${what}: another request takes ${percentile(times, 0.5).toFixed(1)} ms (median), ${percentile(times, 0.99).toFixed(1)} ms (99 %)`,
    );
  };
  await report('no watches');
  const before = memory();
  const startedAt = performance.now();
  const reader = fork(import.meta.filename, ['read', server]);
  await once(reader, 'message');
  console.log(`${callers * watchesEach} watches open after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  console.log(`memory: ${kibibytes((memory() - before) / (callers * watchesEach))} KiB a watch (resident)`);
  await report('all watches open');
  const cpu = process.cpuUsage();
  await sleep(10_000);
  const { user, system } = process.cpuUsage(cpu);
  console.log(`while nothing happens: ${(((user + system) / 10_000_000) * 100).toFixed(1)} % of a core`);
  reader.send('end');
  await once(reader, 'exit');
  const sockets = () => process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length;
  for (const seconds of [2, 10]) {
    await sleep(seconds * 1000);
    console.log(`${seconds} s after the clients are gone: ${sockets()} sockets`);
  }
  await app.stop();
  kubernetes.kill();
}

await (role === 'kubernetes' ? serveKubernetes() : role === 'read' ? read() : measure());
