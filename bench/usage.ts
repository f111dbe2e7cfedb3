/**
 * Measures the last hour of usage in a replica: time for which a list of metrics-server holds the event loop, and memory of the hour.
 *
 * node --expose-gc bench/usage.ts
 */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import { measure } from '../src/usage/measurements.ts';
import { pointCount, pointMs, UsageRing } from '../src/usage/usage-ring.ts';
import { aPodMetrics } from '../test/service/usage/metrics-server.ts';

/** Bytes that a socket hands over at once. */
const chunkBytes = 64 * 1024;
const { signal } = new AbortController();

/** Returns the chunks of a list. Five pods each have a workload of their own, with the labels of a usual chart. */
function chunksOf(pods: number): Buffer[] {
  const items = Array.from({ length: pods }, (_, index) => {
    const app = `service-${Math.floor(index / 5)}`;
    const labels = { 'app.kubernetes.io/name': app, 'app.kubernetes.io/instance': app, 'pod-template-hash': '5d59d67564' };
    const container = { cpu: `${1_000_000 + index * 7919}n`, memory: `${65_536 + index}Ki` };
    return aPodMetrics(`team-${index % 100}`, `${app}-5d59d67564-x${index.toString(36)}`, labels, container, container);
  });
  const body = Buffer.from(JSON.stringify({ kind: 'PodMetricsList', apiVersion: 'metrics.k8s.io/v1beta1', metadata: {}, items }));
  return Array.from({ length: Math.ceil(body.length / chunkBytes) }, (_, at) => body.subarray(at * chunkBytes, (at + 1) * chunkBytes));
}

const clientOf = (chunks: readonly Buffer[]) =>
  ({ stream: async () => ({ statusCode: 200, headers: {}, body: Readable.from(chunks) }) }) as unknown as ServiceClient;

/** Returns the CPU time of this thread in milliseconds, which other programs of the machine do not change. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Returns the most CPU time that a turn of the event loop takes until the work is done. */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  let [longest, last, isOver] = [0, cpuMs(), false];
  const turn = () => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isOver = true;
  turn();
  return longest;
}

/** Returns the live memory in MiB. Buffers are released some time after they are collected. */
async function memory(): Promise<number> {
  for (let round = 0; round < 5; round += 1) {
    globalThis.gc?.();
    await sleep(20);
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024 ** 2;
}

const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]?.toFixed(1);

/** Keeps an hour of pods in a ring, and prints the time that this takes. */
async function keepHour(kept: UsageRing[], pods: number): Promise<void> {
  const chunks = chunksOf(pods);
  const ring = new UsageRing();
  kept.push(ring);
  const begin = Date.parse('2026-03-01T12:00:00Z');
  const [whole, longest]: [number[], number[]] = [[], []];
  for (let minute = 0; minute < pointCount; minute += 1) {
    const begun = cpuMs();
    longest.push(
      await longestTurn(async () => ring.add(new Date(begin + minute * pointMs), await measure(clientOf(chunks), 'pods', signal))),
    );
    whole.push(cpuMs() - begun);
  }
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  console.log(`${pods} pods, ${bytes} bytes: ${median(whole)} ms of CPU a minute`);
  console.log(`  longest turn of the event loop: ${median(longest)} ms, at most ${Math.max(...longest).toFixed(1)} ms`);
  console.log(`  numbers: ${(ring.bytes / 1024 ** 2).toFixed(1)} MiB`);
}

// The first list compiles the code.
await measure(clientOf(chunksOf(5_000)), 'pods', signal);
for (const pods of [5_000, 20_000]) {
  const kept: UsageRing[] = [];
  await keepHour(kept, pods);
  const whole = await memory();
  kept.length = 0;
  console.log(`  hour with names and labels: ${(whole - (await memory())).toFixed(1)} MiB`);
}
