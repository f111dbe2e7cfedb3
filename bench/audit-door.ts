/**
 * Measures what audit events cost the replica that passes writes on: processor time of its thread for an event, and the 99th percentile of the
 * time of a write with an event beside one without, in turns and in one run. The audit policy leaves out the writes of one namespace. The
 * store is another process that takes all events at once, so that its own work is not counted. Bars: 30 µs, and 1.1.
 *
 * node bench/audit-door.ts [writes] [at once]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
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
