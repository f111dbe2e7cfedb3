/**
 * Measures lists of the namespaces of a caller, with 10,000 namespaces and 2,000 bindings (docs/contract/access.md): time, and memory of a
 * replica. The service, the load and a real cluster are processes of their own.
 *
 * node --expose-gc bench/namespaces.ts                      on the embedded cluster, in this process
 * TEST_CLUSTER=real node --expose-gc bench/namespaces.ts    on kube-apiserver
 */
import { availableParallelism, loadavg } from 'node:os';
import { aBinding, aNamespace, aRole, podRule } from '../test/service/access/objects.ts';
import type { Person } from '../test/support/api-server.ts';
import { eventually, type Manifest } from '../test/support/cluster-admin.ts';
import { startServer } from '../test/support/server.ts';
import { median } from './peers/rows.ts';

const namespaceCount = 10_000;
const bindingCount = 2_000;
/** Verbs that make each question a new one; the first ones only warm the process up. */
const verbs = Array.from({ length: 60 }, (_, index) => `ask-${index}`);
const warmUps = 20;

const nameOf = (index: number) => `team-${String(index).padStart(5, '0')}`;
const milliseconds = (numbers: readonly number[]) => `${median(numbers).toFixed(1)} ms, at least ${Math.min(...numbers).toFixed(1)} ms`;

function memory(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return Math.round((heapUsed + external) / 1024 / 1024);
}

const server = await startServer({ config: { kubernetes: { accessCache: '5s' }, log: { level: 'warn' } } });
const apply = async (objects: Manifest[]) => {
  while (objects.length > 0) await Promise.all([0, 1, 2, 3].map(() => server.kubernetes.apply(...objects.splice(0, 50))));
};
const before = memory();
await apply(Array.from({ length: namespaceCount }, (_, index) => aNamespace(nameOf(index), { team: String(index % 100) })));
await apply([
  aRole('pod-viewer', [podRule(['list', 'watch', ...verbs])]),
  ...Array.from({ length: 100 }, (_, index) => aRole(`role-${index}`, [podRule(['get']), podRule(['list'], { resources: ['secrets'] })])),
]);
// Alice has 60 namespaces, bob 800; the others belong to other people.
const personOf = (index: number) => (index < 60 ? 'alice' : index < 860 ? 'bob' : `person-${index}`);
await apply(
  Array.from({ length: bindingCount }, (_, index) =>
    aBinding('bound', {
      role: index < 860 ? 'pod-viewer' : `role-${index % 100}`,
      to: `User:${personOf(index)}`,
      namespace: nameOf(index * 5),
    }),
  ),
);
await apply([aBinding('viewer-all', { role: 'pod-viewer', to: 'User:viewer' })]);

/** Requests a list, and reads the whole answer. */
async function list(token: string, query: string): Promise<{ total: number; ms: number }> {
  const begun = performance.now();
  const response = await server.request(`/auth/v1/namespaces?resource=pods${query}`, { token });
  const text = await response.text();
  const ms = performance.now() - begun;
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  return { total: JSON.parse(text).total, ms };
}

for (const [as, total] of [
  ['alice', 60],
  ['bob', 800],
  ['viewer', namespaceCount],
] as const) {
  const token = await server.token(as);
  await eventually(
    () => list(token, '&verb=list&limit=1'),
    (answer) => answer.total >= total,
    60_000,
  );
}
console.log(
  `${namespaceCount} namespaces and ${bindingCount} bindings: ${before} MB before, ${memory()} MB with them (and the embedded cluster, if it is that)`,
);
// The first request, whatever it is, computes the lists of all namespaces.
await list(await server.token('viewer'), '&verb=watch&sortBy=name');

async function measure(as: Person, what: string, query: string): Promise<void> {
  const token = await server.token(as);
  const first: number[] = [];
  const again: number[] = [];
  let cpuMs = 0;
  for (const [index, verb] of verbs.entries()) {
    const begun = process.cpuUsage();
    const { ms } = await list(token, `&verb=${verb}${query}`);
    if (index < warmUps) continue;
    const { user, system } = process.cpuUsage(begun);
    cpuMs += (user + system) / 1000;
    first.push(ms);
    for (let more = 0; more < 5; more += 1) again.push((await list(token, `&verb=${verb}${query}`)).ms);
  }
  const cpu = (cpuMs / first.length).toFixed(1);
  console.log(`${as}, ${what}: first ${milliseconds(first)} (${cpu} ms of this process's CPU); again ${milliseconds(again)}`);
}

await measure('alice', '60 namespaces', '');
await measure('bob', 'a page of 100 of 800', '');
await measure('bob', 'a page of 20 of 800', '&limit=20');
await measure('viewer', 'a page of 100 of all', '');
await measure('viewer', 'a page of 1,000 of all', '&limit=1000');
console.log(`${memory()} MB at the end; load average ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores`);
await server.stop();
