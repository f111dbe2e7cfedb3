/**
 * Measures what audit events cost the replica that passes writes on. First, the processor time of its thread that takes and hands on an event,
 * at 5,000 events a second, which is the rate of a store. Then the processor time for an event of a write, with its making and sending, and
 * the 99th percentile of the time of a write with an event beside one without, in turns and in one run. The audit policy leaves out the
 * writes of one namespace. The store is another process that takes all events at once, so that its own work is not counted. Bars: 30 µs,
 * and 1.1.
 *
 * node bench/audit-door.ts [writes] [at once]
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { AuditIntake } from '../src/audit/audit-intake.ts';
import { RemoteStore } from '../src/audit/remote-store.ts';
import { aNamespace } from '../test/service/access/objects.ts';
import { clusterRoleBinding } from '../test/support/grants.ts';
import { startServer } from '../test/support/server.ts';

const writes = Number(process.argv[2] ?? 10_000);
/** Writes in flight: events of the same moment are sent together. */
const atOnce = Number(process.argv[3] ?? 10);
/** Writes of one side between two of the other. */
const block = 50;
const warmUpBlocks = 20;

const taker = `require('node:http').createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(204).end());
}).listen(0, '127.0.0.1', function () { process.stdout.write(String(this.address().port)); });`;

const store = spawn(process.execPath, ['-e', taker], { stdio: ['ignore', 'pipe', 'inherit'] });
const [port] = await once(store.stdout, 'data');
const directory = await mkdtemp(join(tmpdir(), 'atrium-audit-door-'));
const tokenFile = join(directory, 'token');
await writeFile(tokenFile, 'none');

const configMap = (namespace: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace } });
const server = await startServer({
  config: {
    audit: {
      checkpointInterval: '1h',
      store: { url: `http://127.0.0.1:${port}`, tokenFile },
      policy: {
        apiVersion: 'audit.k8s.io/v1',
        kind: 'Policy',
        rules: [{ level: 'None', namespaces: ['quiet'] }, { level: 'Metadata' }],
      },
    },
  },
  objects: [
    ...['quiet', 'told'].flatMap((name) => [aNamespace(name), configMap(name)]),
    clusterRoleBinding('alice', 'cluster-admin', { kind: 'User', name: 'alice' }),
  ],
});

const anEvent = (): AuditEvent => ({
  ...{ auditID: randomUUID(), cluster: 'local', source: 'door', verb: 'patch', outcome: 'success' },
  user: { username: 'alice', uid: '0d5f7c1e-5d1c-4a5e-9a51-0c3f3a1f8a52', groups: ['developers'] },
  sourceIPs: ['192.0.2.1'],
  userAgent: 'kubectl/v1.36.0 (linux/amd64) kubernetes/3a4c5b7',
  objectRef: { apiGroup: '', resource: 'configmaps', namespace: 'told', name: 'settings' },
  requestReceivedTimestamp: new Date().toISOString(),
  ...{ milliseconds: 12, requestBytes: 23, responseBytes: 285, responseStatus: { code: 200 }, requestID: randomUUID() },
});

/** Returns the microseconds of the thread for each call of a work, which is called so many times in each 10 ms. */
async function costOf(work: () => unknown): Promise<number> {
  const [rounds, atOneTime] = [1_000, 50];
  const before = process.threadCpuUsage();
  for (let round = 0; round < rounds; round += 1) {
    for (let call = 0; call < atOneTime; call += 1) work();
    await sleep(10);
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / rounds / atOneTime;
}

/** Returns the microseconds of the thread for an event that is taken and handed on. The making of the event is left out. */
async function costOfDelivery(): Promise<number> {
  const remote = new RemoteStore({ url: `http://127.0.0.1:${port}`, tokenFile });
  const intake = new AuditIntake({
    ...{ store: remote, metrics: new Metrics(), now: () => new Date() },
    log: createLog({ level: 'warn', format: 'json' }),
  });
  await costOf(() => intake.record(anEvent()));
  const [delivered, made] = [await costOf(() => intake.record(anEvent())), await costOf(anEvent)];
  await intake.stop();
  await remote.stop();
  return delivered - made;
}

let count = 0;
async function write(namespace: string): Promise<void> {
  count += 1;
  const response = await server.request(`/api/kubernetes/api/v1/namespaces/${namespace}/configmaps/settings`, {
    as: 'alice',
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { data: { count: String(count) } },
  });
  await response.text();
  if (response.status !== 200) throw new Error(`${namespace}: ${response.status}`);
}

/** Microseconds of the thread for a write of a block, and the milliseconds of each write. */
async function blockOf(namespace: string): Promise<{ processor: number; clock: number[] }> {
  const clock: number[] = [];
  const before = process.threadCpuUsage();
  const timed = async () => {
    const start = performance.now();
    await write(namespace);
    clock.push(performance.now() - start);
  };
  for (let begun = 0; begun < block; begun += atOnce) await Promise.all(Array.from({ length: atOnce }, timed));
  const { user, system } = process.threadCpuUsage(before);
  return { processor: (user + system) / block, clock };
}

const part = (values: readonly number[], share: number) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? Number.NaN;

try {
  console.log(`an event at 5,000 a second: ${(await costOfDelivery()).toFixed(0)} µs of the thread`);
  console.log(`${writes} writes of each, ${availableParallelism()} processors, load ${loadavg()[0]?.toFixed(1)}`);
  const clock: Record<'quiet' | 'told', number[]> = { quiet: [], told: [] };
  const costs: number[] = [];
  for (let turn = 0; turn < warmUpBlocks + writes / block; turn += 1) {
    const [first, second] = turn % 2 === 0 ? (['quiet', 'told'] as const) : (['told', 'quiet'] as const);
    const blocks = { [first]: await blockOf(first), [second]: await blockOf(second) };
    if (turn < warmUpBlocks) continue;
    for (const name of ['quiet', 'told'] as const) clock[name].push(...(blocks[name]?.clock ?? []));
    costs.push((blocks.told?.processor ?? Number.NaN) - (blocks.quiet?.processor ?? Number.NaN));
  }
  console.log(`an event: median ${part(costs, 0.5).toFixed(0)} µs of the thread`);
  for (const share of [0.5, 0.99]) {
    const [without, withEvent] = [part(clock.quiet, share), part(clock.told, share)];
    const figures = `${without.toFixed(2)} ms without, ${withEvent.toFixed(2)} ms with, ${(withEvent / without).toFixed(2)}x`;
    console.log(`a write, ${share === 0.5 ? 'median' : '99th percentile'}: ${figures}`);
  }
} finally {
  await server.stop();
  store.kill();
  await rm(directory, { recursive: true });
}
