/**
 * Measures lists of any resource with 100,000 pods in 2,000 namespaces (docs/lists.md): the time until they are listed, the memory of a
 * replica, pages a second, and pages a second of the API server's own list. A real cluster is a process of its own.
 *
 * TEST_CLUSTER=real node --expose-gc bench/lists.ts [pods]
 */
import { availableParallelism, loadavg } from 'node:os';
import { aBinding, aNamespace, aRole, podRule } from '../test/service/access/objects.ts';
import type { Person } from '../test/support/api-server.ts';
import { eventually, type Manifest, serviceNamespace } from '../test/support/cluster-admin.ts';
import { startServer } from '../test/support/server.ts';

const podCount = Number(process.argv[2] ?? 100_000);
const namespaceCount = 2_000;
const secondsEach = 5;
const atOnce = 8;

const namespaceOf = (index: number) => `team-${String(index % namespaceCount).padStart(4, '0')}`;

const aPod = (index: number): Manifest => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `pod-${index}`, namespace: namespaceOf(index), labels: { app: `app-${index % 200}`, tier: `tier-${index % 5}` } },
  spec: {
    automountServiceAccountToken: false,
    nodeName: `node-${index % 100}`,
    containers: [{ name: 'main', image: `registry.example.com/app-${index % 200}:1`, env: [{ name: 'A', value: 'x'.repeat(100) }] }],
  },
});

function memory(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return Math.round((heapUsed + external) / 1024 / 1024);
}

const note = (text: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);
const seconds = (begun: number) => ((performance.now() - begun) / 1000).toFixed(1);

const resources = [{ version: 'v1', resource: 'pods' }];
const server = await startServer({
  config: { kubernetes: { accessCache: '5s' }, log: { level: 'warn' }, lists: { resources } },
  objects: [
    aRole('pods-service', [podRule(['list', 'watch'])]),
    aBinding('pods-service', { role: 'pods-service', to: `ServiceAccount:${serviceNamespace}/atrium` }),
  ],
});

const apply = async (objects: Manifest[]) => {
  while (objects.length > 0) await Promise.all(Array.from({ length: 16 }, () => server.kubernetes.apply(...objects.splice(0, 50))));
};
const before = memory();
let begun = performance.now();
await apply(Array.from({ length: namespaceCount }, (_, index) => aNamespace(namespaceOf(index))));
await apply([
  aRole('pod-viewer', [podRule(['list', 'watch'])]),
  aBinding('all', { role: 'pod-viewer', to: 'User:bob' }),
  ...[7, 77, 777].map((index) => aBinding('some', { role: 'pod-viewer', to: 'User:alice', namespace: namespaceOf(index) })),
]);
const create = async (index: number) => {
  const { status, body } = await server.kubernetes.call('POST', `/api/v1/namespaces/${namespaceOf(index)}/pods`, aPod(index));
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
};
const left = Array.from({ length: podCount }, (_, index) => index).values();
await Promise.all(
  Array.from({ length: 32 }, async () => {
    for (const index of left) await create(index);
  }),
);
note(`${podCount} pods in ${namespaceCount} namespaces were made in ${seconds(begun)} s`);

const path = '/api/v2/resources/core/v1/pods';
async function get(as: Person, query: string): Promise<{ total: number; text: string }> {
  const response = await server.request(`${path}${query}`, { as });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text.slice(0, 300)}`);
  return { total: JSON.parse(text).total, text };
}
await eventually(
  () => get('bob', '?limit=1'),
  ({ total }) => total === podCount,
  120_000,
);
const held = memory();
note(`memory: ${before} MB before, ${held} MB with the pods: ${Math.round(((held - before) * 1024 * 1024) / podCount)} bytes a pod`);

begun = performance.now();
let found = 0;
for (let next = ''; ; ) {
  const { body } = await server.kubernetes.call('GET', `/api/v1/pods?limit=500${next}`);
  const page = body as { items: unknown[]; metadata: { continue?: string } };
  found += page.items.length;
  if (!page.metadata.continue) break;
  next = `&continue=${encodeURIComponent(page.metadata.continue)}`;
}
note(`the API server's own list of ${found} pods, in pages of 500, read here: ${seconds(begun)} s`);
begun = performance.now();
const replica = await server.replica();
note(`another replica was ready after ${seconds(begun)} s`);
await replica.stop();

/** Measures complete answers a second, with some requests at a time. */
async function rate(what: string, ask: (turn: number) => Promise<unknown>): Promise<number> {
  await ask(0);
  const end = performance.now() + secondsEach * 1000;
  const cpu = process.cpuUsage();
  let count = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (performance.now() < end) {
        count += 1;
        await ask(count);
      }
    }),
  );
  const { user, system } = process.cpuUsage(cpu);
  note(
    `${what}: ${(count / secondsEach).toFixed(0)}/s, ${((user + system) / count / 1000).toFixed(2)} ms CPU of this process (client included)`,
  );
  return count / secondsEach;
}
const native = await rate('kube-apiserver, 20 pods, unsorted', () => server.kubernetes.call('GET', '/api/v1/pods?limit=20'));
for (const [what, as, query] of [
  ['20 of all, by restarts and name', 'bob', '?sortBy=d,restarts&limit=20'],
  ['20 of one label, by creation', 'bob', '?labelSelector=tier%3Dtier-1&sortBy=d,creationTimestamp&limit=20'],
  ['20 of three namespaces', 'alice', '?sortBy=name&limit=20'],
  ['summary of all by node', 'bob', '?summary=node'],
  ['summary of three namespaces by node', 'alice', '?summary=node'],
] as const) {
  begun = performance.now();
  const { total } = await get(as, query);
  const first = performance.now() - begun;
  const ours = await rate(`${what} (${total} in all, the first one ${first.toFixed(0)} ms)`, () => get(as, query));
  note(`  ${(ours / native).toFixed(1)} times kube-apiserver's page`);
}
note(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`);
await server.stop();
