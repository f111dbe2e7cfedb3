/**
 * Measures a search of 100,000 pods (docs/contract/lists.md), as a ratio to a plain scan of their names: CPU time of an answer, and the
 * maximum CPU time for which the event loop is blocked.
 *
 * node bench/search.ts [pods]
 */

import { availableParallelism, loadavg } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '@atrium/http/caller.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { knownColumns } from '../src/listed-resources/known-columns.ts';
import { ResourceRow } from '../src/listed-resources/row.ts';
import { SearchService } from '../src/search/search.ts';
import { rowSource } from '../src/search/sources.ts';

const podCount = Number(process.argv[2] ?? 100_000);
const turns = 20;
const type = { group: '', version: 'v1', resource: 'pods' };
const columns = knownColumns(type);

const pods = Array.from({ length: podCount }, (_, index) => {
  const app = `app-${index % 500}`;
  const name = `${app}-${(index * 7919).toString(36).padStart(9, '0')}`;
  const labels = {
    'app.kubernetes.io/name': app,
    'pod-template-hash': (index % 2000).toString(36),
    'statefulset.kubernetes.io/pod-name': name,
  };
  const metadata = { name, namespace: `team-${index % 200}`, uid: `uid-${index}`, resourceVersion: '1', creationTimestamp: '', labels };
  const image = `registry.example.com/team-${index % 200}/${app}:1.${index % 40}`;
  return new ResourceRow({ metadata, spec: { containers: [{ image }] }, status: { phase: 'Running' } }, columns);
});

const read = (column: string) => {
  const at = columns.findIndex(({ name }) => name === column);
  return (row: ResourceRow) => String(row.values[at] ?? '');
};
const source = rowSource(type, () => Promise.resolve({ rows: pods, fits: undefined, read, figure: () => () => 0 }));
const service = new SearchService([source], new Metrics());
const caller: Caller = { token: '', hash: '', identity: { name: 'bench', uid: '', groups: [], extra: {} } };
const { signal } = new AbortController();

/** Returns the CPU time of this thread, which a busy machine does not increase. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Measures the CPU milliseconds of the work, and the maximum between two turns of the event loop. */
async function measure(work: () => Promise<unknown>): Promise<{ ms: number; heldMs: number }> {
  let heldMs = 0;
  let isRunning = true;
  const watch = async () => {
    for (let at = threadMs(); isRunning; at = threadMs()) {
      await nextTurn();
      heldMs = Math.max(heldMs, threadMs() - at);
    }
  };
  const watching = watch();
  await nextTurn();
  const cpu = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  const ms = (user + system) / 1000;
  isRunning = false;
  await watching;
  return { ms, heldMs };
}

const median = (numbers: number[]) => numbers.toSorted((left, right) => left - right)[numbers.length >>> 1] ?? 0;

async function measured(work: () => Promise<unknown>): Promise<{ ms: number; heldMs: number }> {
  const found: { ms: number; heldMs: number }[] = [];
  for (let turn = 0; turn < turns; turn += 1) found.push(await measure(work));
  return { ms: median(found.map(({ ms }) => ms)), heldMs: median(found.map(({ heldMs }) => heldMs)) };
}

const bare = await measured(async () => pods.filter(({ shownName }) => shownName.toLowerCase().includes('app-77')).length);
console.log(`bare scan of ${podCount} names: ${bare.ms.toFixed(1)} ms of CPU`);
for (const q of ['app-77', 'a', 'app-77-0000', 'no such object', 'registry.example.com/team-7/', 'name=app-77']) {
  const { ms, heldMs } = await measured(() => service.search({ q, kinds: [], namespace: '', limit: 20 }, caller, signal));
  console.log(
    `${q}: ${(ms / bare.ms).toFixed(1)} times the bare scan (${ms.toFixed(1)} ms of CPU; at most ${heldMs.toFixed(1)} ms between two turns of the event loop)`,
  );
}
console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`);
